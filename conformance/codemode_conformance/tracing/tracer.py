"""The harness's end of the tracer: what was followed so far, and whether it still is."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self

from codemode_conformance import kin
from codemode_conformance.descriptors import Opened, ways_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemode_conformance.processtable import Entry

PROGRAM: Final = Path(__file__).parent / "program.py"
ANSWER_SECONDS: Final = 10.0
"""How long the tracer may take to answer; one that does not is ended, and what it held runs on."""

START_SECONDS: Final = 20.0
"""How long the tracer may take to start, on a busy machine."""

NAMING_SECONDS: Final = 2.0
"""How long a process may take to name its tracer, where Yama wants that."""

MOST_PROCESSES: Final = 20_000
"""How many processes are remembered; a program may start more, and is told to have."""

_YAMA: Final = Path("/proc/sys/kernel/yama/ptrace_scope")
_ASKED: Final = 1  # of the scopes of Yama, the one in which a process may name its tracer
_AGAIN_SECONDS: Final = 0.002
_WORDS: Final = (sys.executable, "-I", "-S")
_NAMING: Final = (
    "import ctypes,os,sys;ctypes.CDLL(None).prctl(0x59616d61,int(sys.argv[1]),0,0,0);"
    "os.execvp(sys.argv[2],sys.argv[2:])"
)
_FAMILY: Final = "import os,sys;sys.stdin.read();os.fork() or os._exit(7);os.wait()"


@dataclass(slots=True)
class Traced:
    """One process that was followed. `words` are of its last exec, as `variables` and `opened`.

    `variables` and `opened` are None where they were not read: it never loaded a program, or was
    there before. `directory` is of its end, else of its exec.
    `peak_bytes` and `status`, as of `wait`, are of its end.
    """

    pid: int
    started: int
    parent: int
    words: tuple[str, ...] = ()
    variables: list[str] | None = None
    opened: list[Opened] | None = None
    directory: str | None = None
    peak_bytes: int = 0
    status: int | None = None
    loads: int = 0  # how often it loaded a program
    ended_in: int | None = None  # the window in which it ended

    @property
    def identity(self) -> tuple[int, int]:
        """What a reused pid does not share."""
        return self.pid, self.started

    @property
    def command(self) -> str:
        """Its command line as `worker_pattern` is held against it."""
        return " ".join(word for word in self.words if word)


@dataclass(slots=True)
class _Trail:
    """What has been told so far, under one lock."""

    processes: dict[tuple[int, int], Traced] = field(default_factory=dict)
    living: dict[int, Traced] = field(default_factory=dict)
    window: int = 0


class Tracer:
    """A tracer process; use as a context manager, or call `close`.

    `lost` says why it no longer follows everything, and is empty as long as it does.
    """

    def __init__(self) -> None:
        self.lost = ""
        self._naming = _asked_by_yama()
        self._trail = _Trail()
        self._told = threading.Condition()
        self._answers: dict[str, Any] = {}
        self._number = 0
        self._process: subprocess.Popen[bytes] | None = None
        # Until it is known as a helper nobody may take it for an orphan of a target.
        kin.living.add(self)
        try:
            self._process = subprocess.Popen(
                [*_WORDS, str(PROGRAM)],
                env={},
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self.lost = f"the tracer cannot be started: {error.strerror}"
            return
        else:
            kin.helpers.add(self._process.pid)
        finally:
            kin.living.discard(self)
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._listen, args=(self._process.stdout,), name="cmconf-trace", daemon=True
        )
        self._reader.start()
        if self._answer("ready", seconds=START_SECONDS) is None:
            self._lose("the tracer did not start")

    def __enter__(self) -> Self:
        """The tracer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it."""
        self.close()

    @property
    def pid(self) -> int:
        """Of the tracer; 0 when there is none."""
        return 0 if self._process is None else self._process.pid

    def naming(self, words: Sequence[str]) -> list[str]:
        """The command as it is to be started so that it may be followed.

        Where Yama asks for it a process says itself who may, and then loads what it was to be.
        """
        return [*_WORDS, "-c", _NAMING, str(self.pid), *words] if self._naming else [*words]

    def seize(self, pid: int) -> bool:
        """Follow this process, and all that comes from it; False, with `lost`, where refused."""
        until = time.monotonic() + (NAMING_SECONDS if self._naming else 0)
        while True:
            if not self._send({"seize": pid}):
                return False
            answer = self._answer("seized", pid)
            if answer is None:
                self._lose("the tracer did not answer")
            elif "refused" in answer:
                if time.monotonic() < until:
                    time.sleep(_AGAIN_SECONDS)  # until it has named its tracer
                    continue
                self._lose(reason(answer))
            return not self.lost

    def sync(self) -> bool:
        """Wait until all that has happened by now has been told; False, with `lost`, if it is not.

        A tracer that does not answer is ended: what it holds would stand still for ever.
        """
        self._number += 1
        if not self._send({"sync": self._number}):
            return False
        if self._answer("synced", self._number) is None:
            self._lose("the tracer did not answer")
        return not self.lost

    def begin(self) -> None:
        """Start a new window: `seen` tells from now on of what lives now or comes."""
        self.sync()
        with self._told:
            self._trail.window += 1

    def seen(self) -> list[Traced]:
        """The processes that lived in this window, those included that were there before it."""
        with self._told:
            trail = self._trail
            return [
                one
                for one in trail.processes.values()
                if one.ended_in is None or one.ended_in == trail.window
            ]

    def close(self) -> None:
        """End it; what it followed runs on. May be called again."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
        self._reader.join()
        kin.helpers.discard(process.pid)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def end(self) -> tuple[Entry, ...]:
        """As `close`; nothing outlives it."""
        self.close()
        return ()

    def _lose(self, why: str) -> None:
        self.lost = self.lost or why
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.kill()

    def _send(self, command: dict[str, int]) -> bool:
        process = self._process
        if process is None or self.lost:
            self.lost = self.lost or "the tracer was ended"
            return False
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            self._lose("the tracer has ended")
            return False
        return True

    def _answer(
        self, name: str, value: int | None = None, seconds: float | None = None
    ) -> dict[str, Any] | None:
        seconds = ANSWER_SECONDS if seconds is None else seconds

        def there() -> bool:
            answer = self._answers.get(name)
            return "ended" in self._answers or (
                answer is not None and value in (None, answer[name])
            )

        with self._told:
            if not self._told.wait_for(there, seconds) or "ended" in self._answers:
                return None
            answer: dict[str, Any] = self._answers[name]
            return answer

    def _listen(self, stream: IO[bytes]) -> None:
        """Take in what is told, to the end."""
        with contextlib.suppress(ValueError, OSError):
            for line in stream:
                message = json.loads(line)
                with self._told:
                    self._take(message)
                    self._told.notify_all()
        with self._told:
            self._answers["ended"] = {}
            self.lost = self.lost or "the tracer has ended"
            self._told.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        event = message.get("event")
        if event is None:
            name = next(name for name in ("ready", "seized", "synced") if name in message)
            self._answers[name] = message
            return
        trail = self._trail
        if event == "missed":
            why = f"process {message['pid']} cannot be followed: {message['refused']}"
            self.lost = self.lost or why
        elif event == "exit":
            one = trail.living.pop(message["pid"], None)
            if one is not None:
                one.status, one.ended_in = message["status"], trail.window
                one.peak_bytes = message["peak"]
                one.directory = message["directory"] or one.directory
        else:
            self._note(event, message)

    def _note(self, event: str, message: dict[str, Any]) -> None:
        trail = self._trail
        identity = (message["pid"], message["started"])
        one = trail.processes.get(identity)
        if one is None:
            if len(trail.processes) >= MOST_PROCESSES:
                self.lost = self.lost or f"more than {MOST_PROCESSES} processes were started"
                return
            one = trail.processes[identity] = Traced(*identity, message["parent"])
            trail.living[one.pid] = one
        if event == "fork":
            return
        if message.get("weakened"):
            self.lost = self.lost or "it starts a program with privileges, which tracing takes away"
        one.words = tuple(message["words"])
        one.directory = message["directory"]
        if event == "exec":
            one.loads += 1
            one.variables = message["variables"]
            one.opened = None
            if message["opened"] is not None:
                one.opened = [
                    Opened(number, name, ways_of(mode)) for number, name, mode in message["opened"]
                ]


