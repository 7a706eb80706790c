"""The model's batches: recorded whole, run in groups and at barriers, committed in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from codemode_spec.model import batch as plans
from codemode_spec.model import parent as parents
from codemode_spec.model.batch import Batch, Entry
from codemode_spec.model.terms import (
    Answer,
    Dispatch,
    End,
    HostBatch,
    HostCall,
    Operation,
    Outcome,
    Refusal,
    Reply,
    Result,
    Settle,
    rules,
)

if TYPE_CHECKING:
    from codemode_spec.model.ledger import Parent

OPERATIONS = {
    "look": Operation("look"),
    "page": Operation("page", pages=1),
    "change": Operation("change", effect="write"),
    "secret": Operation("secret", granted=False),
}
LOOK, CHANGE = Entry("look"), Entry("change", "write")


class Driver:
    """A parent of `inline-sync` that reads batches."""

    def __init__(self, *, readonly: bool = False, history: int | None = None, **policy: int):
        made = rules(OPERATIONS, profile="inline-sync", policy=policy)
        self.rules = replace(made, readonly=readonly, history_bytes=history)
        self.parent: Parent = parents.start(self.rules)
        self._take(parents.on_event(self.rules, self.parent, "execute_sent"))

    def _take(self, step: Any) -> list[Any]:
        self.parent = step.parent
        return list(step.actions)

    def batch(self, *names: str, **fields: Any) -> list[Any]:
        """The actions of a batch with the next ids."""
        first = self.parent.calls + 1
        calls = tuple(HostCall(first + i, name, **fields) for i, name in enumerate(names))
        return self.event("host_batch", HostBatch(calls))

    def event(self, name: str, frame: Any = None) -> list[Any]:
        """The actions of an event."""
        return self._take(parents.on_event(self.rules, self.parent, name, frame))

    def answer(self, call_id: int, size: int = 1, fault: str | None = None) -> list[Any]:
        """The actions of an answer."""
        return self._take(parents.on_answer(self.rules, self.parent, Answer(call_id, size, fault)))


def ended(error: Refusal, *cancelled: int) -> list[Any]:
    """The end of an invocation."""
    return [End(Outcome(error=error), cancelled)]


# The plan


def test_consecutive_reads_are_a_group_and_every_other_entry_a_barrier() -> None:
    """Hooks make everything sequential."""
    entries = (LOOK, LOOK, CHANGE, CHANGE, LOOK)
    assert plans.plan(entries) == ((0, 1), (2,), (3,), (4,))
    assert plans.plan(entries, sequential=True) == ((0,), (1,), (2,), (3,), (4,))


def test_nothing_is_dispatched_before_everything_is_recorded() -> None:
    """Then the first group, as many at once as the limit says."""
    batch = Batch((LOOK, LOOK, LOOK), limit=2)
    assert plans.ready(batch) == ()
    assert plans.ready(plans.record(batch)) == (0, 1)


def test_what_has_no_result_is_of_unknown_fate() -> None:
    """Evidence is what the host observed of each recorded entry."""
    batch = plans.record(Batch((LOOK, CHANGE, LOOK), limit=2))
    batch = plans.complete(plans.dispatch(batch, 0), 0)
    batch = plans.complete(plans.dispatch(batch, 1), 1)
    batch = plans.stop(plans.dispatch(batch, 2), 2)
    assert plans.ready(batch) == ()
    assert plans.evidence(batch, frozenset({1})) == ("succeeded", "failed", "unknown")
    assert plans.ready(plans.complete(plans.dispatch(plans.record(Batch((LOOK,), 1)), 0), 0)) == ()


# All or nothing


def test_a_batch_that_fits_takes_its_ids_whole() -> None:
    """Consecutive ones, from the next."""
    driver = Driver(host_calls=2)
    assert driver.batch("look", "look") == [Dispatch(1, "look"), Dispatch(2, "look")]
    assert driver.parent.calls == 2


def test_a_batch_above_the_total_dispatches_nothing() -> None:
    """Not even what would have fitted."""
    driver = Driver(host_calls=2)
    assert driver.batch("look", "look", "look") == ended(Refusal("host_calls_limit", limit=2))
    assert driver.parent.calls == 0


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nowhere", Refusal("unknown_operation")),
        ("secret", Refusal("capability_denied", "secret")),
    ],
)
def test_one_entry_outside_of_the_catalogue_ends_the_whole(name: str, error: Refusal) -> None:
    """Before the first is dispatched."""
    assert Driver().batch("look", name) == ended(error)


def test_the_records_of_a_batch_are_charged_together() -> None:
    """Against the headroom of the history, then against their own limit: split it."""
    headroom = Refusal("history_headroom_limit", measured=65_535, limit=65_536)
    assert Driver(history=65_555).batch("look", "look", record=10) == ended(headroom)
    fitting = Driver(history=65_556)
    assert fitting.batch("look", "look", record=10) == [Dispatch(1, "look"), Dispatch(2, "look")]
    assert fitting.parent.history == 20
    split = Refusal("batch_history_limit", measured=20, limit=19)
    driver = Driver(history=10**6, batch_history_bytes=19)
    assert driver.batch("look", "look", record=10) == ended(split)


@pytest.mark.parametrize("ids", [(1, 1), (1, 3), (2, 3), ()])
def test_ids_that_do_not_follow_break_the_protocol(ids: tuple[int, ...]) -> None:
    """Nor does a batch without any call."""
    frame = HostBatch(tuple(HostCall(number, "look") for number in ids))
    assert Driver().event("host_batch", frame) == ended(Refusal("worker_protocol_error"))


@pytest.mark.parametrize("event", ["host_call", "host_batch"])
def test_no_call_comes_while_a_batch_is_under_way(event: str) -> None:
    """Its caller waits for all of it."""
    driver = Driver()
    driver.batch("look")
    call = HostCall(2, "look")
    frame = HostBatch((call,)) if event == "host_batch" else call
    assert driver.event(event, frame) == ended(Refusal("worker_protocol_error"), 1)


# Groups, barriers and the order of commits


def test_results_are_committed_in_input_order() -> None:
    """An answer that comes early is held until all before it are there."""
    driver = Driver()
    driver.batch("look", "look", "look")
    assert driver.answer(3) == []
    assert driver.answer(1) == [Reply(1, 1)]
    assert driver.answer(2) == [Reply(2, 1), Reply(3, 1)]
    assert driver.parent.batch is None


def test_a_barrier_runs_alone() -> None:
    """After everything before it, and before everything after it."""
    driver = Driver()
    assert driver.batch("look", "change", "look") == [Dispatch(1, "look")]
    assert driver.answer(1) == [Reply(1, 1), Dispatch(2, "change")]
    assert driver.answer(2) == [Reply(2, 1), Dispatch(3, "look")]
    assert driver.answer(3) == [Reply(3, 1)]


def test_with_hooks_every_entry_runs_alone() -> None:
    """Something sees each call before it runs."""
    driver = Driver()
    driver.rules = replace(driver.rules, hooks=True)
    assert driver.batch("look", "look") == [Dispatch(1, "look")]
    assert driver.answer(1) == [Reply(1, 1), Dispatch(2, "look")]


def test_a_group_runs_at_most_as_many_at_once_as_the_concurrency() -> None:
    """Each answer lets the next one in."""
    driver = Driver(concurrent_host_calls=2)
    assert driver.batch("look", "look", "look") == [Dispatch(1, "look"), Dispatch(2, "look")]
    assert driver.answer(2) == [Dispatch(3, "look")]


def test_sizes_are_charged_in_the_order_of_commits() -> None:
    """Whichever answer came first: the sum is that of the input."""
    limits = {"host_result_bytes": 10, "cumulative_host_result_bytes": 15}
    driver = Driver(**limits)
    driver.rules = replace(
        driver.rules, alternatives={**driver.rules.alternatives, "exhaustion": "catchable"}
    )
    driver.batch("look", "look")
    driver.answer(2, 10)
    error = Refusal("cumulative_host_bytes_limit", "look", measured=20, limit=15)
    assert driver.answer(1, 10) == [Reply(1, 10), Reply(2, error=error)]


def test_an_exhausted_budget_inside_of_a_batch_ends_it_where_it_is_terminal() -> None:
    """What was committed stays; nothing after it is dispatched or committed."""
    driver = Driver(host_result_bytes=10, cumulative_host_result_bytes=15)
    driver.batch("look", "look", "look", "change")
    driver.answer(2, 10)
    driver.answer(3)
    error = Refusal("cumulative_host_bytes_limit", "look", measured=20, limit=15)
    assert driver.answer(1, 10) == [Reply(1, 10), *ended(error)]


def test_an_entry_that_is_refused_is_committed_in_its_place() -> None:
    """The others go on, and its slot is free."""
    driver = Driver()
    first = driver.parent.calls + 1
    calls = (HostCall(first, "look"), HostCall(first + 1, "change", valid=False))
    assert driver.event("host_batch", HostBatch(calls)) == [Dispatch(1, "look")]
    refused = Reply(2, error=Refusal("invalid_arguments", "change"))
    assert driver.answer(1) == [Reply(1, 1), refused]
    assert (driver.parent.in_flight, driver.parent.batch) == ((), None)


def test_a_terminal_budget_at_an_entry_ends_the_invocation() -> None:
    """Dispatches before it stand in the same step."""
    made = rules(OPERATIONS, policy={"pages": 1}, alternatives={"exhaustion": "terminal"})
    parent = parents.on_event(made, parents.start(made), "execute_sent").parent
    batch = HostBatch((HostCall(1, "page"), HostCall(2, "page")))
    step = parents.on_event(made, parent, "host_batch", batch)
    error = Refusal("pages_limit", "page", limit=1)
    assert list(step.actions) == [Dispatch(1, "page"), *ended(error, 1)]


def test_a_write_in_a_read_only_batch_is_refused_alone() -> None:
    """It is an error of that entry."""
    driver = Driver(readonly=True)
    refused = Reply(2, error=Refusal("read_only_violation", "change"))
    assert driver.batch("look", "change") == [Dispatch(1, "look")]
    assert driver.answer(1) == [Reply(1, 1), refused]


def test_nothing_of_a_batch_is_dispatched_after_the_wall_time() -> None:
    """And nothing more is committed: the answers are late, too."""
    driver = Driver()
    driver.batch("look", "change", "look")
    driver.event(parents.TIME_UP)
    assert driver.answer(1) == []
    assert driver.parent.in_flight == ()
    assert driver.parent.batch is not None
    assert driver.parent.batch.batch.stopped


def test_an_answer_to_a_call_of_no_batch_under_way_is_dropped() -> None:
    """A call that is answered is answered once."""
    driver = Driver()
    driver.batch("look", "change")
    driver.answer(1)
    assert driver.answer(1) == []


def test_a_result_cancels_a_batch() -> None:
    """With what runs of it."""
    driver = Driver()
    driver.batch("look", "look")
    assert driver.event("result", Result(True, 1)) == [Settle(cancelled=(1, 2))]
    assert driver.parent.batch is None
