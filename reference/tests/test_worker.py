"""The worker by itself: we are its parent and speak frames."""

import json
import subprocess
import sys

import pytest
from codemode_reference.bundle import worker_program
from codemode_spec.tables import DEFAULT_PROFILE


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The worker's file."""
    path = tmp_path_factory.mktemp("worker") / "worker.pyc"
    path.write_bytes(worker_program(DEFAULT_PROFILE))
    return path


@pytest.fixture
def start(program):
    """Start a worker as its parent would."""
    started = []

    def begin():
        worker = subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            start_new_session=True,
        )
        started.append(worker)
        return worker

    yield begin
    for worker in started:
        worker.kill()
        worker.communicate()


@pytest.fixture
def execute(limits, profile):
    """A legal execute frame."""
    return {
        "type": "execute",
        "v": 1,
        "invocation_id": 7,
        "source": "return 1",
        "limits": {name: limits[name] for name, row in profile.rows.items() if row.in_execute},
        "alternatives": {"script_style": "async"},
        "operations": [{"name": "echo", "method": "echo", "effect": "read"}],
    }


def line(frame):
    """A frame as bytes."""
    return json.dumps(frame).encode() + b"\n"


def test_a_program_runs_to_its_result(start, execute):
    """One compact line, nothing on stderr, status 0."""
    worker = start()
    worker.stdin.write(line(execute))
    worker.stdin.flush()
    assert worker.stdout.read() == (
        b'{"type":"result","invocation_id":7,"ok":true,"value_present":true,"value":1}\n'
    )
    assert worker.stderr.read() == b""
    assert worker.wait(10) == 0


def test_calls_and_replies_go_back_and_forth(start, execute):
    """A call has the next id and raw UTF-8; its reply settles it."""
    worker = start()
    worker.stdin.write(line({**execute, "source": "return await codemode.echo('é')"}))
    worker.stdin.flush()
    assert (
        worker.stdout.readline()
        == (
            '{"type":"host_call","invocation_id":7,"call_id":1,"operation":"echo","arguments":"é"}\n'
        ).encode()
    )
    reply = {
        "type": "host_result",
        "invocation_id": 7,
        "call_id": 1,
        "ok": True,
        "value_present": True,
        "value": "\u2028\U0001f600",
    }
    worker.stdin.write(line(reply))
    worker.stdin.flush()
    assert json.loads(worker.stdout.readline())["value"] == "\u2028\U0001f600"
    assert worker.wait(10) == 0


def test_the_deadline_is_the_workers_own_too(start, execute):
    """It says so before any parent has to kill it."""
    worker = start()
    limits = {**execute["limits"], "wall_time_ms": 100}
    worker.stdin.write(line({**execute, "source": "for (;;);", "limits": limits}))
    worker.stdin.flush()
    assert json.loads(worker.stdout.read())["error"] == {"code": "deadline_exceeded", "limit": 100}


def test_a_source_above_its_limit_is_refused_again(start, execute):
    """The worker trusts no earlier check."""
    worker = start()
    limits = {**execute["limits"], "source_bytes": 7}
    worker.stdin.write(line({**execute, "limits": limits}))
    worker.stdin.flush()
    assert json.loads(worker.stdout.read())["error"] == {
        "code": "source_bytes_limit",
        "measured": 8,
        "limit": 7,
        "counted": "utf8",
    }


BAD = [
    b"\n",
    b"{bad\n",
    b"\xff\n",
    b"x" * 73729,
    b'{"type":"mystery"}\n',
    b'{"type":"host_call","invocation_id":7,"call_id":1,"operation":"a","arguments":1}\n',
    b'{"type":"host_result","invocation_id":7,"call_id":1,"ok":true,"value_present":true,"value":1}\n',
]


@pytest.mark.parametrize("data", BAD)
def test_a_bad_frame_ends_the_worker_without_a_word(start, data):
    """Status 3, nothing written."""
    worker = start()
    worker.stdin.write(data)
    worker.stdin.flush()
    assert (worker.stdout.read(), worker.stderr.read(), worker.wait(10)) == (b"", b"", 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 2},
        {"extra": 1},
        {"limits": {}},
        {"alternatives": {"script_style": "sync"}},
        {"invocation_id": 0},
    ],
)
def test_an_execute_frame_outside_the_rules_is_a_bad_frame(start, execute, changes):
    """Version, limits and alternatives are the worker's own to check."""
    worker = start()
    worker.stdin.write(line({**execute, **changes}))
    worker.stdin.flush()
    assert (worker.stdout.read(), worker.wait(10)) == (b"", 3)


def test_limits_are_checked_against_the_maxima(start, execute, profile):
    """A parent cannot hand out more than the table allows."""
    worker = start()
    most = profile.rows["memory_bytes"].absolute_maximum
    limits = {**execute["limits"], "memory_bytes": most + 1}
    worker.stdin.write(line({**execute, "limits": limits}))
    worker.stdin.flush()
    assert (worker.stdout.read(), worker.wait(10)) == (b"", 3)


@pytest.mark.parametrize("more", [b"{bad\n", b'{"type":"mystery"}\n', b"execute"])
def test_a_bad_frame_ends_a_busy_worker(start, execute, more):
    """The engine may be in the middle of an endless loop."""
    worker = start()
    data = line({**execute, "source": "for (;;);"})
    worker.stdin.write(data)
    worker.stdin.write(data if more == b"execute" else more)
    worker.stdin.flush()
    assert (worker.stdout.read(), worker.wait(1.5)) == (b"", 3)


@pytest.mark.parametrize("source", [None, "for (;;);", "await codemode.echo(1)"])
def test_the_end_of_input_ends_the_worker(start, execute, source):
    """Waiting, busy or in a call: without a parent there is nothing to do."""
    worker = start()
    if source:
        worker.stdin.write(line({**execute, "source": source}))
        worker.stdin.flush()
    if source == "await codemode.echo(1)":
        worker.stdout.readline()
    worker.stdin.close()
    worker.stdin = None
    assert worker.wait(1.5) == 0
