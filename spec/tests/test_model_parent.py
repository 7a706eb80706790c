"""The model's parent: host calls, host values, results and endings, each by its rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from codemode_spec.model import parent as parents
from codemode_spec.model.ledger import limit_of
from codemode_spec.model.terms import (
    UNCAUGHT,
    Answer,
    Dispatch,
    End,
    HostCall,
    Note,
    Operation,
    Outcome,
    Refusal,
    Reply,
    Result,
    Settle,
    rules,
)

OPERATIONS = {
    "read": Operation("read", pages=1),
    "open": Operation("open", snapshots=1),
    "write": Operation("write", effect="write"),
    "secret": Operation("secret", granted=False),
}
PROTOCOL = Outcome(error=Refusal("worker_protocol_error"))
LATE = Outcome(error=Refusal("deadline_exceeded", limit=10_000))


class Driver:
    """A parent under the rules of a profile, in whose place things happen one after the other."""

    def __init__(self, *, profile: str = "process-async", readonly: bool = False, **changes: Any):
        known = {"undefined_result", "exhaustion", "concurrency_excess"}
        alternatives = {name: value for name, value in changes.items() if name in known}
        policy = {name: value for name, value in changes.items() if name not in known}
        made = rules(OPERATIONS, profile=profile, policy=policy, alternatives=alternatives)
        self.rules = replace(made, readonly=readonly)
        self.parent = parents.start(self.rules)
        self.notes: tuple[Note, ...] = ()
        self.event("execute_sent")

    def event(self, name: str, frame: Any = None) -> list[Any]:
        """The actions of an event."""
        step = parents.on_event(self.rules, self.parent, name, frame)
        self.parent, self.notes = step.parent, step.notes
        return list(step.actions)

    def call(self, operation: str, **fields: Any) -> list[Any]:
        """The actions of the next host call."""
        return self.event("host_call", HostCall(self.parent.calls + 1, operation, **fields))

    def answer(self, call_id: int, size: int = 1, fault: str | None = None) -> list[Any]:
        """The actions of an operation's answer."""
        step = parents.on_answer(self.rules, self.parent, Answer(call_id, size, fault))
        self.parent, self.notes = step.parent, step.notes
        return list(step.actions)

    def result(self, **fields: Any) -> Outcome:
        """The outcome of a result whose worker exits as it should."""
        actions = self.event("result", Result(**fields))
        if not isinstance(actions[0], End):
            actions = self.event("exit_zero")
        (end,) = actions
        assert self.parent.outcome == end.outcome
        return end.outcome


def code(actions: list[Any]) -> str:
    """The code of the one reply, or of the one end."""
    (action,) = actions
    error = action.error if isinstance(action, Reply) else action.outcome.error
    return error.code


# Host calls


def test_seventeen_calls_with_bad_arguments() -> None:
    """Units are reserved before arguments are checked, and stay consumed; the 17th frame ends."""
    driver = Driver()
    codes = [code(driver.call("read", valid=False)) for _ in range(16)]
    assert codes == ["invalid_arguments"] * 8 + ["pages_limit"] * 8
    assert (driver.parent.calls, driver.parent.pages, driver.parent.in_flight) == (16, 8, ())
    assert driver.call("read", valid=False) == [
        End(Outcome(error=Refusal("host_calls_limit", "read", limit=16)))
    ]


def test_a_call_above_the_limit_with_an_unknown_name_does_not_echo_it() -> None:
    """The total comes before the name, and the name is in no error."""
    driver = Driver(host_calls=1)
    driver.call("write")
    assert driver.call("nowhere") == [
        End(Outcome(error=Refusal("host_calls_limit", limit=1)), cancelled=(1,))
    ]


def test_a_name_outside_of_the_catalogue_ends_the_invocation() -> None:
    """An honest worker looks it up itself."""
    assert Driver().call("nowhere") == [End(Outcome(error=Refusal("unknown_operation")))]


def test_a_name_that_was_not_granted_ends_the_invocation() -> None:
    """It is known, and named."""
    assert Driver().call("secret") == [End(Outcome(error=Refusal("capability_denied", "secret")))]


