"""A batch of host calls: recorded whole, run in groups and at barriers, committed in order."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One call of a batch; only one that inspects without any effect may run beside others."""

    operation: str
    effect: str = "read"


class Batch(NamedTuple):
    """A batch under way, by the indexes of its entries.

    At most `limit` entries of a group run at once (concurrent_host_calls). Entries are
    recorded before the first is dispatched. `stopped`: nothing more is dispatched, and what has no
    result is of unknown fate.
    """

    entries: tuple[Entry, ...]
    limit: int
    sequential: bool = False
    recorded: int = 0
    running: frozenset[int] = frozenset()
    done: frozenset[int] = frozenset()
    committed: int = 0
    stopped: bool = False


def plan(entries: tuple[Entry, ...], *, sequential: bool = False) -> tuple[tuple[int, ...], ...]:
    """The groups of a batch: consecutive reads together, each other entry alone.

    `sequential` is what configured hooks make of it: each entry alone.
    """
    groups: list[tuple[int, ...]] = []
    for index, entry in enumerate(entries):
        joins = groups and not sequential and entry.effect == "read"
        if joins and entries[groups[-1][-1]].effect == "read":
            groups[-1] += (index,)
        else:
            groups.append((index,))
    return tuple(groups)


def admitted(calls: int, limit: int, entries: int) -> bool:
    """Whether a batch fits into what is left of host_calls: all of it, or none."""
    return calls + entries <= limit


def record(batch: Batch) -> Batch:
    """Every entry is on record; only now may the first be dispatched."""
    return batch._replace(recorded=len(batch.entries))


def ready(batch: Batch) -> tuple[int, ...]:
    """The entries that may be dispatched now, in order."""
    if batch.stopped or batch.recorded < len(batch.entries):
        return ()
    for group in plan(batch.entries, sequential=batch.sequential):
        if not set(group) <= batch.done:
            free = batch.limit - len(batch.running)
            fresh = [i for i in group if i not in batch.running | batch.done]
            return tuple(fresh[:free])
    return ()


def dispatch(batch: Batch, index: int) -> Batch:
    """Run one of the entries that are `ready`."""
    assert index in ready(batch)
    return batch._replace(running=batch.running | {index})


def complete(batch: Batch, index: int) -> Batch:
    """An entry has its result; whatever is complete up to here is committed in input order."""
    assert index in batch.running
    done = batch.done | {index}
    committed = batch.committed
    while committed in done:
        committed += 1
    return batch._replace(running=batch.running - {index}, done=done, committed=committed)


def stop(batch: Batch, index: int) -> Batch:
    """It is too late for this entry: it has not run, and nothing after it is dispatched."""
    return batch._replace(stopped=True, running=batch.running - {index})


def evidence(batch: Batch, failed: frozenset[int] = frozenset()) -> tuple[str, ...]:
    """What the host observed of each recorded entry: succeeded, failed or unknown."""
    return tuple(
        ("failed" if index in failed else "succeeded") if index in batch.done else "unknown"
        for index in range(batch.recorded)
    )
