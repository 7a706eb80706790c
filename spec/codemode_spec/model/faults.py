"""Planted faults: each is found by a search, which shows that a search can find one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.model import parent as parents
from codemode_spec.model import server
from codemode_spec.model.searches import SOUND, SOUND_SERVER
from codemode_spec.model.sharing import Server
from codemode_spec.model.spaces import Boundary
from codemode_spec.model.terms import Answer, Outcome, Rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_spec.model.ledger import Parent, Step
    from codemode_spec.model.server import Admission, Slots


@dataclass(frozen=True)
class Fault:
    """A planted fault: what it does wrong, the space that finds it, the functions that do it."""

    text: str
    space: str
    boundary: Boundary = SOUND
    shared: Server = SOUND_SERVER


def _after(change: Callable[[Parent, Step], Step]) -> Boundary:
    """A boundary whose every step is changed."""

    def on_event(rules: Rules, parent: Parent, event: str, frame: Any = None) -> Step:
        return change(parent, parents.on_event(rules, parent, event, frame))

    def on_answer(rules: Rules, parent: Parent, answer: Answer) -> Step:
        return change(parent, parents.on_answer(rules, parent, answer))

    return Boundary(on_event, on_answer)


def _refund(before: Parent, step: Step) -> Step:
    refused = step.parent.sent - before.sent
    if any(error.code == "invalid_arguments" for error in refused):
        return step._replace(parent=step.parent._replace(pages=before.pages))
    return step


def _keep_slot(before: Parent, step: Step) -> Step:
    refused = step.parent.sent - before.sent
    if any(error.code == "pages_limit" for error in refused):
        held = (*before.in_flight, step.parent.calls)
        return step._replace(parent=step.parent._replace(in_flight=held))
    return step


def _charge_refused(before: Parent, step: Step) -> Step:
    refused = step.parent.sent - before.sent
    for error in refused:
        if error.code == "cumulative_host_bytes_limit" and error.measured is not None:
            return step._replace(parent=step.parent._replace(delivered=error.measured))
    return step


def _reply_after_result(rules: Rules, parent: Parent, answer: Answer) -> Step:
    hearing = parent._replace(state="running", in_flight=(answer.call_id,))
    step = parents.on_answer(rules, hearing, answer)
    return step._replace(
        parent=step.parent._replace(state=parent.state, in_flight=parent.in_flight[1:])
    )


def _one_more(rules: Rules, parent: Parent, event: str, frame: Any = None) -> Step:
    more = {**rules.policy, "host_calls": rules.policy["host_calls"] + 1}
    generous = replace(rules, policy=more)
    return parents.on_event(generous, parent, event, frame)


def _high_water(rules: Rules, parent: Parent, event: str, frame: Any = None) -> Step:
    """Believe a report of too many calls at once only while that many are in flight here."""
    step = parents.on_event(rules, parent, event, frame)
    error = None if step.parent.settled is None else step.parent.settled.error
    full = len(parent.in_flight) == rules.policy["concurrent_host_calls"]
    if error is None or error.code != "host_concurrency_limit" or error in parent.sent or full:
        return step
    doubted = Outcome(error=error._replace(code="code_rejected", reason="uncaught"))
    return step._replace(parent=step.parent._replace(settled=doubted))


def _forgotten_queue(rules: Rules, slots: Slots, invocation: int) -> Slots:
    left = server.leave(rules, slots, invocation)
    waiting = tuple(entry for entry in slots.queues if entry[0] == invocation)
    return left._replace(queues=(*left.queues, *waiting))


def _idle_slot(rules: Rules, slots: Slots, invocation: int, call: int) -> Slots:
    del rules
    return slots._replace(running=slots.running - {(invocation, call)})


def _lost_worker(admission: Admission) -> Admission:
    return admission._replace(invocations=admission.invocations - 1)


FAULTS: Final = {
    "refund": Fault(
        "the page of a call with bad arguments is given back", "any worker", _after(_refund)
    ),
    "slot-kept": Fault(
        "a call refused for its pages keeps its slot", "any worker", _after(_keep_slot)
    ),
    "refused-charged": Fault(
        "a refused value is added to the sum", "any worker", _after(_charge_refused)
    ),
    "one-more": Fault(
        "one call above host_calls is dispatched", "any worker", Boundary(on_event=_one_more)
    ),
    "reply-after-result": Fault(
        "an answer after the result is still written",
        "any worker",
        Boundary(on_answer=_reply_after_result),
    ),
    "high-water": Fault(
        "a report of too many calls at once is believed only while as many are in flight",
        "honest pair, one at once",
        Boundary(on_event=_high_water),
    ),
    "queue-kept": Fault(
        "calls of an ended invocation wait on",
        "shared slots, few invocations",
        shared=Server(leave=_forgotten_queue),
    ),
    "slot-idle": Fault(
        "a free slot is not given to the next",
        "shared slots, few invocations",
        shared=Server(finish=_idle_slot),
    ),
    "worker-lost": Fault(
        "the worker slot is not given back",
        "shared slots, few invocations",
        shared=Server(release=_lost_worker),
    ),
}
"""Planted faults by name."""