def test_a_call_above_the_concurrency_is_consumed_and_takes_no_page() -> None:
    """Its id and its call are gone; no page, no dispatch; the others go on."""
    driver = Driver(concurrent_host_calls=1)
    assert driver.call("read") == [Dispatch(1, "read")]
    refused = Refusal("host_concurrency_limit", "read", limit=1)
    assert driver.call("read") == [Reply(2, error=refused)]
    assert (driver.parent.calls, driver.parent.pages, driver.parent.in_flight) == (2, 1, (1,))
    driver.answer(1)
    assert driver.call("read") == [Dispatch(3, "read")]


def test_a_write_in_a_read_only_invocation_is_refused_and_consumed() -> None:
    """It is checked before units are reserved and after its slot."""
    driver = Driver(readonly=True)
    assert driver.call("write") == [Reply(1, error=Refusal("read_only_violation", "write"))]
    assert (driver.parent.calls, driver.parent.in_flight) == (1, ())


def test_opening_a_snapshot_costs_one_snapshot_and_no_page() -> None:
    """The third is refused by its own code."""
    driver = Driver()
    assert driver.call("open") == [Dispatch(1, "open")]
    assert driver.call("open", valid=False)[0].error.code == "invalid_arguments"
    assert driver.call("open") == [Reply(3, error=Refusal("snapshots_limit", "open", limit=2))]
    assert (driver.parent.pages, driver.parent.snapshots) == (0, 2)


def test_a_blocked_text_in_arguments_is_refused_after_the_units() -> None:
    """The page stays consumed and nothing is dispatched."""
    driver = Driver()
    assert code(driver.call("read", blocked=True)) == "pattern_blocked"
    assert driver.parent.pages == 1


def test_bad_arguments_come_before_a_blocked_text() -> None:
    """The first check that fails answers."""
    assert code(Driver().call("read", valid=False, blocked=True)) == "invalid_arguments"


def test_terminal_exhaustion_ends_at_the_first_refused_unit() -> None:
    """Where a budget is terminal, no reply is written."""
    driver = Driver(exhaustion="terminal", pages=1)
    driver.call("read")
    error = Refusal("pages_limit", "read", limit=1)
    assert driver.call("read") == [End(Outcome(error=error), cancelled=(1,))]


def test_terminal_exhaustion_leaves_other_errors_to_the_program() -> None:
    """Bad arguments are no budget."""
    assert code(Driver(exhaustion="terminal").call("read", valid=False)) == "invalid_arguments"


@pytest.mark.parametrize("call_id", [0, 2])
def test_a_call_id_that_is_not_the_next_one_breaks_the_protocol(call_id: int) -> None:
    """Neither a repeat nor a gap."""
    driver = Driver()
    assert driver.event("host_call", HostCall(call_id, "read")) == [End(PROTOCOL)]


def test_after_the_wall_time_a_call_is_dropped_without_a_reply_or_a_slot() -> None:
    """Nothing is dispatched between deadline and kill."""
    driver = Driver(concurrent_host_calls=1)
    driver.event(parents.TIME_UP)
    assert driver.call("read") == []
    assert driver.call("read") == []
    assert (driver.parent.calls, driver.parent.in_flight) == (2, ())


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (5_000, None),
        (5_001, Refusal("history_headroom_limit", measured=65_535, limit=65_536)),
        (8 * 2**20 + 1, Refusal("history_headroom_limit", measured=0, limit=65_536)),
    ],
)
def test_the_history_keeps_its_headroom(record: int, error: Refusal | None) -> None:
    """A call is recorded, then the history looked at; too little left ends the invocation."""
    driver = Driver(profile="inline-sync")
    driver.rules = replace(driver.rules, history_bytes=70_536)
    actions = driver.call("write", record=record)
    wanted = Dispatch(1, "write") if error is None else End(Outcome(error=error))
    assert actions == [wanted]
    assert driver.parent.history == record


def test_the_records_of_a_batch_have_a_limit_of_their_own() -> None:
    """With room enough in the history."""
    driver = Driver(profile="inline-sync", batch_history_bytes=10)
    driver.rules = replace(driver.rules, history_bytes=10**9)
    error = Refusal("batch_history_limit", measured=11, limit=10)
    assert driver.call("write", record=11) == [End(Outcome(error=error))]


# Host values


