"""What invocations share: admission to the server, and its slots for host operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from codemode_spec.model.checks import Asked, Fields, Procedure, fails, passes, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemode_spec.model.terms import Note, Refusal, Rules

WINDOW_MS: Final = 60_000
"""A start counts against executions_per_minute for less than this long."""


class Request(NamedTuple):
    """A client's tool call; sizes in bytes, `now` in milliseconds on any clock that only rises."""

    client: str = "client"
    unknown_field: bool = False
    option_above: bool = False
    empty: bool = False
    source_bytes: int = 1
    encoded_bytes: int = 3
    blocked: bool = False
    spawns: bool = True
    now: int = 0


class Admission(NamedTuple):
    """What the server has given out: `starts` are the recorded starts by client."""

    invocations: int = 0
    workers: int = 0
    starts: tuple[tuple[str, int], ...] = ()

    def used(self, row: str) -> int | None:
        """What is used of a row so far, or None for a row without an account."""
        return {"server_invocations": self.invocations, "server_workers": self.workers}.get(row)


class Admitted(NamedTuple):
    """The answer to a request: the next state, and the error if it was refused."""

    admission: Admission
    error: Refusal | None
    notes: tuple[Note, ...]


def _source(asked: Asked) -> Fields:
    limit, size = asked.rules.policy["source_bytes"], asked.subject.source_bytes
    return fails(when=size > limit, measured=size, counted="utf8")


def _encoded(asked: Asked) -> Fields:
    parts = asked.rules.tables.execute_parts
    limit = asked.rules.policy["source_bytes"] * parts.source_factor + parts.source_extra_bytes
    size = asked.subject.encoded_bytes
    return fails(when=size > limit, measured=size, limit=limit, counted="encoded")


def _empty(asked: Asked) -> Fields:
    size, limit = asked.subject.source_bytes, asked.rules.policy["source_bytes"]
    return fails(when=asked.subject.empty, measured=size, limit=limit, counted="utf8")


def recent(admission: Admission, client: str, now: int) -> int:
    """The starts of a client that still count: those less than 60.000 s ago."""
    return sum(who == client and now - then < WINDOW_MS for who, then in admission.starts)


def _rate(asked: Asked) -> Fields:
    count = recent(asked.state, asked.subject.client, asked.subject.now)
    return fails(when=count >= asked.rules.policy["executions_per_minute"])


def _take(asked: Asked, takes: Sequence[str]) -> Admission:
    state: Admission = asked.state
    for what in takes:
        if what == "invocation_slot":
            state = state._replace(invocations=state.invocations + 1)
        elif what == "worker_slot":
            state = state._replace(workers=state.workers + 1)
        elif what == "rate" and "executions_per_minute" in asked.rules.policy:
            start = (asked.subject.client, asked.subject.now)
            state = state._replace(starts=(*state.starts, start))
    return state


TOOL_CALL: Final = Procedure(
    "tool_call",
    {
        "shape": lambda asked: fails(when=asked.subject.unknown_field),
        "options": lambda asked: fails(when=asked.subject.option_above),
        "not_empty": _empty,
        "source_bytes": _source,
        "encoded_source": _encoded,
        "blocked": lambda asked: fails(when=asked.subject.blocked),
        "rate_look": _rate,
        "server_invocations": lambda asked: fails(
            when=asked.state.invocations >= asked.rules.policy["server_invocations"]
        ),
        "server_workers": lambda asked: fails(
            when=asked.state.workers >= asked.rules.policy["server_workers"]
        ),
        "rate_record": passes,
        "spawn": lambda asked: fails(when=not asked.subject.spawns),
        "execute": passes,
    },
    _take,
)


def admit(rules: Rules, admission: Admission, request: Request) -> Admitted:
    """Admit a tool call, or refuse it with every slot that it took given back.

    A refused admission consumes nothing; only a start that failed later stays on record.
    """
    walked = walk(TOOL_CALL, Asked(rules, admission, request))
    taken: Admission = walked.state
    if walked.error is None:
        return Admitted(taken, None, walked.notes)
    kept = admission._replace(starts=taken.starts)
    return Admitted(kept, walked.error, walked.notes)


def release(admission: Admission) -> Admission:
    """An invocation has ended: its worker slot is free, then its invocation slot."""
    assert admission.workers > 0
    assert admission.invocations > 0
    return admission._replace(workers=admission.workers - 1, invocations=admission.invocations - 1)


class Slots(NamedTuple):
    """The server's slots for host operations.

    `running` are (invocation, call) pairs that hold one; `queues` holds, for each invocation that
    waits, its calls in order; the first queue is served next.
    """

    running: frozenset[tuple[int, int]] = frozenset()
    queues: tuple[tuple[int, tuple[int, ...]], ...] = ()


def arrive(rules: Rules, slots: Slots, invocation: int, call: int) -> Slots:
    """A call wants to run: at once where a slot is free and nobody waits, else behind its own."""
    if not slots.queues and len(slots.running) < rules.policy["server_host_operations"]:
        return slots._replace(running=slots.running | {(invocation, call)})
    queues = dict(slots.queues)
    queues[invocation] = (*queues.get(invocation, ()), call)
    return slots._replace(queues=tuple(queues.items()))


def finish(rules: Rules, slots: Slots, invocation: int, call: int) -> Slots:
    """An operation is done: its slot goes to the next in turn."""
    assert (invocation, call) in slots.running
    return _serve(rules, slots._replace(running=slots.running - {(invocation, call)}))


def give_up(slots: Slots, invocation: int, call: int) -> Slots:
    """A call that waits has too little time left: it leaves with its code."""
    queues = {
        who: tuple(other for other in waiting if (who, other) != (invocation, call))
        for who, waiting in slots.queues
    }
    return slots._replace(queues=tuple((who, left) for who, left in queues.items() if left))


def leave(rules: Rules, slots: Slots, invocation: int) -> Slots:
    """An invocation ends, in whatever way: its calls run no more and wait no more."""
    left = slots._replace(
        running=frozenset(pair for pair in slots.running if pair[0] != invocation),
        queues=tuple(entry for entry in slots.queues if entry[0] != invocation),
    )
    return _serve(rules, left)


def _serve(rules: Rules, slots: Slots) -> Slots:
    """Give free slots to those that wait: one call of each invocation in turn."""
    while slots.queues and len(slots.running) < rules.policy["server_host_operations"]:
        (who, (first, *rest)), *others = slots.queues
        again = [(who, tuple(rest))] if rest else []
        slots = Slots(slots.running | {(who, first)}, (*others, *again))
    return slots
