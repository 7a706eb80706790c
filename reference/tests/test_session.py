"""One invocation without I/O: what the parent makes of frames, exits and timers."""

import json

import pytest
from codemode_reference import Success
from codemode_reference.actions import Closed, Dispatch, End, Settled, Write
from codemode_reference.operations import Catalogue
from codemode_reference.rules import frame_rules
from codemode_reference.session import Session
from codemode_spec.tables import load_tables

ID = 7


class Worker:
    """Speaks frames to a session; `elapsed_ms` is the time of the next one."""

    def __init__(self, session):
        self.session = session
        self.elapsed_ms = 1.0

    def send(self, **frame):
        """One frame, as the actions that it leads to."""
        line = json.dumps({"invocation_id": ID, **frame}).encode() + b"\n"
        return self.session.receive(line, self.elapsed_ms)

    def call(self, call_id, operation="echo", arguments=None):
        """A host call."""
        return self.send(
            type="host_call", call_id=call_id, operation=operation, arguments=arguments
        )

    def result(self, **fields):
        """A result."""
        return self.send(type="result", **fields)

    def value(self, value):
        """A result with a value."""
        return self.result(ok=True, value_present=True, value=value)

    def error(self, **error):
        """A result with an error."""
        return self.result(ok=False, value_present=False, error=error)

    def answer(self, call_id, value):
        """The operation returned a value: the error and the value of the reply."""
        return replied(self.session.answer(call_id, value, self.elapsed_ms))


def replied(actions):
    """The error, without its message, or the value of a reply."""
    (write,) = actions
    assert isinstance(write, Write)
    frame = json.loads(write.data)
    assert frame["invocation_id"] == ID
    return frame["value"] if frame["ok"] else frame["error"]


def ended(actions):
    """The failure that ends the invocation, as a client sees it, without the message."""
    (end,) = actions
    assert isinstance(end, End)
    return {name: item for name, item in end.outcome.to_json().items() if name != "message"}


@pytest.fixture
def session(limits, operations, profile):
    """A session whose `execute` frame is not handed over yet."""
    tables = load_tables()
    rules = frame_rules(tables, profile)
    return Session(ID, limits, Catalogue(operations), tables.endpoints["parent"], rules)


@pytest.fixture
def worker(session):
    """A worker of a running session."""
    assert session.event("execute_sent") == []
    return Worker(session)


PROTOCOL = {"code": "worker_protocol_error"}
EXITED = {"code": "worker_exited"}


def test_a_value_is_the_outcome_once_the_worker_has_exited(worker):
    """The result settles the run, the exit ends it."""
    assert worker.value({"a": [1]}) == [Settled()]
    assert worker.session.event("exit_zero") == [End(Success(True, {"a": [1]}))]
    assert worker.session.ended


def test_a_worker_that_stays_alive_keeps_its_result(worker):
    """The result stands when the worker must be killed."""
    worker.value(None)
    assert worker.session.event("exit_wait_over") == [End(Success(True, None))]


@pytest.mark.parametrize("zero", [b"-0", b"-0.0", b"-0e5", b"-1e-999"])
def test_there_is_one_zero(worker, zero):
    """A client gets no `-0`, whatever the worker writes."""
    head = b'{"type":"result","invocation_id":7,"ok":true,"value_present":true,"value":'
    worker.session.receive(head + zero + b"}\n", 1.0)
    (end,) = worker.session.event("exit_zero")
    assert f"{end.outcome.value:+}" in ("+0", "+0.0")


def test_a_failing_exit_after_the_result_takes_it_back(worker):
    """A status other than 0 after the result is worker_exited."""
    worker.value(1)
    assert ended(worker.session.event("exit_failure")) == EXITED


@pytest.mark.parametrize("more", [b"x", b"\n", b'{"type":"result"}\n', b" "])
def test_bytes_after_the_result_break_the_protocol(worker, more):
    """Nothing may follow the result, in the same read or later."""
    worker.value(1)
    assert ended(worker.session.receive(more, 1.0)) == PROTOCOL


def test_bytes_in_the_same_read_as_the_result_break_the_protocol(worker):
    """A second result in one read is refused too."""
    line = json.dumps(
        {"type": "result", "invocation_id": ID, "ok": True, "value_present": True, "value": 1}
    )
    first, second = worker.session.receive(f"{line}\n{line}\n{line}\n".encode(), 1.0)
    assert first == Settled()
    assert ended([second]) == PROTOCOL


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "mystery"},
        {"type": "execute"},
        {"type": "host_call"},
        {"type": "result", "ok": True, "value_present": True},
        {"type": "result", "ok": True, "value_present": False},
        {"type": "result", "invocation_id": 8, "ok": True, "value_present": True, "value": 1},
        {
            "type": "host_call",
            "invocation_id": 8,
            "call_id": 1,
            "operation": "echo",
            "arguments": 1,
        },
        {"type": "host_call", "call_id": 2, "operation": "echo", "arguments": 1},
        {"type": "host_call", "call_id": 0, "operation": "echo", "arguments": 1},
        {"type": "host_result", "call_id": 1, "ok": True, "value_present": True, "value": 1},
    ],
)
def test_what_is_no_legal_frame_here_breaks_the_protocol(worker, frame):
    """Unknown kinds, our own kinds, wrong ids and contradictions end the run."""
    assert ended(worker.send(**frame)) == PROTOCOL
    assert worker.session.receive(b"more\n", 1.0) == []