def test_a_value_at_the_limit_arrives_and_one_byte_more_does_not() -> None:
    """The refused one never enters the worker; its size and the limit are told."""
    driver = Driver(host_result_bytes=10, cumulative_host_result_bytes=100)
    driver.call("write")
    assert driver.answer(1, 10) == [Reply(1, 10)]
    driver.call("write")
    refused = Refusal("host_result_bytes_limit", "write", measured=11, limit=10)
    assert driver.answer(2, 11) == [Reply(2, error=refused)]
    assert driver.parent.delivered == 10


def test_a_refused_value_is_not_added_to_the_sum() -> None:
    """After it, what is left of the sum still fits."""
    driver = Driver(host_result_bytes=10, cumulative_host_result_bytes=15)
    for size, wanted in ((10, None), (6, 16), (5, None), (1, 16)):
        driver.call("write")
        (reply,) = driver.answer(driver.parent.calls, size)
        assert (reply.error and reply.error.measured) == wanted
    assert driver.parent.delivered == 15


@pytest.mark.parametrize(
    ("fault", "error"), [("failed", "operation_failed"), ("not_json", "host_result_invalid")]
)
def test_a_failure_and_a_value_that_is_none_are_errors_of_the_call(fault: str, error: str) -> None:
    """They cost nothing of the sum."""
    driver = Driver()
    driver.call("write")
    assert driver.answer(1, 70_000, fault) == [Reply(1, error=Refusal(error, "write"))]
    assert driver.parent.delivered == 0


def test_a_value_that_is_too_much_is_terminal_where_exhaustion_is() -> None:
    """A budget of data is a budget of the host."""
    driver = Driver(exhaustion="terminal", host_result_bytes=10, cumulative_host_result_bytes=10)
    driver.call("write")
    error = Refusal("host_result_bytes_limit", "write", measured=11, limit=10)
    assert driver.answer(1, 11) == [End(Outcome(error=error))]


def test_an_answer_after_the_wall_time_is_dropped() -> None:
    """Its slot is free, and nothing is written."""
    driver = Driver()
    driver.call("write")
    driver.event(parents.TIME_UP)
    assert driver.answer(1) == []
    assert driver.parent.in_flight == ()


def test_an_answer_to_a_call_that_was_cancelled_is_dropped() -> None:
    """A result cancels what is in flight."""
    driver = Driver()
    driver.call("write")
    assert driver.event("result", Result(True, 1)) == [Settle(cancelled=(1,))]
    assert driver.answer(1) == []
    assert driver.notes[-1].said == "the call was cancelled: dropped"


def test_an_answer_still_reaches_a_worker_that_only_closed_its_output() -> None:
    """Nothing is lost while its exit status is awaited."""
    driver = Driver()
    driver.call("write")
    driver.event("stdout_eof")
    assert driver.answer(1) == [Reply(1, 1)]


# Results


def test_a_value_is_the_outcome() -> None:
    """Once the worker has exited."""
    assert Driver().result(present=True, size=2, value=[]) == Outcome(True, [])


def test_a_success_without_a_value_needs_the_alternative() -> None:
    """Presence is checked: a missing value is never a value."""
    assert Driver().result() == PROTOCOL
    assert Driver(undefined_result="absent").result() == Outcome()


@pytest.mark.parametrize("absent", [True, False])
def test_presence_is_checked_before_the_wall_time(absent: bool) -> None:  # noqa: FBT001
    """A late success without a value breaks the protocol where there has to be one."""
    driver = Driver(undefined_result="absent" if absent else "reject")
    driver.event(parents.TIME_UP)
    assert driver.result() == (LATE if absent else PROTOCOL)


def test_a_success_after_the_wall_time_is_too_late() -> None:
    """However large it is: the time comes before the size."""
    driver = Driver(final_result_bytes=1)
    driver.event(parents.TIME_UP)
    assert driver.result(present=True, size=2) == LATE


def test_a_value_above_the_limit_is_refused_whole() -> None:
    """With its size and the limit."""
    error = Refusal("final_result_bytes_limit", measured=49_153, limit=49_152)
    assert Driver().result(present=True, size=49_152) == Outcome(True)
    assert Driver().result(present=True, size=49_153) == Outcome(error=error)


def test_an_error_that_was_handed_out_keeps_its_code() -> None:
    """The very error, with its operation."""
    driver = Driver()
    driver.call("write")
    (reply,) = driver.answer(1, fault="failed")
    assert driver.result(error=reply.error) == Outcome(error=Refusal("operation_failed", "write"))


