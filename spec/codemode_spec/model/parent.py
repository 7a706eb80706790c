"""The parent's end of one invocation, as a pure function of state and event.

The table `protocol.json` says what an event does in a state, `order.json` in which order a host
call, a host value and a result are checked, `policy.json` what is charged and how excess ends.
"""

from __future__ import annotations

from typing import Any, Final

from codemode_spec.model import batches, values
from codemode_spec.model.calls import on_call
from codemode_spec.model.ledger import Parent, Step, end, limit_of
from codemode_spec.model.results import on_result
from codemode_spec.model.terms import Answer, End, Note, Refusal, Rules

TIME_UP: Final = "time_up"
"""The event that wall_time_ms has passed. It has no cell in the protocol table: nothing happens at
that moment, but what comes later is late."""

CPU_TIME_UP: Final = "cpu_time_up"
"""The event that as much wall time has passed as cpu_time_ms allows; no cell, like TIME_UP."""


def start(rules: Rules) -> Parent:
    """The parent of an invocation whose worker was just spawned."""
    return Parent(state=rules.tables.endpoints["parent"].initial)


def on_event(rules: Rules, parent: Parent, event: str, frame: Any = None) -> Step:
    """What one event does. `frame` is a HostCall, HostBatch or Result where the event is that.

    KeyError for an event that the protocol table does not have: nothing falls through.
    """
    if event == TIME_UP:
        note = Note("clock", event, True, "wall_time_ms has passed: what comes now is late")
        return Step(parent._replace(late=True), (), (note,))
    if event == CPU_TIME_UP:
        note = Note("clock", event, True, "cpu_time_ms of wall time have passed")
        return Step(parent._replace(spent=True), (), (note,))
    if not _expected(parent, event, frame):
        event = "malformed"
    answer = rules.tables.endpoints["parent"].transitions[parent.state][event]
    if answer.ignore:
        said = Note("protocol", event, True, f"ignored in state {parent.state}")
        return Step(parent, (), (said,))
    if answer.error is not None:
        said = Note("protocol", event, False, f"in state {parent.state}: {answer.error}")
        return end(
            rules, parent, Refusal(answer.error, limit=limit_of(rules, answer.error)), (said,)
        )
    assert answer.next is not None
    if event == "host_call":
        return on_call(rules, parent, frame)
    if event == "host_batch":
        return batches.on_batch(rules, parent, frame)
    if event == "result":
        return on_result(rules, parent, frame)
    said = Note("protocol", event, True, f"from {parent.state} to {answer.next}")
    moved = parent._replace(state=answer.next)
    if answer.next == rules.tables.endpoints["parent"].final:
        assert parent.settled is not None
        moved = moved._replace(outcome=parent.settled)
        return Step(moved, (End(parent.settled),), (said,))
    return Step(moved, (), (said,))


def _expected(parent: Parent, event: str, frame: Any) -> bool:
    """Whether the ids of a call or a batch follow on; no call comes while a batch is under way."""
    if event == "host_call":
        return bool(frame.call_id == parent.calls + 1) and parent.batch is None
    if event == "host_batch":
        ids = [call.call_id for call in frame.calls]
        following = list(range(parent.calls + 1, parent.calls + 1 + len(ids)))
        return bool(ids) and ids == following and parent.batch is None
    return True


def on_answer(rules: Rules, parent: Parent, answer: Answer) -> Step:
    """What an operation's answer does. One to a call that was cancelled is dropped."""
    mine = parent.batch is not None and answer.call_id >= parent.batch.calls[0].call_id
    if mine and answer.call_id in parent.in_flight:
        return batches.on_answer(rules, parent, answer)
    return values.on_answer(rules, parent, answer)
