"""One adapter process: started, asked who it is, talked to, and ended with its folder."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from codemode_conformance import messages
from codemode_conformance.escape import quoted
from codemode_conformance.failures import StartError
from codemode_conformance.identity import Identity, identity_of
from codemode_conformance.leaving import left_by
from codemode_conformance.lines import Line
from codemode_conformance.premises import MEBIBYTE, Premises
from codemode_conformance.process import Caps, Errors, Exited, Flooded, Process, Swollen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_conformance.observation import CanaryHit
    from codemode_conformance.processtable import Entry
    from codemode_conformance.target import Command
    from codemode_conformance.tracing.tracer import Tracer
    from codemode_conformance.transcript import Transcript

NOISE_LINES: Final = 20

_ERROR: Final = re.compile(rb"\b\w*(?:Error|Exception)\b[:\s]")


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of the adapter, with the time of its arrival (monotonic seconds)."""

    message: dict[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Broken:
    """A line with the key that is no message."""

    reason: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The process has exited, or must be ended. `why` is exit, memory or flood."""

    why: str
    text: str
    at: float


Report = Heard | Broken | Gone


class Adapter:
    """A running adapter; use as a context manager, or call `stop`.

    `values` fill the placeholders of the command, without `tmp`; `tracer` follows it, and is ended
    with it. StartError when it does not start or does not introduce itself.
    """

    def __init__(
        self,
        command: Command,
        values: Mapping[str, str],
        caps: Caps | None = None,
        transcript: Transcript | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._transcript = transcript
        self.tracer = tracer
        self.gone: Gone | None = None
        self.known_workers: set[tuple[int, int]] = set()
        self.noise: list[str] = []
        self.left: Counter[str] = Counter()
        self._unsearched: list[bytes] = []
        self._key = messages.new_key()
        self._command = command
        self._premises = Premises(values)
        self.canaries = self._premises.canaries
        self.process: Process | None = None
        try:
            self.process = self._premises.launch(command, self._key, caps, tracer=tracer)
            self.identity = self._introduce()
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        """The adapter itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stops it."""
        self.stop()

    def send(self, message: Mapping[str, Any]) -> None:
        """Queue a message; HarnessError when it breaks the schema."""
        self._running.send(messages.encode(message))
        if self._transcript is not None:
            self._transcript.sent(message)

    def receive(self, seconds: float) -> list[Report]:
        """What the adapter said, at the latest after `seconds`; noise is kept apart."""
        if self.gone is not None:
            return []
        reports: list[Report] = []
        events = self._running.pump(seconds)
        now = time.monotonic()
        for event in events:
            match event:
                case Line():
                    reports += self._line(event, now)
                case Errors(data):
                    self._premises.note_errors(data)
                case Exited(status):
                    reports.append(Gone("exit", self._death(status), now))
                case Swollen(measured, limit):
                    text = (
                        f"it holds {measured // MEBIBYTE} MiB of memory, "
                        f"the watchdog's limit is {limit // MEBIBYTE} MiB"
                    )
                    reports.append(Gone("memory", text, now))
                case Flooded(total):
                    text = f"it printed more than {total // MEBIBYTE} MiB in one case"
                    reports.append(Gone("flood", text, now))
        self.gone = next((report for report in reports if isinstance(report, Gone)), None)
        if self._unsearched:
            # One search for many lines: a program may print them by the million.
            self._premises.note("stdout", b"\n".join(self._unsearched))
            self._unsearched.clear()
        return reports

    def watch(self, memory_bytes: int | None) -> None:
        """Set the watchdog by the declared limit of memory in bytes, None: the target file's.

        Starts counting output anew: call it once for each case.
        """
        if memory_bytes is None:
            self._running.memory_bytes = self._command.memory_mib * MEBIBYTE
        else:
            self._running.memory_bytes = memory_bytes * 2 + 512 * MEBIBYTE
        self._running.forgive()

    def find(self, text: str) -> list[tuple[str, str]]:
        """The secrets of this process and paths of the host in some text, as (name, form)."""
        return self._premises.find(text)

    def take_hits(self) -> list[CanaryHit]:
        """Secrets that came outside of messages since the last call."""
        return self._premises.take_hits()

    @property
    def worker_pattern(self) -> str | None:
        """What the command lines of the target's workers look like."""
        return self._command.worker_pattern

    def take_noise(self) -> list[str]:
        """The first lines of noise since the last call, escaped and cut."""
        noise, self.noise = self.noise, []
        return noise

    def stop(self) -> None:
        """Ask it to exit, wait a second, then end it; never a fault of the target.

        `left` says what ran on when it had exited by itself.
        """
        try:
            if self.process is not None:
                self.send({"m": "stop"})
                if self.gone is None:
                    self.left = left_by(self.process, self._gone)
        finally:
            self.end()

    def kill_alone(self) -> None:
        """Kill the process itself and nothing that came from it."""
        os.kill(self._running.pid, signal.SIGKILL)

    def end(self) -> tuple[Entry, ...]:
        """Kill it and all that came from it, and delete its folder. May be called again.

        Returns the processes that had outlived it.
        """
        try:
            if self.tracer is not None:
                # One that stands still would hold what it follows when it is to end.
                self.tracer.sync()
            return () if self.process is None else self.process.end()
        finally:
            if self.tracer is not None:
                self.tracer.close()
            self._premises.close()

    @property
    def _running(self) -> Process:
        assert self.process is not None
        return self.process

    def _gone(self, seconds: float) -> str | None:
        self.receive(seconds)
        return None if self.gone is None else self.gone.why

    def _introduce(self) -> Identity:
        self.send({"m": "hello", "v": messages.VERSION, "key": self._key})
        seconds = self._command.start_timeout_ms / 1_000
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            for report in self.receive(until - now):
                match report:
                    case Heard({"m": "identity"} as message):
                        return identity_of(message)
                    case Heard({"m": "note"}):
                        continue
                    case Heard(message):
                        raise StartError(f"it answers hello with {quoted(str(message))}")
                    case Broken(reason):
                        raise StartError(f"it answers hello with a broken line: {quoted(reason)}")
                    case Gone(_, text):
                        raise StartError(f"before it said who it is, {text}{self._first_noise()}")
        raise StartError(
            f"it did not answer hello within {seconds:g} s (start_timeout_ms of the target file)"
            f"{self._first_noise()}{self._last_error()}"
        )

    def _line(self, line: Line, now: float) -> list[Report]:
        if line.cut and line.marked:
            return [Broken(f"a line of more than {self._running.caps.line_bytes} bytes")]
        try:
            message = None if line.cut else messages.decode(line.data, self._key)
        except messages.BrokenLineError as error:
            return [Broken(str(error))]
        if message is not None:
            if self._transcript is not None:
                self._transcript.received(message)
            return [Heard(message, now)]
        self._unsearched.append(line.data)
        room = NOISE_LINES - len(self.noise)
        if room > 0:
            parts = line.data.split(b"\n", room)[:room]
            noise = [quoted(part) for part in parts if part.strip()]
            self.noise += noise
            if self._transcript is not None:
                for text in noise:
                    self._transcript.noise(text)
        return []

    def _death(self, status: int) -> str:
        how = f"with status {status}" if status >= 0 else f"by signal {-status}"
        return f"it exited {how}{self._last_error()}"

    def _first_noise(self) -> str:
        return f"; the first line it printed: {self.noise[0]}" if self.noise else ""

    def _last_error(self) -> str:
        lines = [line.strip() for line in self._running.errors.splitlines() if line.strip()]
        if not lines:
            return ""
        # Node closes with its version, Python with the exception: the line that names an error.
        named = [line for line in lines if _ERROR.search(line)]
        return f"; on stderr it said: {quoted((named or lines)[-1])}"