@pytest.mark.parametrize(
    "error",
    [
        Refusal("operation_failed", "write"),
        Refusal("operation_failed", "read"),
        Refusal("pages_limit", "read", limit=8),
        Refusal("host_result_invalid", "write"),
        Refusal("cumulative_host_bytes_limit", "write", measured=9, limit=8),
    ],
)
def test_a_code_that_was_not_handed_out_selects_nothing(error: Refusal) -> None:
    """It becomes code_rejected, reason uncaught."""
    driver = Driver()
    driver.call("read")
    driver.answer(1)
    assert driver.result(error=error) == Outcome(error=UNCAUGHT)


def test_a_code_that_was_handed_out_with_another_operation_selects_nothing() -> None:
    """The operation is part of it."""
    driver = Driver()
    driver.call("write")
    driver.answer(1, fault="failed")
    assert driver.result(error=Refusal("operation_failed", "read")) == Outcome(error=UNCAUGHT)


def test_nothing_of_one_invocation_is_believed_in_the_next() -> None:
    """What was sent belongs to an invocation."""
    first = Driver()
    first.call("write")
    (reply,) = first.answer(1, fault="failed")
    assert Driver().result(error=reply.error) == Outcome(error=UNCAUGHT)


@pytest.mark.parametrize(
    ("error", "calls", "late", "believed"),
    [
        (Refusal("code_rejected", reason="memory"), 0, False, True),
        (Refusal("deadline_exceeded", limit=10_000), 0, True, True),
        (Refusal("deadline_exceeded", limit=10_000), 0, False, False),
        (Refusal("deadline_exceeded", limit=9_999), 0, True, False),
        (Refusal("host_calls_limit", "read", limit=2), 2, False, True),
        (Refusal("host_calls_limit", "read", limit=2), 1, False, False),
        (Refusal("host_calls_limit", "nowhere", limit=2), 2, False, False),
        (Refusal("host_concurrency_limit", "read", limit=1), 1, False, True),
        (Refusal("host_concurrency_limit", "read", limit=1), 0, False, False),
        (Refusal("final_result_bytes_limit", measured=3, limit=2), 0, False, True),
        (Refusal("final_result_bytes_limit", measured=2, limit=2), 0, False, False),
        (Refusal("final_result_bytes_limit", measured=2, limit=1), 0, False, False),
        (Refusal("invalid_arguments", "read"), 0, False, True),
        (Refusal("unknown_operation"), 0, False, True),
        (Refusal("unknown_method"), 0, False, True),
        (Refusal("read_only_violation", "write"), 0, False, True),
    ],
)
def test_the_workers_own_errors_are_believed_if_the_ledger_agrees(
    error: Refusal,
    calls: int,
    late: bool,  # noqa: FBT001
    believed: bool,  # noqa: FBT001
) -> None:
    """Calls seen, time elapsed, sizes above limits; not what the program says of them."""
    driver = Driver(host_calls=2, concurrent_host_calls=1, final_result_bytes=2)
    for call_id in range(1, calls + 1):
        driver.call("write")
        driver.answer(call_id)
    if late:
        driver.event(parents.TIME_UP)
    assert driver.result(error=error) == Outcome(error=error if believed else UNCAUGHT)


@pytest.mark.parametrize(
    ("profile", "event", "limit", "believed"),
    [
        ("worker-rpc", parents.CPU_TIME_UP, 500, True),
        ("worker-rpc", parents.CPU_TIME_UP, 501, False),
        ("worker-rpc", parents.TIME_UP, 500, False),
        ("worker-rpc", "", 500, False),
        ("process-async", parents.CPU_TIME_UP, 500, False),
        ("process-async", parents.TIME_UP, 10_000, False),
        ("inline-sync", parents.TIME_UP, 10_000, False),
    ],
)
def test_a_used_up_processor_is_believed_where_it_is_limited(
    profile: str,
    event: str,
    limit: int,
    believed: bool,  # noqa: FBT001
) -> None:
    """And only once as much wall time has passed."""
    driver = Driver(profile=profile, **({"cpu_time_ms": 500} if profile == "worker-rpc" else {}))
    if event:
        driver.event(event)
    error = Refusal("cpu_time_exceeded", limit=limit)
    assert driver.result(error=error) == Outcome(error=error if believed else UNCAUGHT)