def test_a_call_id_twice_breaks_the_protocol(worker):
    """Ids rise by exactly one."""
    worker.call(1)
    assert ended(worker.call(1)) == PROTOCOL


def test_frames_before_execute_break_the_protocol(session):
    """Nothing may be said before the execute frame is handed over."""
    assert ended(Worker(session).value(1)) == PROTOCOL


def test_an_over_long_line_breaks_the_protocol(worker, limits):
    """It is seen without its end."""
    line = b" " * limits["ipc_frame_bytes"]
    assert worker.session.receive(line, 1.0) == []
    assert ended(worker.session.receive(b" ", 1.0)) == PROTOCOL


def test_operations_are_dispatched(worker):
    """A call with legal arguments is dispatched once and answered under its id."""
    assert worker.call(1, "echo", {"a": 1}) == [Dispatch(1, "echo", {"a": 1})]
    assert worker.answer(1, {"a": 1}) == {"a": 1}
    assert worker.session.answer(1, 2, 1.0) == []


def test_an_operation_outside_the_catalogue_ends_the_run(worker):
    """It is terminal, nothing is dispatched, and the name is not echoed."""
    assert ended(worker.call(1, "__proto__")) == {"code": "unknown_operation"}
    assert worker.session.receive(b"more\n", 1.0) == []


def test_arguments_outside_the_schema_are_refused(worker):
    """The reply says so; the slot is free again and the call is charged."""
    refused = {"code": "invalid_arguments", "operation": "count_up"}
    for call_id in range(1, 6):
        assert replied(worker.call(call_id, "count_up", {"n": "x"})) == refused
    assert worker.call(6, "count_up", {"n": 1}) == [Dispatch(6, "count_up", {"n": 1})]


def test_the_call_after_the_last_one_ends_the_run(worker):
    """A frame more than host_calls is terminal."""
    for call_id in range(1, 17):
        worker.call(call_id)
        worker.session.answer(call_id, 1, worker.elapsed_ms)
    assert ended(worker.call(17)) == {"code": "host_calls_limit", "operation": "echo", "limit": 16}


def test_an_unknown_operation_after_the_last_call_is_not_named(worker):
    """The number of calls is looked at first, and a name outside the catalogue is not echoed."""
    for call_id in range(1, 17):
        worker.call(call_id)
        worker.session.answer(call_id, 1, worker.elapsed_ms)
    assert ended(worker.call(17, "secret")) == {"code": "host_calls_limit", "limit": 16}


def test_calls_above_the_concurrency_are_refused_one_by_one(worker):
    """Four are dispatched, the rest gets its code; each of them keeps its id."""
    actions = [worker.call(call_id) for call_id in range(1, 17)]
    assert all(isinstance(action, Dispatch) for (action,) in actions[:4])
    refused = {"code": "host_concurrency_limit", "operation": "echo", "limit": 4}
    assert [replied(action) for action in actions[4:]] == [refused] * 12


def test_a_slot_is_free_before_the_reply_is_written(worker):
    """The next call may follow the reply at once."""
    for call_id in range(1, 5):
        worker.call(call_id)
    worker.answer(2, None)
    assert worker.call(5) == [Dispatch(5, "echo", None)]


def test_a_failed_operation_says_no_more_than_that(worker):
    """Only code and operation cross."""
    worker.call(1)
    reply = replied(worker.session.fail(1, 1.0))
    assert reply == {"code": "operation_failed", "operation": "echo"}
    assert worker.session.fail(1, 1.0) == []


@pytest.mark.parametrize("odd", [float("nan"), b"x", 2**53 + 1, "\ud800", {1: 2}, object()])
def test_a_host_value_that_is_no_json_is_refused(worker, odd):
    """It never enters the worker and is not charged."""
    worker.call(1)
    assert worker.answer(1, odd) == {"code": "host_result_invalid", "operation": "echo"}


def test_host_results_are_limited_each_and_together(worker):
    """Exactly the limit passes; a refused value is not added to the sum."""
    sizes = [65536, 65537, 65536, 65536, 65536, 1]
    replies = []
    for call_id, size in enumerate(sizes, 1):
        worker.call(call_id)
        reply = worker.answer(call_id, "x" * (size - 2) if size > 1 else 1)
        replies.append(reply if isinstance(reply, dict) else len(str(reply)))
    assert replies == [
        65534,
        {"code": "host_result_bytes_limit", "operation": "echo", "measured": 65537, "limit": 65536},
        65534,
        65534,
        65534,
        {
            "code": "cumulative_host_bytes_limit",
            "operation": "echo",
            "measured": 262145,
            "limit": 262144,
        },
    ]


