"""The tracer: nothing is too short for it, it disturbs nothing, and what it cannot do it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from codemode_conformance.evidence import Fact, State
from codemode_conformance.tracing import tracer as tracing
from codemode_conformance.tracing.tracer import Tracer, obstacle, reason
from codemode_conformance.watch import Watch, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from codemode_conformance.tracing.tracer import Traced

PYTHON = [sys.executable, "-I", "-S", "-c"]
WAIT = "import os,sys,subprocess,signal,time,ctypes\nsys.stdin.readline()\n"
traced = pytest.mark.skipif(bool(obstacle()), reason=f"no tracing here: {obstacle()}")
"""Where it is not permitted the tests of the way back to level B say all there is to say."""


class Followed:
    """A process that waits for a line, and is followed from before it does anything."""

    def __init__(self, code: str) -> None:
        self.tracer = Tracer()
        self.process = subprocess.Popen(
            self.tracer.naming([*PYTHON, WAIT + code]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.tracer.seize(self.process.pid), self.tracer.lost
        self.tracer.begin()

    def go(self, text: str = "") -> str:
        """Let it go on, to its end: what it printed."""
        output, _ = self.process.communicate(f"go {text}\n", 60)
        return output

    def seen(self) -> list[Traced]:
        """All but the first."""
        assert self.tracer.sync(), self.tracer.lost
        return [one for one in self.tracer.seen() if one.pid != self.process.pid]

    def end(self) -> None:
        """Of both."""
        self.tracer.close()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def follow() -> Iterator[Callable[[str], Followed]]:
    """`follow(code)`: a process that is followed."""
    there: list[Followed] = []

    def begin(code: str) -> Followed:
        there.append(Followed(code))
        return there[-1]

    yield begin
    for one in there:
        one.end()


@traced
def test_processes_that_live_for_no_time_are_seen(follow) -> None:
    """A look every millisecond would miss most of a hundred that end at once."""
    followed = follow("for _ in range(100):\n if os.fork() == 0: os._exit(3)\n os.wait()\n")
    followed.go()
    seen = followed.seen()
    assert len({one.identity for one in seen}) == 100
    assert [one.status for one in seen] == [3 << 8] * 100
    assert {one.parent for one in seen} == {followed.process.pid}


@traced
def test_a_process_that_left_its_family_at_once_is_seen(follow) -> None:
    """Forked twice, in a session of its own, its first parent gone."""
    followed = follow(
        "if os.fork() == 0:\n"
        " os.setsid()\n"
        " if os.fork() == 0:\n"
        "  os.execve('/proc/self/exe', ['grandchild', '-I', '-S', '-c', ''], {})\n"
        " os._exit(0)\n"
        "os.wait()\n"
    )
    followed.go()
    until = time.monotonic() + 30
    while not (there := [one for one in followed.seen() if one.words[:1] == ("grandchild",)]):
        assert time.monotonic() < until
    assert len(followed.seen()) == 2
    assert there[0].loads == 1


@traced
def test_what_a_process_is_given_is_read_as_it_is_loaded(follow, tmp_path: Path) -> None:
    """Names of variables and no value, directory, descriptors; it has no time to hide them."""
    code = (
        "reading, writing = os.pipe()\n"
        f"subprocess.run(['/proc/self/exe', '-I', '-S', '-c', ''], env={{'TOKEN': 'secret'}},"
        f" cwd={str(tmp_path)!r}, pass_fds=[writing])\n"
    )
    followed = follow(code)
    followed.go()
    (one,) = followed.seen()
    assert one.command == "/proc/self/exe -I -S -c"
    assert (one.variables, one.directory) == (["TOKEN"], str(tmp_path))
    assert one.opened is not None
    assert [(it.name[:5], it.ways) for it in one.opened if it.number > 2] == [("pipe:", "w")]
    assert one.peak_bytes > 1 << 20
    assert one.status == 0


@traced
def test_threads_are_no_processes_and_their_children_are_seen(follow) -> None:
    """A fork of any thread is one of its process."""
    code = (
        "import threading\n"
        "def work():\n"
        " if os.fork() == 0: os._exit(0)\n"
        " os.wait()\n"
        "for _ in range(5):\n t = threading.Thread(target=work); t.start(); t.join()\n"
    )
    followed = follow(code)
    followed.go()
    assert [one.parent for one in followed.seen()] == [followed.process.pid] * 5


@traced
def test_ends_signals_and_stops_are_as_without_a_tracer(follow) -> None:
    """A parent sees the exit status, the signal, a stop and a continuation of its child."""
    code = (
        "def child(do):\n"
        " pid = os.fork()\n"
        " if pid == 0:\n"
        "  do(); os._exit(9)\n"
        " return pid\n"
        "me = os.getpid\n"
        "print(os.waitpid(child(lambda: os._exit(5)), 0)[1])\n"
        "print(os.waitpid(child(lambda: os.kill(me(), signal.SIGTERM)), 0)[1])\n"
        "print(os.waitpid(child(lambda: os.kill(me(), signal.SIGKILL)), 0)[1])\n"
        "pid = child(lambda: os.kill(me(), signal.SIGSTOP))\n"
        "print(os.WSTOPSIG(os.waitpid(pid, os.WUNTRACED)[1]))\n"
        "os.kill(pid, signal.SIGCONT)\n"
        "print(os.waitpid(pid, 0)[1])\n"
        "heard = []\n"
        "signal.signal(signal.SIGUSR1, lambda n, f: heard.append(n))\n"
        "os.kill(me(), signal.SIGUSR1)\n"
        "print(heard == [signal.SIGUSR1])\n"
        "fd = os.pidfd_open(child(lambda: time.sleep(0.05)))\n"
        "import select; select.select([fd], [], [])\n"
        "print(os.waitid(os.P_PIDFD, fd, os.WEXITED | os.WNOHANG) is not None)\n"
    )
    lines = follow(code).go().split()
    stop, true = str(int(signal.SIGSTOP)), "True"
    assert lines == ["1280", str(int(signal.SIGTERM)), "9", stop, "2304", true, true]


@traced
def test_the_tracer_reaps_nothing(follow) -> None:
    """A child that nobody waited for is there as a zombie until its parent waits."""
    code = (
        "pid = os.fork()\n"
        "if pid == 0: os._exit(4)\n"
        "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)\n"
        "print(open(f'/proc/{pid}/stat').read().split()[2])\n"
        "print(os.waitpid(pid, 0)[1])\n"
    )
    assert follow(code).go().split() == ["Z", "1024"]


@traced
def test_what_it_followed_runs_on_when_the_tracer_is_killed(follow) -> None:
    """And the evidence says that it is no longer of level A."""
    followed = follow("time.sleep(0.2)\nprint(os.fork() == 0 or os.wait()[1] + 7)\n")
    os.kill(followed.tracer.pid, signal.SIGKILL)
    assert "7" in followed.go().split()
    assert not followed.tracer.sync()
    assert followed.tracer.lost == "the tracer has ended"


@traced
def test_a_tracer_that_stands_still_is_ended(follow, monkeypatch) -> None:
    """A hostile target may stop it; what it holds would never end."""
    followed = follow("print(os.fork() == 0 or os.wait()[1] + 7)\n")
    monkeypatch.setattr(tracing, "ANSWER_SECONDS", 0.3)
    os.kill(followed.tracer.pid, signal.SIGSTOP)
    assert not followed.tracer.sync()
    assert followed.tracer.lost == "the tracer did not answer"
    assert "7" in followed.go().split()


@traced
def test_a_tracer_ends_with_its_harness() -> None:
    """Whatever way the harness goes: the end of its input ends it."""
    code = (
        "import os, sys, time\n"
        "from codemode_conformance.tracing.tracer import Tracer\n"
        "print(Tracer().pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    pid = int(done.stdout)
    until = time.monotonic() + 30
    while _tracer(pid):
        assert time.monotonic() < until
        time.sleep(0.01)


def _tracer(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return b"program.py" in file.read()
    except OSError:
        return False


@traced
def test_a_process_that_is_traced_already_is_refused(follow) -> None:
    """With the reason, and the first tracer keeps it."""
    followed = follow("print(1)\n")
    with Tracer() as second:
        assert not second.seize(followed.process.pid)
        assert second.lost == f"it is traced already, by process {followed.tracer.pid}"
    assert followed.go() == "1\n"
    assert followed.tracer.sync()


@traced
def test_a_process_that_is_not_there_is_refused() -> None:
    """It may have ended before anybody followed it."""
    with Tracer() as tracer:
        assert not tracer.seize(4_194_303)
        assert tracer.lost == "it may not be traced: No such process"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"refused": "no", "tracer": 0, "yama": 2}, "kernel.yama.ptrace_scope is 2"),
        ({"refused": "no", "tracer": 0, "yama": None, "filtered": True}, "a filter of system"),
        ({"refused": "no", "tracer": 0, "yama": 1, "filtered": False}, "it may not be traced: no"),
        ({"refused": "no", "tracer": 5, "yama": 2, "filtered": True}, "it is traced already"),
    ],
)
def test_the_reason_of_a_refusal_is_told(answer: dict[str, object], text: str) -> None:
    """Yama, a container, another tracer."""
    assert reason(answer).startswith(text)


def test_where_yama_asks_for_it_a_process_names_its_tracer(monkeypatch, tmp_path) -> None:
    """And then it is what it was to be, with the same words and the same pid."""
    scope = tmp_path / "scope"
    scope.write_text("1\n", encoding="ascii")
    monkeypatch.setattr(tracing, "_YAMA", scope)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with Tracer() as tracer:
        words = tracer.naming([*PYTHON, "import os,sys;print(os.getpid(), sys.argv)", "a b", ""])
        assert str(tracer.pid) in words
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            output, _ = process.communicate(timeout=60)
    assert output == f"{process.pid} ['-c', 'a b', '']\n"


@pytest.mark.skipif(not visible(), reason="no /proc")
def test_without_its_tracer_a_watch_is_of_level_b(follow_or_not) -> None:
    """What was seen by looking still counts, and the reason is told."""
    watch = follow_or_not("it may not be traced: no")
    assert watch.level == ("B", "it may not be traced: no")
    watch = Watch(os.getpid(), "x$")
    watch.stop()
    assert watch.level == ("B", "no tracer was used")


@pytest.fixture
def follow_or_not() -> Iterator[Callable[[str], Watch]]:
    """`follow_or_not(reason)`: a watch over this process whose tracer was refused."""
    there: list[tuple[Tracer, Watch]] = []

    def begin(why: str) -> Watch:
        tracer = Tracer()
        tracer.lost = why
        there.append((tracer, Watch(os.getpid(), "no-such-process$", tracer)))
        return there[-1][1]

    yield begin
    for tracer, watch in there:
        watch.stop()
        tracer.close()


@traced
def test_a_worker_too_short_for_a_look_is_judged(follow) -> None:
    """The facts are of level A: a variable that was there for a moment is told."""
    followed = follow(
        "subprocess.run([sys.executable, '-I', '-S', '-c', '', 'a-short-worker'],"
        " env={'TOKEN': 'x'}, cwd='/')\nsys.stdin.readline()\n"
    )
    watch = Watch(followed.process.pid, "a-short-worker$", followed.tracer)
    watch.stop()  # nothing is looked at: what follows is known from the tracer alone
    assert followed.process.stdin is not None
    followed.process.stdin.write("go\n")
    followed.process.stdin.flush()
    until = time.monotonic() + 30
    facts: dict[str, Fact] = {}
    while "empty_environment" not in facts:
        assert time.monotonic() < until
        facts = {fact.name: fact for fact in watch.facts(set(), 64 << 20)}
    assert watch.level == ("A", "")
    assert facts["empty_environment"].state is State.BROKEN
    assert facts["empty_environment"].detail == "TOKEN"
    assert facts["memory_peak"].state is State.HOLDS
    assert facts["own_directory"].state is State.HOLDS
