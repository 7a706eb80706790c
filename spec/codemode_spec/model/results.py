"""A result at the parent: which outcome it decides, and which errors a worker may name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codemode_spec.model.checks import Asked, Fields, Procedure, fails, passes, walk
from codemode_spec.model.ledger import Parent, Step, end, limit_of
from codemode_spec.model.terms import Outcome, Refusal, Result, Rules, Settle

if TYPE_CHECKING:
    from collections.abc import Sequence


def agrees(rules: Rules, parent: Parent, error: Refusal) -> bool:
    """Whether the ledger bears out an error that is the worker's own to name."""
    condition = rules.tables.errors[error.code].worker_own
    limit = limit_of(rules, error.code)
    if limit is not None and condition != "always" and error.limit != limit:
        return False
    numbers = error.measured, error.limit
    if error.operation is not None and error.operation not in rules.operations:
        return False
    return {
        None: False,
        "always": True,
        "longer_than_a_frame": numbers == (None, None)
        or (numbers[1] == rules.policy["ipc_frame_bytes"] and (numbers[0] or 0) > numbers[1]),
        "measured_above_limit": (error.measured or 0) > (error.limit or 0),
        "elapsed_at_limit": limit is not None and parent.late,
        # Enough wall time has passed: no process uses more processor time than that.
        "worked_at_limit": limit is not None and parent.spent,
        "calls_at_limit": parent.calls == limit,
        # The parent frees a slot when it writes the reply and the worker when it reads it, so that
        # a true report can come when fewer are in flight here: only the calls made can refute it.
        "in_flight_at_limit": limit is not None and parent.calls >= limit,
    }[condition]


def _claim_stands(asked: Asked) -> Fields:
    rules, parent, result = asked
    error = result.error
    believed = error is None or error in parent.sent or agrees(rules, parent, error)
    return fails(when=not believed, reason="uncaught")


def _present(asked: Asked) -> Fields:
    result = asked.subject
    absent = result.error is None and not result.present
    return fails(when=absent and asked.rules.alternatives["undefined_result"] != "absent")


def _in_time(asked: Asked) -> Fields:
    return fails(when=asked.subject.error is None and asked.state.late)


def _fits(asked: Asked) -> Fields:
    result = asked.subject
    over = result.error is None and result.size > asked.rules.policy["final_result_bytes"]
    return fails(when=over, measured=result.size)


def _nothing(_asked: Asked, takes: Sequence[str]) -> Parent:
    raise AssertionError(f"a result takes {takes}")


RESULT: Final = Procedure(
    "parent_final",
    {
        **dict.fromkeys(("frame", "first"), passes),
        "presence": _present,
        "wall_time_ms": _in_time,
        "claim": _claim_stands,
        "final_result_bytes": _fits,
        **dict.fromkeys(("settle", "exit", "release", "answer"), passes),
    },
    _nothing,
)


def on_result(rules: Rules, parent: Parent, result: Result) -> Step:
    """What a well-formed result frame does in a running invocation.

    One that breaks the protocol ends it; any other settles the outcome, and the worker is awaited.
    """
    walked = walk(RESULT, Asked(rules, parent, result))
    if walked.error is not None and rules.tables.errors[walked.error.code].category == "protocol":
        return end(rules, parent, walked.error, walked.notes)
    error = walked.error or result.error
    outcome = Outcome(result.present, result.value) if error is None else Outcome(error=error)
    state = rules.tables.endpoints["parent"].transitions[parent.state]["result"].next
    assert state is not None
    after = parent._replace(state=state, in_flight=(), settled=outcome, batch=None)
    return Step(after, (Settle(parent.in_flight),), walked.notes)
