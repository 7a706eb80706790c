"""A target's process is fed, bounded and ended with everything that came from it."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from codemode_conformance import kin, processtable
from codemode_conformance.failures import StartError
from codemode_conformance.lines import Line
from codemode_conformance.process import Caps, Errors, Event, Exited, Flooded, Process, Swollen

Start = Callable[..., Process]
SLEEPER = "import time; time.sleep(600)"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts Python code as a process; all are ended."""
    processes = []

    def make(code: str, **parts: Any) -> Process:
        parts = {"env": {"MARK": str(tmp_path)}, "memory_bytes": 1 << 40, **parts}
        words = parts.pop("words", [sys.executable, "-I", "-S", "-c", code])
        processes.append(Process(words, folder=tmp_path, key="KEY", marker="MARK", **parts))
        return processes[-1]

    yield make
    for process in processes:
        process.end()
        assert process.kin.living() == []


def until(process: Process, kind: type, seconds: float = 20) -> list[Event]:
    """Everything that happens up to the first event of this kind."""
    events: list[Event] = []
    limit = time.monotonic() + seconds
    while not any(isinstance(event, kind) for event in events):
        assert time.monotonic() < limit, events
        events += process.pump(1)
    return events


def text_of(events: list[Event]) -> list[bytes]:
    """The lines among events."""
    return [event.data for event in events if isinstance(event, Line)]


def test_lines_go_in_and_come_out(start: Start) -> None:
    """Stdin reaches the process, stdout comes as lines, stderr apart, the status last."""
    process = start("import sys; print(input()); print('oops', file=sys.stderr); sys.exit(5)")
    process.send(b"hello\n")
    events = until(process, Exited)
    assert text_of(events) == [b"hello"]
    assert Errors(b"oops\n") in events
    assert events[-1] == Exited(5)
    assert process.errors == b"oops\n"


def test_a_signal_is_a_negative_status(start: Start) -> None:
    """So that a report can tell a crash from an exit."""
    process = start("import os; os.kill(os.getpid(), 11)")
    assert until(process, Exited)[-1] == Exited(-11)


def test_the_last_lines_come_before_the_exit_also_with_the_pipe_held_open(start: Start) -> None:
    """A grandchild that keeps stdout hides neither the output nor the exit."""
    code = f"""
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEPER!r}])
print("done", flush=True); sys.stdout.write("rest"); sys.stdout.flush(); os._exit(0)
"""
    events = until(start(code), Exited)
    assert text_of(events) == [b"done", b"rest"]


def test_the_environment_is_only_what_was_given(start: Start) -> None:
    """Nothing of our own environment reaches a target."""
    process = start("import os; print(sorted(os.environ))", env={"MARK": "1", "LC_CTYPE": "C"})
    assert text_of(until(process, Exited)) == [b"['LC_CTYPE', 'MARK']"]


@pytest.mark.parametrize("words", [["/does/not/exist"], ["/"], ["bad\0word"]])
def test_a_command_that_cannot_start_is_named(start: Start, words: list[str]) -> None:
    """The error carries the command, escaped, and the reason."""
    with pytest.raises(StartError, match="cannot be started"):
        start("", words=words)


@pytest.mark.parametrize("how", ["stays", "leaves"])
def test_grandchildren_do_not_outlive_the_process(start: Start, how: str) -> None:
    """Also one that was orphaned into a session of its own, and cleared its environment."""
    leave = "os.setsid(); os.execve(sys.executable, [sys.executable, '-c', sleeper], {})"
    code = f"""
import os, sys, time
sleeper = {SLEEPER!r}
if os.fork() == 0:
    print(os.getpid(), flush=True)
    {leave if how == "leaves" else "time.sleep(600)"}
input()
"""
    process = start(code)
    child = int(text_of(until(process, Line))[0])
    process.pump(0.2)
    assert process.end() == ()
    assert process.kin.living() == []
    assert processtable.read_entry(child) is None


def test_an_orphan_without_a_parent_is_found_by_its_mark(start: Start) -> None:
    """Twice forked, own session, its parent dead before anybody looked."""
    code = f"""
import os, subprocess, sys
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        print(os.getpid(), flush=True)
        os.execv(sys.executable, [sys.executable, "-c", {SLEEPER!r}])
    os._exit(0)
os._exit(0)
"""
    process = start(code)
    events = until(process, Exited)
    events += [] if text_of(events) else until(process, Line)
    orphan = int(text_of(events)[0])
    assert [entry.pid for entry in process.end()] == [orphan]
    assert processtable.read_entry(orphan) is None


def test_a_process_that_ignores_signals_is_ended(start: Start) -> None:
    """Only the signal that cannot be ignored is used."""
    code = """
import signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
print("up", flush=True); time.sleep(600)
"""
    process = start(code)
    until(process, Line)
    process.end()
    assert process.kin.living() == []
    assert process.end() == ()


def test_the_group_ends_when_the_harness_is_interrupted(tmp_path: Path) -> None:
    """A with block ends it on any exception, KeyboardInterrupt too."""
    words = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"]
    with (
        pytest.raises(KeyboardInterrupt),
        Process(words, env={}, folder=tmp_path, key="KEY", memory_bytes=1 << 40) as process,
    ):
        raise KeyboardInterrupt
    assert process.kin.living() == []