# Endings


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        ("exit_failure", Outcome(error=Refusal("worker_exited"))),
        ("exit_zero", PROTOCOL),
        ("malformed", PROTOCOL),
        ("oversized", PROTOCOL),
        ("unknown", PROTOCOL),
        ("execute", PROTOCOL),
        ("deadline", LATE),
        ("cancel", Outcome(error=Refusal("cancelled"))),
    ],
)
def test_an_invocation_without_a_result_ends_by_what_came(event: str, outcome: Outcome) -> None:
    """What is in flight is cancelled."""
    driver = Driver()
    driver.call("write")
    assert driver.event(event) == [End(outcome, cancelled=(1,))]


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        ("exit_zero", Outcome(True, 1)),
        ("exit_wait_over", Outcome(True, 1)),
        ("exit_failure", Outcome(error=Refusal("worker_exited"))),
        ("malformed", PROTOCOL),
        ("result", PROTOCOL),
        ("host_call", PROTOCOL),
    ],
)
def test_after_the_result_only_a_clean_end_keeps_it(event: str, outcome: Outcome) -> None:
    """A failing exit and any further byte take it back."""
    driver = Driver()
    driver.event("result", Result(True, 1, 1))
    frame = {"result": Result(True, 1), "host_call": HostCall(1, "read")}.get(event)
    assert driver.event(event, frame) == [End(outcome)]


@pytest.mark.parametrize("event", ["cancel", "deadline", "stdout_eof"])
def test_a_complete_result_comes_before_a_cancellation_and_the_deadline(event: str) -> None:
    """Of ends at the same time the result is the first."""
    driver = Driver()
    driver.event("result", Result(True, 1, 1))
    assert driver.event(event) == []
    assert driver.event("exit_zero") == [End(Outcome(True, 1))]


def test_a_cancellation_comes_before_the_deadline() -> None:
    """What comes first ends it, and the deadline after it is ignored; the order is in the table."""
    driver = Driver()
    driver.event(parents.TIME_UP)
    assert driver.event("cancel") == [End(Outcome(error=Refusal("cancelled")))]
    assert driver.event("deadline") == []
    assert driver.rules.tables.simultaneous == (
        *("complete_result", "cancel", "terminal_budget", "deadline", "own_kill"),
    )


def test_the_consequences_of_the_own_kill_are_ignored() -> None:
    """There is exactly one outcome."""
    driver = Driver()
    driver.event("deadline")
    assert [driver.event(event) for event in ("exit_failure", "stdout_eof", "malformed")] == [
        *([], [], []),
    ]
    assert driver.parent.outcome == LATE


def test_output_that_ends_early_waits_for_the_exit_status() -> None:
    """Status 0 and a worker that stays are breaks of the protocol, another status is an exit."""
    for event, outcome in (
        ("exit_zero", PROTOCOL),
        ("exit_wait_over", PROTOCOL),
        ("exit_failure", Outcome(error=Refusal("worker_exited"))),
    ):
        driver = Driver()
        assert driver.event("stdout_eof") == []
        assert driver.event(event) == [End(outcome)]


def test_an_event_outside_of_the_table_falls_nowhere() -> None:
    """Nothing is taken for something else."""
    with pytest.raises(KeyError, match="rain"):
        Driver().event("rain")


def test_an_error_without_a_limit_shows_none() -> None:
    """Only codes whose table entry has the field."""
    driver = Driver()
    assert limit_of(driver.rules, "worker_exited") is None
    assert limit_of(driver.rules, "pages_limit") == 8


def test_a_note_tells_the_check_the_account_and_the_error() -> None:
    """One line of reasoning in words."""
    driver = Driver(host_calls=1)
    driver.call("read")
    used = [note.text for note in driver.notes if note.check == "host_calls"]
    assert used == ["fewer than host_calls calls were made (0 of 1 used)"]
    driver.call("read")
    assert driver.notes[-1].rule == "parent_host_call host_calls failed"
    assert driver.notes[-1].text == (
        "fewer than host_calls calls were made (1 of 1 used): "
        "host_calls_limit (operation read, limit 1)"
    )
    assert Note("a", "b", passed=False, said="c", error=Refusal("cancelled")).text == "c: cancelled"
