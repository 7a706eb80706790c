"""Workers that break every rule: the parent answers once, and goes on.

The worker here runs its source as Python, so one parent meets hostile and healthy workers.
"""

import contextlib
import os
import select
import sys
from pathlib import Path

import pytest
from codemode_reference import Failure, Success

FAKE = """
import json, os, signal, subprocess, sys, time
frame = json.loads(sys.stdin.buffer.readline())
ID = frame["invocation_id"]
def write(data):
    while data: data = data[os.write(1, data):]
def send(**fields):
    write(json.dumps({"invocation_id": ID, **fields}).encode() + b"\\n")
def call(n, operation="echo", arguments=None):
    send(type="host_call", call_id=n, operation=operation, arguments=arguments)
def result(value):
    send(type="result", ok=True, value_present=True, value=value)
def error(**fields):
    send(type="result", ok=False, value_present=False, error=fields)
def reply():
    found = json.loads(sys.stdin.buffer.readline())
    return found.get("value", found.get("error"))
def sleep():
    signal.pause()
exec(frame["source"])
"""
PYTHON = [sys.executable, "-I", "-S", "-c"]


@pytest.fixture
def meet(using):
    """`meet(source, row=value, ...)`: the outcome with a fake worker, then a healthy one."""

    def invoke(source, **rows):
        async def story(parent):
            before = descriptors()
            outcome = await parent.invoke(source)
            stats = parent.last_stats
            assert await parent.invoke("result(1)") == Success(True, 1)
            # What the background opens while it removes a directory is closed by now.
            assert_tidy(parent)
            assert descriptors() == before
            return outcome, stats

        return using(story, command=[*PYTHON, FAKE], **rows)

    return invoke


def assert_tidy(parent):
    """No directory of a worker is left once the background has done its work."""
    parent._workers._janitor.submit(int).result()
    assert not list(parent._scratch.path.iterdir())


def descriptors():
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def code_of(outcome):
    """The code of a failure."""
    assert isinstance(outcome, Failure), outcome
    return outcome.code


PROTOCOL = [
    'write(b\'{"type":"result",\')',
    "write(b'[db] connected\\n'); result(1)",
    "write(b'\\n')",
    "write(b'\\r\\n')",
    "write(b'\\xef\\xbb\\xbf{}\\n'); sleep()",
    'write(b\'{"t":"\\xff\\xfe"}\\n\'); sleep()',
    'write(b\'{"type":"mystery"}\\n\'); sleep()',
    "write(b'x' * 73729); sleep()",
    "write(b'9' * 5000 + b'\\n'); sleep()",
    "write(b'[' * 70000 + b'\\n'); sleep()",
    "call(2); sleep()",
    "call(1); call(1); sleep()",
    "call(True); sleep()",
    "send(type='host_call', invocation_id=1, call_id=1, operation='echo', arguments=1); sleep()",
    "result(1); result(2)",
    "result(1); call(1)",
    "result(1); write(b'x')",
    "send(type='result', ok=True, value_present=True)",
    "send(type='result', ok=True, value_present=False)",
    "send(type='result', ok=True, value_present=False, value=1)",
    "send(type='result', ok=True, value_present=True, value=1, error={})",
    "error(code='cancelled')",
    "error(code='code_rejected', reason='uncaught', message='x')",
    "send(type='execute')",
    "pass",
    "os._exit(0)",
    "write(b'{bad\\n'); os._exit(3)",
]


@pytest.mark.parametrize("source", PROTOCOL)
def test_broken_frames_are_protocol_errors(meet, source):
    """Whatever is no legal frame at its place, and an exit without a result."""
    assert code_of(meet(source)[0]) == "worker_protocol_error"


EXITS = [
    "os._exit(3)",
    "os.kill(os.getpid(), signal.SIGKILL)",
    "os.abort()",
    'write(b\'{"type":"resu\'); os._exit(1)',
    "result(1); os._exit(1)",
    "result(1); os.kill(os.getpid(), signal.SIGSEGV)",
    "os.close(1); os._exit(2)",
    "call(1); os._exit(9)",
]