def test_what_is_still_held_at_exit_is_ended(start: Start) -> None:
    """The last resort knows every process."""
    process = start(SLEEPER)
    kin.end_all()
    assert process.kin.living() == []


def test_the_watchdog_counts_the_whole_tree(start: Start) -> None:
    """Memory of a child counts; the event comes once."""
    code = """
import os, time
if os.fork() == 0:
    held = bytearray(b"x") * (120 << 20)
    time.sleep(600)
print(1, flush=True); time.sleep(600)
"""
    process = start(code, memory_bytes=100 << 20)
    swollen = until(process, Swollen)[-1]
    assert isinstance(swollen, Swollen)
    assert swollen.measured > 100 << 20
    assert not any(isinstance(event, Swollen) for event in process.pump(0.2))


def test_shared_memory_is_counted_once(start: Start) -> None:
    """Children that share pages with their parent do not multiply them."""
    code = """
import os, time
held = bytearray(b"x") * (60 << 20)
for _ in range(4):
    if os.fork() == 0: time.sleep(600)
print(1, flush=True); time.sleep(600)
"""
    process = start(code, memory_bytes=200 << 20)
    until(process, Line)
    assert not any(isinstance(event, Swollen) for event in process.pump(0.3))
    assert sum(entry.resident for entry in process.kin.living()) > 200 << 20


def test_a_flood_is_cut_off(start: Start) -> None:
    """Over the total nothing is read any more, and that is said once."""
    code = "while True: print('x' * 1000)"
    process = start(code, caps=Caps(total_bytes=1 << 20))
    assert isinstance(until(process, Flooded)[-1], Flooded)
    assert process.total < 3 << 20
    assert process.pump(0.1) == []


def test_a_flood_on_stderr_counts_too(start: Start) -> None:
    """Both streams have one allowance."""
    code = "import sys\nwhile True: print('x' * 1000, file=sys.stderr)"
    process = start(code, caps=Caps(total_bytes=1 << 20))
    assert isinstance(until(process, Flooded)[-1], Flooded)
    assert len(process.errors) <= 64 << 10


def test_output_is_read_at_a_bounded_rate(start: Start) -> None:
    """Two megabytes at one a second take a second after the first allowance."""
    code = "import sys; sys.stdout.write('x' * (2 << 20)); sys.stdout.flush()"
    process = start(code, caps=Caps(bytes_per_second=1 << 20))
    began = time.monotonic()
    until(process, Exited)
    assert time.monotonic() - began > 0.8


def test_a_process_that_does_not_read_does_not_block_the_harness(start: Start) -> None:
    """Megabytes for its stdin wait until it reads."""
    code = "import sys; print(1, flush=True); print(len(sys.stdin.readline()))"
    process = start(code)
    process.send(b"x" * (8 << 20) + b"\n")
    events = until(process, Exited)
    assert text_of(events) == [b"1", str((8 << 20) + 1).encode()]
    process.send(b"more")
    process.pump(0)


def test_the_table_of_ps_is_understood() -> None:
    """Where there is no /proc, `ps` gives the same tree."""
    entries = processtable.parse_ps("  1 0 1 Ss 100\n 20 1 20 Z 0\n 21 20 20 R+ 8\n")
    assert [(entry.pid, entry.alive, entry.resident) for entry in entries] == [
        (1, True, 102_400),
        (20, False, 0),
        (21, True, 8_192),
    ]
    assert [entry.pid for entry in processtable.descendants([20], entries)] == [20, 21]


def test_a_pid_that_is_not_there_has_no_entry() -> None:
    """Every look at a process may come too late."""
    gone = 2**22 + 1
    assert processtable.read_entry(gone) is None
    assert processtable.proportional(gone) is None
    assert not processtable.has_variable(gone, "A", "B")
    assert processtable.family([gone]) == []


def test_a_daemon_without_a_mark_does_not_outlive_a_suite_that_is_alone(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It left the session and cleared its environment before anybody looked."""
    monkeypatch.setattr(kin, "_alone", True)
    code = (
        "import os\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.write(1, b'%d\\n' % os.getpid())\n"
        "    for fd in (0, 1, 2, write): os.close(fd)\n"
        "    os.execve('/bin/sleep', ['sleep', '600'], {})\n"
        "os.close(write)\n"
        "os.wait()\n"
        "os.read(read, 1)"  # the number is written before the target exits
    )
    process = start(code)
    events = until(process, Exited)
    daemon = int(text_of(events)[0])
    process.end()
    assert processtable.read_entry(daemon) is None


def test_a_process_that_is_just_starting_is_not_taken_for_an_orphan_of_another(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several processes at once, the end of one leaves alone one that has only begun."""
    monkeypatch.setattr(kin, "_alone", True)
    first = start(SLEEPER)
    begin = subprocess.Popen

    def begin_and_end_the_first(*words: Any, **more: Any) -> Any:
        popen = begin(*words, **more)
        first.end()
        return popen

    monkeypatch.setattr(subprocess, "Popen", begin_and_end_the_first)
    second = start(SLEEPER, env={"MARK": "another"})
    assert kin.exit_status(second.pid) is None