def _asked_by_yama() -> bool:
    """Whether only an ancestor may trace a process, or whom it names."""
    with contextlib.suppress(OSError, ValueError):
        return int(_YAMA.read_text(encoding="ascii")) == _ASKED and os.geteuid() != 0
    return False


def reason(answer: dict[str, Any]) -> str:
    """Why a process could not be followed, and what would allow it, as far as it can be told."""
    if answer.get("tracer"):
        return f"it is traced already, by process {answer['tracer']}"
    if (answer.get("yama") or 0) > _ASKED:
        return f"kernel.yama.ptrace_scope is {answer['yama']}: only 0 and 1 allow it"
    if answer.get("filtered"):
        return "a filter of system calls over the suite (a container?) does not allow ptrace"
    return f"it may not be traced: {answer['refused']}"


@cache
def obstacle() -> str:
    """Why nothing can be followed here, found out on a family of our own; empty if it can."""
    if sys.platform != "linux":
        return "the system is not Linux"
    with Tracer() as tracer:
        if tracer.lost:
            return tracer.lost
        words = tracer.naming([*_WORDS, "-c", _FAMILY])
        with subprocess.Popen(words, stdin=subprocess.PIPE, env={}, cwd="/") as family:
            kin.helpers.add(family.pid)
            try:
                if tracer.seize(family.pid):
                    family.communicate(b"", ANSWER_SECONDS)
            except subprocess.TimeoutExpired:
                tracer.lost = "a traced process does not go on"
            finally:
                tracer.sync()  # ends a tracer that does not answer, so that the family can end
                family.kill()
                kin.helpers.discard(family.pid)
        ended = [one for one in tracer.seen() if one.status is not None]
        why = str(tracer.lost) or "the system does not tell the tracer of ends"
        return "" if len(ended) == 2 else why  # the parent and its child
