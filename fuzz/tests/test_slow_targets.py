"""Workers and programs: each oracle can fail, whatever the process under test says."""

import sys
from random import Random

import pytest
from codemode_fuzz.finding import Finding
from codemode_fuzz.program.oracle import check_program, lane
from codemode_fuzz.spelling import spell
from codemode_fuzz.worker.making import execute
from codemode_fuzz.worker.oracle import check_worker
from codemode_fuzz.worker.talking import Said, talk
from codemode_reference import Failure, Success
from codemode_reference.errors import failure

EXECUTE = spell(execute(Random(3)) | {"source": "return await codemode.add({})"})
CALL = b'{"type":"host_call","invocation_id":7,"call_id":1,"operation":"add","arguments":{}}\n'
REPLY = (
    b'{"type":"host_result","invocation_id":7,"call_id":1,"ok":true,"value_present":true,"value":2}'
)
RESULT = b'{"type":"result","invocation_id":7,"ok":true,"value_present":true,"value":2}\n'
STREAM = EXECUTE + b"\n" + REPLY
LIMIT = execute(Random(3))["limits"]["host_calls"]


def says(output, status=0, told=2):
    """A worker that says this, whatever it is told."""
    return lambda lines: Said(output, status, told)


def calls(number):
    """So many calls."""
    return b"".join(CALL.replace(b'"call_id":1', b'"call_id":%d' % n) for n in range(1, number + 1))


@pytest.mark.parametrize(
    ("data", "worker", "name"),
    [
        (STREAM, says(CALL + RESULT, None), "exit"),
        (STREAM, says(CALL + RESULT, 1), "exit"),
        (STREAM, says(CALL + RESULT, 3), "exit"),
        (STREAM, says(CALL, 3), "exit"),
        (EXECUTE + b"\n{}", says(CALL, 0), "exit"),
        (b"{}", says(b"", 0, 1), "exit"),
        (b"{}", says(RESULT, 3, 1), "silence"),
        (STREAM, says(CALL + RESULT[:-1]), "output"),
        (STREAM, says(CALL + b"hello\n" + RESULT), "output"),
        (STREAM, says(CALL + RESULT + RESULT), "output"),
        (STREAM, says(CALL + CALL + RESULT), "output"),
        (STREAM, says(CALL + RESULT.replace(b":7", b":8")), "output"),
        (STREAM, says(b" " * 80_000 + b"\n"), "output"),
        (STREAM, says(calls(LIMIT + 1) + RESULT, 0, 1), "budget"),
    ],
)
def test_a_broken_worker_is_found(data, worker, name):
    """The oracle that the fault breaks names it; the real worker passes."""
    check_worker(data)
    with pytest.raises(Finding) as caught:
        check_worker(data, worker)
    assert caught.value.oracle == name


def test_a_worker_is_told_a_line_for_each_of_its_own():
    """What it wrote comes back whole, and its input ends with the lines."""
    said = talk([EXECUTE, REPLY])
    assert (said.output, said.status, said.told) == (CALL + RESULT, 0, 2)
    assert talk([EXECUTE]).output == CALL
    assert talk([b"x", REPLY]) == Said(b"", 3, 1)


def test_a_worker_that_lives_on_is_killed(monkeypatch):
    """It has its time and no more."""
    monkeypatch.setattr("codemode_fuzz.worker.talking.SECONDS", 0.3)
    words = (sys.executable, "-c", "import time; time.sleep(60)")
    assert talk([b"x"], words).status is None


def of(outcome):
    """A run that ends like this."""
    return lambda source: outcome


def raising(source):
    """An exception of its own."""
    raise KeyError(source)


@pytest.mark.parametrize(
    ("text", "run", "name"),
    [
        ("return 1", raising, "exception"),
        ("return 1", of(Success(value_present=False)), "outcome"),
        ("return 1", of(Success(True, "x" * 50_000)), "budget"),
        ("return 1", of(failure("worker_protocol_error")), "outcome"),
        ("return 1", of(failure("internal_error")), "verdict"),
        ("return 1", of(Failure("cancelled", "other words")), "verdict"),
        (
            "return 1",
            of(failure("code_rejected", reason="uncaught", detail="canary-in-the-parent-51c9")),
            "canary",
        ),
        ("//= [1, null]\nreturn [1, null]", of(Success(True, [True, None])), "value"),
        ("//= 1\nreturn 1", of(failure("code_rejected", reason="uncaught")), "value"),
    ],
)
def test_a_broken_boundary_is_found(text, run, name):
    """The oracle that the fault breaks names it; the reference passes the same program."""
    check_program(text.encode())
    with pytest.raises(Finding) as caught:
        check_program(text.encode(), run)
    assert caught.value.oracle == name


def test_calls_are_counted(monkeypatch):
    """More than the policy allows is a finding."""
    check_program(b"return codemode.echo({ a: 1 })")
    monkeypatch.setattr(lane(), "calls", 17)
    with pytest.raises(Finding) as caught:
        check_program(b"return 1", of(Success(True, 1)))
    assert caught.value.oracle == "budget"


def test_a_slow_outcome_is_found(monkeypatch):
    """Long after the deadline."""
    monkeypatch.setattr("codemode_fuzz.program.oracle._SLACK_SECONDS", -2.0)
    with pytest.raises(Finding) as caught:
        check_program(b"return 1", of(Success(True, 1)))
    assert caught.value.oracle == "time"
    # What no machine was fast enough for says nothing of the value.
    monkeypatch.setattr("codemode_fuzz.program.oracle._SLACK_SECONDS", 6.0)
    check_program(b"//= 1\nfor (;;) {}", of(failure("deadline_exceeded", limit=1)))
    check_program(b"//= {\nreturn 1", of(Success(True, 2)))