@pytest.mark.parametrize("source", EXITS)
def test_failing_exits_are_worker_exited(meet, source):
    """A status or a signal, before the result or right after it."""
    assert code_of(meet(source)[0]) == "worker_exited"


def test_a_worker_that_closes_its_output_and_stays_breaks_the_protocol(meet):
    """It gets exit_wait_ms, not the whole deadline."""
    assert code_of(meet("os.close(1); sleep()", exit_wait_ms=50)[0]) == "worker_protocol_error"


KEPT = [
    "result(7); sleep()",
    "result(7); signal.signal(signal.SIGTERM, signal.SIG_IGN); sleep()",
    "result(7); os.kill(os.getpid(), signal.SIGSTOP)",
    "result(7); subprocess.Popen(['/bin/sleep', '60'])",
    "subprocess.Popen(['/bin/sleep', '60']); result(7)",
    "result(7); os.close(1)",
    "os.write(2, b'noise'); result(7)",
    (
        "line = {'type': 'result', 'invocation_id': ID, 'ok': True, 'value_present': True, "
        "'value': 7}; [write(bytes([b])) for b in json.dumps(line).encode() + b'\\n']"
    ),
    "write(b'  '); result(7)",
]


@pytest.mark.parametrize("source", KEPT)
def test_a_valid_result_stands(meet, source):
    """However the worker or its children linger, the value arrives."""
    assert meet(source, exit_wait_ms=100)[0] == Success(True, 7)


def test_a_result_is_decoded_as_utf8(meet):
    """Raw text of any length in bytes arrives."""
    source = 'write((\'{"type":"result","invocation_id":%d,"ok":true,\' % ID).encode() + '
    source += '\'"value_present":true,"value":"é漢🚀"}\'.encode() + b\'\\n\')'
    assert meet(source)[0] == Success(True, "é漢🚀")


STUCK = [
    "sleep()",
    "os.kill(os.getpid(), signal.SIGSTOP)",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); sleep()",
    "subprocess.Popen(['/bin/sleep', '60']); sleep()",
    "[call(n, 'value', {'is': 'x' * 60000}) for n in range(1, 5)]; sleep()",
    "call(1, 'never'); sleep()",
    "while True: os.write(2, b'x' * 65536)",
]


@pytest.mark.parametrize("source", STUCK)
def test_stuck_workers_are_killed_after_the_deadline(meet, source):
    """Stopped, deaf or flooding: the deadline ends them."""
    outcome, _ = meet(source, wall_time_ms=500, kill_grace_ms=50)
    assert dict(outcome.fields) == {"limit": 500}
    assert outcome.code == "deadline_exceeded"


def test_stderr_is_counted_and_forgotten(meet):
    """A flood neither blocks the worker nor appears anywhere."""
    outcome, stats = meet("[os.write(2, b'canary' * 10000) for _ in range(40)]; result(1)")
    assert outcome == Success(True, 1)
    assert (stats.stderr_bytes, stats.stderr_truncated) == (8192, True)


def test_little_stderr_is_not_truncated(meet):
    """The count is exact up to the limit."""
    outcome, stats = meet("os.write(2, b'x' * 8192); os.close(2); call(1); result(reply())")
    assert outcome == Success(True, None)
    assert (stats.stderr_bytes, stats.stderr_truncated) == (8192, False)


def test_a_flood_of_calls_is_bounded(meet):
    """At most host_calls frames are served; one more is terminal and names the operation."""
    outcome, stats = meet("[call(n, 'never') for n in range(1, 201)]; sleep()")
    assert outcome.to_json()["code"] == "host_calls_limit"
    assert outcome.fields == {"operation": "never", "limit": 16}
    assert stats.frames == 17


