"""The watch over worker processes: every fact can hold, and each can be broken."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from codemode_conformance import watch
from codemode_conformance.descriptors import Held, Opened
from codemode_conformance.evidence import State
from codemode_conformance.processtable import read_entry
from codemode_conformance.tracing.tracer import Traced, Tracer, obstacle
from codemode_conformance.watch import OVERHEAD_BYTES, Watch, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from codemode_conformance.evidence import Fact

pytestmark = pytest.mark.skipif(not visible(), reason="processes cannot be watched here")
NAP = "import time; time.sleep(60)"
SOON = 30
"""Seconds within which a busy machine has looked."""
MANY = 64 << 20


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., dict[str, Fact]]]:
    """`watched(...)`: the facts of children of this process that are called workers."""
    children: list[subprocess.Popen[bytes]] = []

    def look(
        *,
        number: int = 1,
        env: dict[str, str] | None = None,
        ends: bool = True,
        peak: int = 0,
        known: set[tuple[int, int]] | None = None,
        same_folder: bool = False,
        code: str = "",
        memory: int | None = MANY,
        **options: object,
    ) -> dict[str, Fact]:
        watch = Watch(os.getpid(), "^.*a-worker-of-this-test$")
        for place in range(number):
            folder = tmp_path / ("same" if same_folder else str(place))
            folder.mkdir(exist_ok=True)
            words = [
                sys.executable,
                "-I",
                "-S",
                "-c",
                code + NAP,
                "a-worker-of-this-test",
            ]
            children.append(subprocess.Popen(words, env=env or {}, cwd=folder, **options))
        until = time.monotonic() + SOON
        while len(watch.workers) < number and time.monotonic() < until:
            time.sleep(0.01)
        for seen in list(watch.workers.values()):
            while not (seen.held.known and seen.variables is not None and seen.peak_bytes > peak):
                assert time.monotonic() < until
                time.sleep(0.01)
        if ends:
            for child in children:
                child.kill()
                child.wait()
        watch.stop()
        look.workers = set(watch.workers)  # type: ignore[attr-defined]
        facts = watch.facts(set() if known is None else known, memory)
        return {fact.name: fact for fact in facts}

    yield look
    for child in children:
        child.kill()
        child.wait()


def test_a_worker_with_nothing_and_that_is_gone(watched) -> None:
    """All facts hold but one: its folder is there, because the test made it.

    Whether none was started is only known beside workers of an earlier program.
    """
    facts = watched()
    assert facts.pop("none_started").state is State.UNOBSERVABLE
    holds = {name for name, fact in facts.items() if fact.state is State.HOLDS}
    assert holds == set(facts) - {"directory_removed"}
    assert facts["directory_removed"].state is State.BROKEN


def test_a_variable_is_told_by_its_name(watched) -> None:
    """And not by its value, which may be a secret."""
    fact = watched(env={"TOKEN": "secret"})["empty_environment"]
    assert (fact.state, fact.detail) == (State.BROKEN, "TOKEN")


def test_a_worker_that_is_left_is_told(watched, monkeypatch) -> None:
    """The patience is short here."""
    monkeypatch.setattr("codemode_conformance.watch.PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(Watch.left, "__defaults__", (0.1, 0))
    assert watched(ends=False)["gone"].state is State.BROKEN


class Followed:
    """A tracer that has followed these."""

    lost = ""

    def __init__(self, *processes: Traced) -> None:
        self.processes = list(processes)

    def begin(self) -> None:
        """Nothing has to be forgotten."""

    def sync(self) -> None:
        """Nothing is on its way."""

    def seen(self) -> list[Traced]:
        """All of them."""
        return self.processes


def test_what_a_worker_left_is_told_whatever_it_is_called() -> None:
    """It does not look like a worker, and its parent is gone."""
    with subprocess.Popen([sys.executable, "-c", NAP]) as left:
        entry = read_entry(left.pid)
        assert entry is not None
        worker = Traced(1 << 22, entry.started, os.getpid(), ("a-worker",))
        child = Traced(*entry.identity, worker.pid, ("sleep",))
        watch = Watch(os.getpid(), "^a-worker$", Followed(worker, child))
        watch.left(0)
        watch.stop()
        assert [one.pid for one in watch.left(0)] == []
        facts = {fact.name: fact for fact in watch.facts(set(), MANY)}
        left.kill()
    assert facts["gone"].state is State.BROKEN
    assert facts["gone"].detail == "0 of 1 are still there, and 1 that they started"


def test_a_worker_of_an_earlier_program_is_not_fresh(watched) -> None:
    """By pid and start time together."""
    known: set[tuple[int, int]] = set()
    assert watched(known=known)["fresh"].state is State.HOLDS
    assert known == watched.workers
    facts = watched(known=known)
    assert facts["fresh"].state is State.HOLDS
    assert len(known) == 2


def test_the_same_process_again_is_told() -> None:
    """As of a pool that reuses its workers."""
    words = [sys.executable, "-I", "-S", "-c", NAP, "a-worker-of-this-test"]
    known: set[tuple[int, int]] = set()
    with subprocess.Popen(words) as child:
        states = []
        for _ in range(2):
            watch = Watch(os.getpid(), "a-worker-of-this-test$")
            until = time.monotonic() + SOON
            while not watch.workers and time.monotonic() < until:
                time.sleep(0.01)
            watch.stop()
            watch.left = lambda *_, **__: []  # type: ignore[method-assign, assignment]
            states.append({f.name: f.state for f in watch.facts(known, None)}["fresh"])
        child.kill()
    assert states == [State.HOLDS, State.BROKEN]


def test_two_workers_in_one_folder_are_told(watched) -> None:
    """Each must have its own."""
    assert watched(number=2)["own_directory"].state is State.HOLDS
    assert watched(number=2, same_folder=True)["own_directory"].state is State.BROKEN


def test_a_pipe_of_the_parent_is_told(watched) -> None:
    """Only what both have is the parent's."""
    reading, writing = os.pipe()
    try:
        fact = watched(pass_fds=(writing,))["three_descriptors"]
    finally:
        os.close(reading)
        os.close(writing)
    assert fact.state is State.BROKEN
    assert fact.detail.startswith("pipe:")


