"""One process of a target: started apart, fed and read without blocking, ended with all its kin.

Everything happens in `pump`, in the caller's thread; nothing runs between two calls of it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, Self

from codemode_conformance import kin
from codemode_conformance.escape import for_terminal
from codemode_conformance.failures import StartError
from codemode_conformance.lines import Line, LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from codemode_conformance.processtable import Entry

TICK: Final = 0.05  # seconds between two looks at memory and at the exit status
READ_BYTES: Final = 1 << 20
STDERR_KEPT: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds on what a process may print, in bytes; `total_bytes` between two `forgive` calls."""

    line_bytes: int = 32 << 20
    total_bytes: int = 256 << 20
    bytes_per_second: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Errors:
    """Bytes that came on stderr."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Exited:
    """The process is gone: exit status, or minus the signal's number. All its lines came before."""

    status: int


@dataclass(frozen=True, slots=True)
class Swollen:
    """The process and its kin hold more memory than they may, in bytes. Told once."""

    measured: int
    limit: int


@dataclass(frozen=True, slots=True)
class Flooded:
    """More output than the cap came; nothing is read any more. Told once."""

    total: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that came on stdout, of a process whose output is not cut into lines."""

    data: bytes


Event = Line | Chunk | Errors | Exited | Swollen | Flooded


class Process:
    """A started command in a session of its own; use as a context manager, or call `end`.

    `memory_bytes` may be changed at any time. `marker` is an environment variable by which
    processes that left the group are known as kin. `scan` and `overlap` are for the parts of
    long lines that are not kept.
    """

    def __init__(  # noqa: PLR0913  each is one property of a process
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        folder: Path,
        key: str,
        memory_bytes: int,
        marker: str = "",
        caps: Caps | None = None,
        scan: Callable[[bytes], None] | None = None,
        overlap: int = 0,
    ) -> None:
        self.memory_bytes = memory_bytes
        self.errors = b""  # the last bytes of stderr
        self.total = 0
        self.caps = caps or Caps()
        self._allowance = float(self.caps.bytes_per_second)
        self._refilled = self._ticked = time.monotonic()
        self._unsent = bytearray()
        self._splitter = LineSplitter(self.caps.line_bytes, key.encode(), scan, overlap)
        self._told: set[type] = set()
        kin.adopt_orphans()
        # Before it is there: whoever ends another process just now takes an unknown child for an
        # orphan of that one as long as no more than one is known.
        kin.living.add(self)
        try:
            self._popen = subprocess.Popen(
                list(words),
                env=dict(env),
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            kin.living.discard(self)
            reason = getattr(error, "strerror", None) or str(error)
            raise StartError(f"{for_terminal(words[0])} cannot be started: {reason}") from None
        self.pid: int = self._popen.pid
        self.kin = kin.Kin(self.pid, marker, env.get(marker, ""))
        self._selector = selectors.DefaultSelector()
        assert self._popen.stdin
        assert self._popen.stdout
        assert self._popen.stderr
        self._stdin: IO[bytes] = self._popen.stdin
        self._stdout: IO[bytes] = self._popen.stdout
        self._stderr: IO[bytes] = self._popen.stderr
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        self._pidfd = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else None
        if self._pidfd is not None:
            # Told at once; elsewhere the next tick sees it.
            self._selector.register(self._pidfd, selectors.EVENT_READ, self._exit)
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_stdout)
        self._selector.register(self._stderr, selectors.EVENT_READ, self._read_stderr)

    def __enter__(self) -> Self:
        """The process itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it, whatever happened."""
        self.end()

    @property
    def descriptor(self) -> int:
        """Readable when `pump` has something to do, for an event loop of the caller's own."""
        return self._selector.fileno()

    def send(self, data: bytes) -> None:
        """Queue bytes for its stdin; they are written by `pump`, as fast as it reads."""
        if self._stdin.closed:
            return
        if not self._unsent:
            self._selector.register(self._stdin, selectors.EVENT_WRITE, self._write)
        self._unsent += data

    @property
    def unsent(self) -> int:
        """How many bytes are still queued for its stdin."""
        return len(self._unsent)

    def close_input(self) -> None:
        """Close its stdin; what is still queued is lost."""
        if self._unsent:
            self._unsent.clear()
            self._selector.unregister(self._stdin)
        with contextlib.suppress(OSError):
            self._stdin.close()

    def close_output(self) -> None:
        """Close our end of its stdout: from now on it writes to nobody."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(self._stdout)
        self._stdout.close()

    def forgive(self) -> None:
        """Start counting the total of its output anew."""
        self.total = 0

    def pump(self, seconds: float, *, written: bool = False) -> list[Event]:
        """What happened, at the latest after `seconds`; returns at once when there is something.

        `written`: also as soon as nothing is queued for its stdin any more.
        """
        until = time.monotonic() + max(seconds, 0.0)
        events: list[Event] = []
        while True:
            now = time.monotonic()
            self._refill(now)
            wait = min(until - now, TICK)
            for key, _ in self._selector.select(max(wait, 0.0)):
                events += key.data()
            if time.monotonic() - self._ticked >= TICK or not self._selector.get_map():
                events += self._tick()
            if events or time.monotonic() >= until or (written and not self._unsent):
                return events
            if not self._selector.get_map():
                time.sleep(max(wait, 0.0))

    def end(self) -> tuple[Entry, ...]:
        """Kill its group and every other process that came from it, reap, close the pipes.

        Returns those that outlived it. May be called again.
        """
        try:
            left = self.kin.end(self._popen)
        finally:
            self._selector.close()
            if self._pidfd is not None:
                os.close(self._pidfd)
                self._pidfd = None
            for stream in (self._stdin, self._stdout, self._stderr):
                with contextlib.suppress(OSError):
                    stream.close()
        kin.living.discard(self)
        return left

    def _refill(self, now: float) -> None:
        rate = self.caps.bytes_per_second
        self._allowance = min(rate, self._allowance + (now - self._refilled) * rate)
        self._refilled = now

    def _tick(self) -> list[Event]:
        self._ticked = time.monotonic()
        events: list[Event] = []
        measured = self.kin.look(self.memory_bytes)
        if measured > self.memory_bytes:
            events += self._once(Swollen(measured, self.memory_bytes))
        return events + self._exit()

    def _exit(self) -> list[Event]:
        status = kin.exit_status(self.pid)
        if status is None or Exited in self._told:
            return []
        if self._pidfd is not None:
            self._selector.unregister(self._pidfd)
        return [*self._drain(), *self._once(Exited(status))]

    def _once(self, event: Event) -> list[Event]:
        if type(event) in self._told:
            return []
        self._told.add(type(event))
        return [event]

    def _drain(self) -> list[Event]:
        """What a dead process left in its pipes; a living child may still hold them open."""
        events: list[Event] = []
        for read in (self._read_stdout, self._read_stderr):
            while self.total <= self.caps.total_bytes and (more := read(drain=True)):
                events += more
        if (line := self._splitter.rest()) is not None:
            events.append(line)
        return events

    def _read(self, stream: IO[bytes], *, drain: bool) -> bytes | None:
        if not drain and self._allowance <= 0:
            time.sleep(TICK / 10)  # over the rate: let the pipe fill
            return None
        try:
            data = os.read(stream.fileno(), READ_BYTES)
        except (BlockingIOError, ValueError):
            return None
        except OSError:
            data = b""
        if not data:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(stream)
            return None
        self.total += len(data)
        self._allowance -= len(data)
        return data

    def _over_total(self) -> list[Event]:
        if self.total <= self.caps.total_bytes:
            return []
        for stream in (self._stdout, self._stderr):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(stream)
        return self._once(Flooded(self.total))

    def _read_stdout(self, *, drain: bool = False) -> list[Event]:
        data = self._read(self._stdout, drain=drain)
        if data is None:
            return []
        return [*self._splitter.feed(data), *self._over_total()]

    def _read_stderr(self, *, drain: bool = False) -> list[Event]:
        data = self._read(self._stderr, drain=drain)
        if data is None:
            return []
        self.errors = (self.errors + data)[-STDERR_KEPT:]
        return [Errors(data), *self._over_total()]

    def _write(self) -> list[Event]:
        try:
            del self._unsent[: os.write(self._stdin.fileno(), self._unsent[:READ_BYTES])]
        except BlockingIOError:
            return []
        except OSError:
            # Its end is closed; the exit, or the missing answer, says the rest.
            self._unsent.clear()
        if not self._unsent:
            self._selector.unregister(self._stdin)
        return []