@pytest.mark.parametrize(("times", "measured"), [(30, 6 * 2**30 - 3), (100, 2**53 - 1)])
def test_a_host_value_of_shared_parts_is_refused_by_its_size(worker, times, measured):
    """Its text is never built: it would fill the memory. A frame carries no number above 2**53."""
    value = [1]
    for _ in range(times):
        value = [value, value]
    worker.call(1)
    assert worker.answer(1, value) == {
        "code": "host_result_bytes_limit",
        "operation": "echo",
        "measured": measured,
        "limit": 65536,
    }


def test_nothing_is_answered_after_the_result(worker):
    """A late value leads to nothing."""
    worker.call(1)
    worker.value(1)
    assert worker.session.answer(1, 1, 1.0) == []
    assert worker.session.fail(1, 1.0) == []


def test_nothing_is_dispatched_or_answered_after_the_wall_time(worker):
    """Between deadline and kill the parent does no more work."""
    worker.call(1)
    worker.elapsed_ms = 10000.5
    assert worker.call(2) == []
    assert worker.session.answer(1, 1, worker.elapsed_ms) == []


def test_a_call_that_comes_too_late_keeps_no_slot(worker, limits):
    """It is dropped, and so are all after it: none of them is told of a concurrency limit."""
    worker.elapsed_ms = 10000.5
    for call_id in range(1, limits["concurrent_host_calls"] + 2):
        assert worker.call(call_id) == []


def test_a_success_after_the_wall_time_is_too_late(worker):
    """It becomes deadline_exceeded; one at the wall time counts."""
    worker.elapsed_ms = 10000.5
    worker.value(1)
    late = {"code": "deadline_exceeded", "limit": 10000}
    assert ended(worker.session.event("exit_zero")) == late


def test_the_final_value_is_measured_again(worker):
    """A worker that sends too much is refused with the measured size."""
    worker.value("x" * 49151)
    assert ended(worker.session.event("exit_zero")) == {
        "code": "final_result_bytes_limit",
        "measured": 49153,
        "limit": 49152,
    }


def test_a_program_without_a_value_succeeds_where_that_is_legal(limits, operations, profile):
    """The presence bit tells it from null."""
    tables = load_tables()
    rules = frame_rules(tables, profile)
    rules["alternatives"]["undefined_result"] = "absent"
    session = Session(ID, limits, Catalogue(operations), tables.endpoints["parent"], rules)
    session.event("execute_sent")
    Worker(session).result(ok=True, value_present=False)
    assert session.event("exit_zero") == [End(Success(value_present=False))]


def test_an_error_that_was_sent_ends_the_run_under_its_code(worker):
    """An uncaught host error keeps its code; an invented one does not."""
    worker.call(1)
    worker.session.fail(1, 1.0)
    worker.error(code="operation_failed", operation="echo")
    failed = {"code": "operation_failed", "operation": "echo"}
    assert ended(worker.session.event("exit_zero")) == failed


def test_an_error_that_was_not_sent_is_the_programs_own(worker):
    """The worker's word alone selects no code."""
    worker.error(code="operation_failed", operation="echo")
    rejected = {"code": "code_rejected", "reason": "uncaught"}
    assert ended(worker.session.event("exit_zero")) == rejected


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        ("exit_zero", PROTOCOL),
        ("exit_failure", EXITED),
        ("deadline", {"code": "deadline_exceeded", "limit": 10000}),
        ("cancel", {"code": "cancelled"}),
    ],
)
def test_endings_without_a_result(worker, event, outcome):
    """Each end has its code, and nothing follows it."""
    assert ended(worker.session.event(event)) == outcome
    assert worker.session.event("exit_failure") == []


def test_a_partial_line_does_not_change_the_end(worker):
    """An exit decides, whatever was begun."""
    assert worker.session.receive(b'{"type":"resu', 1.0) == []
    assert ended(worker.session.event("exit_failure")) == EXITED


def test_a_worker_that_closes_its_output_gets_time_to_exit(worker):
    """Its status decides; without one it broke the protocol."""
    assert worker.session.event("stdout_eof") == [Closed()]
    assert worker.session.event("stdout_eof") == []
    assert ended(worker.session.event("exit_wait_over")) == PROTOCOL


def test_a_start_that_takes_too_long_breaks_the_protocol(session):
    """The execute frame must be handed over in time; a deadline is none before."""
    assert session.event("deadline") == []
    assert ended(session.event("start_timeout")) == PROTOCOL