HELD_SECONDS = 0.7
"""How long a worker is looked at of which it is asked what it has beside its parent."""


def _parent(start: str, code: str, *, keep: bool) -> str:
    """A parent that does `start`, with `code` as its worker, and prints when that has ended.

    What it was handed over is closed afterwards unless `keep`.
    """
    keeping = "" if keep else "for one in theirs: one.close()\n"
    return (
        "import os, socket, subprocess, sys\n"
        "class Pipe:\n"
        " def __init__(self, n): self.n = n\n"
        " def fileno(self): return self.n\n"
        " def close(self): os.close(self.n)\n"
        "def pipe(): return tuple(map(Pipe, os.pipe()))\n"
        "def start(stdin, stdout, *more):\n"
        f" words = [sys.executable, '-I', '-S', '-c', {code!r}, 'a-worker-of-this-test']\n"
        " return subprocess.Popen(words, stdin=stdin.fileno(), stdout=stdout.fileno(),"
        " pass_fds=[one.fileno() for one in more], env={}, cwd='/')\n"
        "sys.stdin.readline()\n"
        f"{start}\n{keeping}worker.wait()\n"
        # What it kept is closed before anybody looks at what is left.
        "os.closerange(3, 100)\n"
        "print('done', flush=True)\n"
        "sys.stdin.readline()\n"
    )


def _handed(start: str, code: str = "", *, keep: bool = False, looks: bool = True) -> Fact:
    """What is said of the descriptors of a worker that another process starts by `start`."""
    text = _parent(start, code + NAP if looks else code, keep=keep)
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", text]
    with (
        contextlib.ExitStack() as stack,
        subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as parent,
    ):
        stack.callback(parent.kill)
        assert parent.stdin is not None
        assert parent.stdout is not None
        tracer = None if looks else stack.enter_context(Tracer())
        if tracer is not None:
            assert tracer.seize(parent.pid), tracer.lost
        watch = Watch(parent.pid, "^.*a-worker-of-this-test$", tracer)
        if not looks:
            watch.stop()
        parent.stdin.write("go\n")
        parent.stdin.flush()
        if looks:
            until = time.monotonic() + SOON
            while not any(seen.held.known for seen in list(watch.workers.values())):
                assert time.monotonic() < until
                time.sleep(0.01)
            time.sleep(HELD_SECONDS)
            for seen in list(watch.workers.values()):
                os.kill(seen.pid, signal.SIGKILL)
        assert parent.stdout.readline() == "done\n"
        watch.stop()
        facts = {fact.name: fact for fact in watch.facts(set(), None)}
    return facts["three_descriptors"]


