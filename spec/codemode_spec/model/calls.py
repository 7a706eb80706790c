"""A host call at the parent: what is checked, reserved and charged before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codemode_spec.model.checks import Asked, Fields, Procedure, Walked, fails, passes, walk
from codemode_spec.model.ledger import Parent, Step, end, refuse, without
from codemode_spec.model.terms import Dispatch, HostCall, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _take(asked: Asked, takes: Sequence[str]) -> Parent:
    rules, parent, call = asked
    for what in takes:
        if what == "call":
            names = (*parent.operation_of, call.operation)
            parent = parent._replace(calls=parent.calls + 1, operation_of=names)
        elif what == "slot":
            parent = parent._replace(in_flight=(*parent.in_flight, call.call_id))
        elif what in ("pages", "snapshots"):
            needed = getattr(rules.operations[call.operation], what)
            parent = parent._replace(**{what: getattr(parent, what) + needed})
        elif what == "record" and rules.history_bytes is not None:
            parent = parent._replace(history=parent.history + call.record)
    assert isinstance(parent, Parent)
    return parent


def _calls_left(asked: Asked) -> Fields:
    rules, parent, call = asked
    # A name outside of the catalogue is never echoed.
    named = {"operation": call.operation} if call.operation in rules.operations else {}
    return fails(when=parent.calls >= rules.policy["host_calls"], **named)


def _known(asked: Asked) -> Fields:
    return fails(when=asked.subject.operation not in asked.rules.operations)


def _granted(asked: Asked) -> Fields:
    name = asked.subject.operation
    return fails(when=not asked.rules.operations[name].granted, operation=name)


def _slot_free(asked: Asked) -> Fields:
    rules, parent, call = asked
    full = len(parent.in_flight) >= rules.policy["concurrent_host_calls"]
    return fails(when=full, operation=call.operation)


def _may_write(asked: Asked) -> Fields:
    name = asked.subject.operation
    write = asked.rules.operations[name].effect != "read"
    return fails(when=asked.rules.readonly and write, operation=name)


def _units(row: str) -> Callable[[Asked], Fields]:
    def test(asked: Asked) -> Fields:
        rules, parent, call = asked
        needed = getattr(rules.operations[call.operation], row)
        over = getattr(parent, row) + needed > rules.policy[row]
        return fails(when=needed > 0 and over, operation=call.operation)

    return test


def _valid(asked: Asked) -> Fields:
    return fails(when=not asked.subject.valid, operation=asked.subject.operation)


def headroom(rules: Rules, history: int) -> Fields:
    """Whether the durable history, with these bytes on it, has history_headroom_bytes left."""
    if rules.history_bytes is None:
        return None
    left = rules.history_bytes - history
    return fails(when=left < rules.policy["history_headroom_bytes"], measured=max(left, 0))


def batch_fits(rules: Rules, record: int) -> Fields:
    """Whether these bytes of records are within batch_history_bytes."""
    kept = rules.history_bytes is not None
    return fails(when=kept and record > rules.policy["batch_history_bytes"], measured=record)


CALL: Final = Procedure(
    "parent_host_call",
    {
        # Bytes and shapes come in as the events `oversized`, `malformed` and `unknown`.
        **dict.fromkeys(("line", "text", "json", "closed_shape", "state"), passes),
        **dict.fromkeys(("invocation_id", "call_id"), passes),
        "host_calls": _calls_left,
        "operation_known": _known,
        "operation_granted": _granted,
        "concurrent_host_calls": _slot_free,
        "read_only": _may_write,
        "pages": _units("pages"),
        "snapshots": _units("snapshots"),
        "arguments": _valid,
        "text_filter": lambda asked: fails(when=asked.subject.blocked),
        "record": passes,
        "history_headroom": lambda asked: headroom(asked.rules, asked.state.history),
        "batch_history": lambda asked: batch_fits(asked.rules, asked.subject.record),
        "server_queue": passes,  # the slots that invocations share are in `server`
        "deadline": lambda asked: fails(when=asked.state.late),
        "dispatch": passes,
    },
    _take,
)


def checked(rules: Rules, parent: Parent, call: HostCall, procedure: Procedure = CALL) -> Walked:
    """The checks of one host call, made in order; the caller says what follows."""
    return walk(procedure, Asked(rules, parent, call))


def on_call(rules: Rules, parent: Parent, call: HostCall) -> Step:
    """What a host call with the expected id does in a running invocation."""
    walked = checked(rules, parent, call)
    if walked.failed is None:
        return Step(
            walked.state, (Dispatch(call.call_id, call.operation, call.arguments),), walked.notes
        )
    # It does not run, so that it holds no slot: neither after it is dropped nor when all is ended.
    state = without(walked.state, call.call_id)
    if walked.error is None:
        return Step(state, (), walked.notes)
    if walked.failed.answer == "terminate" or rules.ends(walked.error.code):
        return end(rules, state, walked.error, walked.notes)
    return refuse(state, call.call_id, walked.error, walked.notes)