def test_an_operation_outside_the_catalogue_is_terminal(meet):
    """Nothing privileged runs and the name is not echoed."""
    outcome, _ = meet("call(1, '__proto__'); sleep()")
    assert outcome.to_json() == {
        "code": "unknown_operation",
        "message": "there is no such operation",
    }


def test_replies_reach_the_worker(meet):
    """Values, refusals and failures come back under their ids."""
    source = (
        "call(1, 'echo', 'é'); a = reply(); call(2, 'fail'); b = reply(); "
        "call(3, 'count_up', {}); c = reply(); result([a, b, c])"
    )
    assert meet(source)[0].value == [
        "é",
        {"code": "operation_failed", "operation": "fail"},
        {"code": "invalid_arguments", "operation": "count_up"},
    ]


def test_only_a_code_that_was_sent_is_believed(meet):
    """The worker repeats what it got, or it is not believed."""
    sent = "call(1, 'fail'); e = reply(); error(**e)"
    assert meet(sent)[0].to_json()["code"] == "operation_failed"
    forged = meet("error(code='operation_failed', operation='fail')")[0]
    assert forged.to_json()["reason"] == "uncaught"


def test_a_worker_that_never_reads_is_stopped_in_time(using):
    """The execute frame must be handed over within start_timeout_ms."""

    async def story(parent):
        # More than a pipe holds: every quote takes two bytes in the frame.
        outcome = await parent.invoke('"' * 32768)
        assert code_of(outcome) == "worker_protocol_error"

    using(story, command=[*PYTHON, "import signal; signal.pause()"], start_timeout_ms=500)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("import os; os._exit(5)", "worker_exited"),
        ("pass", "worker_protocol_error"),
        ("import os; os.close(0); os._exit(5)", "worker_exited"),
        ("import signal, os; os.close(0); signal.pause()", "deadline_exceeded"),
    ],
)
def test_a_worker_that_does_not_take_its_frame(using, script, code):
    """Its end is told by its exit or by a timer."""

    async def story(parent):
        outcome = await parent.invoke("x")
        assert code_of(outcome) in (code, "worker_protocol_error" if "pause" in script else code)

    using(story, command=[*PYTHON, script], wall_time_ms=500, start_timeout_ms=800)


@pytest.mark.parametrize("command", [["/nonexistent/worker"], ["/etc/passwd"], ["/"]])
def test_a_worker_that_cannot_be_started(using, command):
    """Missing, not executable, a directory: worker_start_failed, every time, nothing kept."""

    async def story(parent):
        before = descriptors()
        for _ in range(3):
            outcome = await parent.invoke("return 1")
            assert outcome.to_json() == {
                "code": "worker_start_failed",
                "message": "the worker could not be started",
            }
        assert descriptors() == before
        assert_tidy(parent)

    using(story, command=command)


def test_children_of_the_worker_die_with_it(using, tmp_path):
    """What the worker started in its group is killed before it is reaped."""
    note = tmp_path / "pid"

    async def story(parent):
        source = (
            "p = subprocess.Popen(['/bin/sleep', '60']); "
            f"open({str(note)!r}, 'w').write(str(p.pid)); result(1)"
        )
        assert await parent.invoke(source) == Success(True, 1)

    using(story, command=[*PYTHON, FAKE])
    with contextlib.suppress(ProcessLookupError):
        child = os.pidfd_open(int(note.read_text()))
        ended, _, _ = select.select([child], [], [], 10)
        os.close(child)
        assert ended


def test_what_a_worker_leaves_in_its_directory_is_removed(meet, tmp_path):
    """Links are removed, never followed."""
    (tmp_path / "precious").write_text("kept")
    source = (
        "os.makedirs('a/b/c'); open('a/b/f', 'w').close(); "
        f"os.symlink({str(tmp_path)!r}, 'a/link'); "
        "os.symlink('.', 'self'); os.mkfifo('pipe'); result(1)"
    )
    assert meet(source)[0] == Success(True, 1)
    assert (tmp_path / "precious").read_text() == "kept"
