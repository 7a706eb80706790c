"""What must hold in every state, judged by what the parent did, not by what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from codemode_spec.model.terms import Dispatch, Reply, Settle

if TYPE_CHECKING:
    from codemode_spec.model.ledger import Parent, Step
    from codemode_spec.model.terms import Rules


class Watch(NamedTuple):
    """The books of an observer: `open` calls run, `answered` ones have their reply."""

    dispatched: tuple[int, ...] = ()
    open: frozenset[int] = frozenset()
    answered: frozenset[int] = frozenset()
    pages: int = 0
    snapshots: int = 0
    delivered: int = 0
    settled: bool = False
    ends: int = 0


def units(rules: Rules, operation: str, row: str) -> int:
    """The units of a row that a call of an operation costs; 0 in a profile without that row."""
    return getattr(rules.operations[operation], row) if row in rules.policy else 0


def observe(
    rules: Rules, watch: Watch, before: Parent, step: Step, answered: int | None = None
) -> tuple[Watch, tuple[str, ...]]:
    """The observer's books after a step, and the invariants that the step broke.

    `answered` is the call whose operation has just answered, if that is what the step was.
    """
    broken = []
    if answered is not None:
        watch = watch._replace(open=watch.open - {answered})
    for action in step.actions:
        if watch.ends:
            broken.append("something happens after the end")
        match action:
            case Dispatch():
                broken += _dispatched(watch, step.parent, action)
                watch = watch._replace(
                    dispatched=(*watch.dispatched, action.call_id),
                    open=watch.open | {action.call_id},
                    pages=watch.pages + units(rules, action.operation, "pages"),
                    snapshots=watch.snapshots + units(rules, action.operation, "snapshots"),
                )
            case Reply():
                broken += _replied(rules, watch, action)
                broken += _kept(rules, before, step.parent, action)
                size = action.size if action.error is None else 0
                watch = watch._replace(
                    answered=watch.answered | {action.call_id}, delivered=watch.delivered + size
                )
            case Settle():
                broken += ["a second result is taken"] * watch.settled
                watch = watch._replace(settled=True, open=frozenset())
            case _:
                watch = watch._replace(ends=watch.ends + 1, open=frozenset())
                broken += ["an outcome is not what was settled"] * (
                    before.settled is not None
                    and action.outcome != before.settled
                    and action.outcome.error is None
                )
    if step.parent is before and not step.actions:
        return watch, tuple(broken)  # as it stood before
    return watch, tuple(broken + _standing(rules, watch, before, step.parent))


def _dispatched(watch: Watch, after: Parent, action: Dispatch) -> list[str]:
    found = []
    if watch.settled:
        found.append("a call is dispatched after the result")
    if action.call_id in watch.dispatched:
        found.append("a call is dispatched twice")
    if after.calls < action.call_id or action.call_id not in after.in_flight:
        found.append("a call is dispatched before it is reserved")
    return found


def _replied(rules: Rules, watch: Watch, action: Reply) -> list[str]:
    found = []
    if watch.settled:
        found.append("a reply is written after the result")
    if action.call_id in watch.answered:
        found.append("a call is answered twice")
    if action.error is None and action.size > rules.policy["host_result_bytes"]:
        found.append("a value above host_result_bytes is delivered")
    return found


def _kept(rules: Rules, before: Parent, after: Parent, action: Reply) -> list[str]:
    """A call that is refused for its arguments keeps the units that were reserved for it."""
    if action.error is None or action.error.code not in ("invalid_arguments", "pattern_blocked"):
        return []
    name = after.operation_of[action.call_id - 1]
    paid = (after.pages - before.pages, after.snapshots - before.snapshots)
    cost = (units(rules, name, "pages"), units(rules, name, "snapshots"))
    if paid == cost or before.batch is not None:
        return []
    return ["a call refused for its arguments does not pay for its units"]


def _standing(rules: Rules, watch: Watch, before: Parent, after: Parent) -> list[str]:
    policy = rules.policy
    held = frozenset(after.in_flight)
    used = (
        ("host_calls", len(watch.dispatched)),
        ("concurrent_host_calls", len(watch.open)),
        ("pages", watch.pages),
        ("snapshots", watch.snapshots),
        ("cumulative_host_result_bytes", watch.delivered),
    )
    found = [f"{row} is exceeded" for row, number in used if number > policy.get(row, number)]
    if watch.ends > 1:
        found.append("a second outcome")
    if held != watch.open:
        found.append("a slot is lost" if held > watch.open else "a call runs without a slot")
    if after.delivered != watch.delivered:
        found.append("what is charged is not what was delivered")
    if after.pages < watch.pages or after.snapshots < watch.snapshots:
        found.append("a call runs without its units")
    found += [
        f"{name} goes back: something is refunded"
        for name in ("calls", "pages", "snapshots", "delivered")
        if getattr(after, name) < max(0, getattr(before, name))
    ]
    if (after.outcome is not None) != (watch.ends == 1):
        found.append("the end and the outcome do not come together")
    return found
