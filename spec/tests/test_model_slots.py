"""Slots and turns in the model: who holds one, who waits for one, and what is left of a history."""

from __future__ import annotations

from dataclasses import replace

from codemode_spec.model import parent as parents
from codemode_spec.model import worker as workers
from codemode_spec.model.spaces import OPERATIONS, small
from codemode_spec.model.terms import End, HostBatch, HostCall, Outcome, Refusal, Rules, rules
from codemode_spec.model.worker import Wish


def running(chosen: Rules) -> parents.Parent:
    """A parent that has handed over `execute`."""
    return parents.on_event(chosen, parents.start(chosen), "execute_sent").parent


def test_a_refused_call_leaves_its_slot_to_the_next_that_waits() -> None:
    """No call waits while a slot is free: those without an id left are all refused."""
    chosen = rules(
        OPERATIONS,
        policy={"host_calls": 2, "concurrent_host_calls": 1},
        alternatives={"concurrency_excess": "queue"},
    )
    worker, _ = workers.on_event(chosen, workers.start(chosen), "execute")
    for _ in range(4):
        worker = workers.ask(chosen, worker, Wish("read")).worker
    first = workers.on_reply(chosen, worker, 1, None)
    assert [turn.frame and turn.frame.call_id for turn in first.turns] == [2]
    second = workers.on_reply(chosen, first.worker, 2, None)
    refused = Refusal("host_calls_limit", "read", limit=2)
    assert [turn.error for turn in second.turns] == [refused, refused]
    assert (second.worker.waiting, second.worker.in_flight) == ((), ())


def test_an_error_that_ends_is_the_last_turn() -> None:
    """Under terminal exhaustion nothing has its turn after the first refused call."""
    chosen = rules(
        OPERATIONS,
        policy={"host_calls": 1, "concurrent_host_calls": 1},
        alternatives={"concurrency_excess": "queue", "exhaustion": "terminal"},
    )
    wishes = (Wish("read"), Wish("read"))
    worker = workers.Worker("running", calls=1, in_flight=(1,), waiting=wishes)
    asking = workers.on_reply(chosen, worker, 1, None)
    assert [turn.error and turn.error.code for turn in asking.turns] == ["host_calls_limit"]
    assert asking.worker.waiting == wishes[1:]


def test_a_call_that_ends_the_invocation_is_not_cancelled_itself() -> None:
    """Only operations that run are cancelled; the refused one was never dispatched."""
    chosen = small("process-async", None, {"exhaustion": "terminal"})
    first = parents.on_event(chosen, running(chosen), "host_call", HostCall(1, "read")).parent
    step = parents.on_event(chosen, first, "host_call", HostCall(2, "read"))
    error = Refusal("pages_limit", "read", limit=1)
    assert step.actions == (End(Outcome(error=error), cancelled=(1,)),)


def test_an_entry_that_ends_the_invocation_is_not_cancelled_itself() -> None:
    """The same holds for an entry of a batch."""
    chosen = small("process-async", None, {"exhaustion": "terminal"})
    batch = HostBatch((HostCall(1, "read"), HostCall(2, "read")))
    step = parents.on_event(chosen, running(chosen), "host_batch", batch)
    assert step.actions[-1] == End(
        Outcome(error=Refusal("pages_limit", "read", limit=1)), cancelled=(1,)
    )


def test_what_is_left_of_a_history_is_never_below_zero() -> None:
    """A record longer than all that is left leaves nothing."""
    chosen = replace(small("inline-sync"), history_bytes=5)
    step = parents.on_event(chosen, running(chosen), "host_call", HostCall(1, "read", record=9))
    error = Refusal("history_headroom_limit", measured=0, limit=1)
    assert step.actions == (End(Outcome(error=error)),)
