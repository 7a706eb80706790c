"""A host value at the parent: what may enter the worker, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codemode_spec.model.checks import Asked, Fields, Procedure, fails, passes, walk
from codemode_spec.model.ledger import Parent, Step, end, refuse, without
from codemode_spec.model.terms import Answer, Note, Reply, Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

HEARING: Final = ("running", "draining")
"""The states in which a worker may still read a reply."""


def _take(asked: Asked, takes: Sequence[str]) -> Parent:
    parent: Parent = asked.state
    assert tuple(takes) == ("bytes",)
    return parent._replace(delivered=parent.delivered + asked.subject.size)


def _operation(asked: Asked) -> str:
    name: str = asked.state.operation_of[asked.subject.call_id - 1]
    return name


def _open(asked: Asked) -> Fields:
    return fails(when=asked.state.state not in HEARING or asked.state.late)


def _succeeded(asked: Asked) -> Fields:
    return fails(when=asked.subject.fault == "failed", operation=_operation(asked))


def _is_value(asked: Asked) -> Fields:
    return fails(when=asked.subject.fault is not None, operation=_operation(asked))


def _result_fits(asked: Asked) -> Fields:
    size = asked.subject.size
    over = size > asked.rules.policy["host_result_bytes"]
    return fails(when=over, measured=size, operation=_operation(asked))


def _sum_fits(asked: Asked) -> Fields:
    total = asked.state.delivered + asked.subject.size
    over = total > asked.rules.policy["cumulative_host_result_bytes"]
    return fails(when=over, measured=total, operation=_operation(asked))


VALUE: Final = Procedure(
    "parent_host_value",
    {
        "open": _open,
        "failure": _succeeded,
        "value": _is_value,
        "redact": passes,
        "host_result_bytes": _result_fits,
        "cumulative_host_result_bytes": _sum_fits,
        "write": passes,
    },
    _take,
)


def on_answer(rules: Rules, parent: Parent, answer: Answer) -> Step:
    """What an operation's answer does; an answer to a call that is not in flight is dropped."""
    if answer.call_id not in parent.in_flight:
        note = Note("parent_host_value", "open", False, "the call was cancelled: dropped")
        return Step(parent, (), (note,))
    return deliver(rules, without(parent, answer.call_id), answer)


def deliver(rules: Rules, parent: Parent, answer: Answer) -> Step:
    """The checks of one host value whose slot is free, and the reply or the end they lead to."""
    walked = walk(VALUE, Asked(rules, parent, answer))
    state: Parent = walked.state
    if walked.failed is None:
        reply = Reply(answer.call_id, answer.size, answer.value)
        return Step(state, (reply,), walked.notes)
    if walked.error is None:
        return Step(state, (), walked.notes)
    if rules.ends(walked.error.code):
        return end(rules, state, walked.error, walked.notes)
    return refuse(state, answer.call_id, walked.error, walked.notes)