PIPES = "a, b = pipe(), pipe(); theirs = [a[0], b[1]]; "
SOCKETS = "a, b = socket.socketpair(), socket.socketpair(); theirs = [a[0], b[1]]; "
EXTRA = "c = {}; theirs.append(c[0]); "
HANDED = {
    "nothing but its own ends of pipes": (PIPES + "worker = start(a[0], b[1])", False),
    "nothing but its own sockets": (SOCKETS + "worker = start(a[0], b[1])", False),
    "one socket for both": (
        "a = socket.socketpair(); theirs = [a[0]]; worker = start(a[0], a[0])",
        False,
    ),
    "a pipe more to read from": (
        PIPES + EXTRA.format("pipe()") + "worker = start(a[0], b[1], c[0])",
        False,
    ),
    "a socket more": (
        PIPES + EXTRA.format("socket.socketpair()") + "worker = start(a[0], b[1], c[0])",
        False,
    ),
    "its own end a second time": (PIPES + "worker = start(a[0], b[1], a[0])", False),
    "the writing end of its stdin": (PIPES + "worker = start(a[0], b[1], a[1])", True),
    "the reading end of its stdout": (PIPES + "worker = start(a[0], b[1], b[0])", True),
    "the writing end of its stdin as its stdout": (PIPES + "worker = start(a[0], a[1])", True),
    "the other socket of its stdin": (SOCKETS + "worker = start(a[0], b[1], a[1])", True),
    "the end of a pipe to somebody else": (
        PIPES + "c = pipe(); worker = start(a[0], b[1], c[1]); c[0].close()",
        True,
    ),
}


@pytest.mark.parametrize("what", HANDED)
def test_a_worker_has_its_own_ends_and_none_of_its_parents(what: str) -> None:
    """Told while it lives: its parent closes all when it has ended."""
    start, broken = HANDED[what]
    fact = _handed(start)
    assert fact.state is (State.BROKEN if broken else State.HOLDS), fact.detail


@pytest.mark.parametrize(
    "what", ["nothing but its own ends of pipes", "the writing end of its stdin", "a socket more"]
)
@pytest.mark.skipif(bool(obstacle()), reason=f"no tracing here: {obstacle()}")
def test_the_ends_of_a_worker_are_known_from_the_tracer_alone(what: str) -> None:
    """As of one that is too short for a look."""
    start, broken = HANDED[what]
    assert _handed(start, looks=False).state is (State.BROKEN if broken else State.HOLDS)


def test_what_a_worker_makes_for_itself_is_no_parents() -> None:
    """A pipe of its own at its streams, its channel elsewhere, and a parent that keeps its ends."""
    own = (
        "import os; os.dup2(0, 9); os.dup2(1, 10); r, w = os.pipe(); os.dup2(w, 1);"
        "os.dup2(os.open('/dev/null', 0), 0);"
    )
    start = PIPES + "worker = start(a[0], b[1])"
    assert _handed(start, own).state is State.HOLDS
    assert _handed(start, own, keep=True).state is State.HOLDS


def test_a_worker_whose_descriptors_cannot_be_read_is_protected() -> None:
    """Nor is a process that is about to end, and has none any more, one without any."""
    held = Held()
    held.add([])
    assert not held.known
    held.add([Opened(0, "/dev/null", "r")])
    assert held.known


def test_the_parent_is_read_for_what_is_new_and_ever_less_often() -> None:
    """A look each millisecond would cost more than the run."""
    held = Held()
    held.add([Opened(0, "pipe:[1]", "r"), Opened(3, "anon_inode:[eventpoll]", "rw")])
    assert not held.due(0.0)
    held.add([Opened(5, "pipe:[2]", "r"), Opened(6, "pipe:[2]", "w")])
    times = []
    for millisecond in range(10_000):
        if held.due(millisecond / 1000):
            held.compare(set(), millisecond / 1000)
            times.append(millisecond)
    assert len(times) < 12
    held.add([Opened(7, "socket:[3]", "rw")])
    assert held.due(10.0)


def test_a_peak_above_its_heap_is_told(watched) -> None:
    """Of the process as a whole, with what an interpreter takes."""
    size = OVERHEAD_BYTES + (40 << 20)
    code = f"held = bytearray(b'x') * {size};"
    fact = watched(code=code, memory=1 << 20, peak=size)["memory_peak"]
    assert fact.state is State.BROKEN
    assert watched(memory=None)["memory_peak"].state is State.UNOBSERVABLE


def test_other_processes_are_nobodys_workers() -> None:
    """Without one that the pattern fits there is nothing to say."""
    watch = Watch(os.getpid(), "no-such-process-anywhere$")
    time.sleep(0.05)
    watch.stop()
    (fact,) = watch.facts(set(), None)
    assert (fact.name, fact.state) == ("none_started", State.UNOBSERVABLE)


@pytest.mark.parametrize(("seconds", "state"), [(0.2, State.HOLDS), (60.0, State.BROKEN)])
def test_a_directory_may_be_removed_a_moment_after_its_worker(
    seconds: float, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is still there when the time is over was left."""
    monkeypatch.setattr(watch, "FOLDER_SECONDS", 5.0 if state is State.HOLDS else 0.1)
    folder = tmp_path / "private"
    folder.mkdir()
    timer = threading.Timer(seconds, folder.rmdir)
    timer.start()
    try:
        _, removed = watch._directory([watch.Seen(1, 1, directory=str(folder))], [])
    finally:
        timer.cancel()
    assert removed.state is state
