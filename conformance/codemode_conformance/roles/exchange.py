"""One worker process and what is exchanged with it: steps are played, frames are read strictly."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import load_tables

from codemode_conformance import frames
from codemode_conformance.liverun import value_of
from codemode_conformance.observation import Call, End, Run, Value
from codemode_conformance.process import Chunk, Errors, Exited, Flooded, Process, Swollen
from codemode_conformance.roles.hostile.worker import UNTOLD_SECONDS, unread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_spec.cases import OperationSpec
    from codemode_spec.tables import Profile

    from codemode_conformance.frames import FrameSeen
    from codemode_conformance.premises import Premises
    from codemode_conformance.process import Event
    from codemode_conformance.target import Command
    from codemode_conformance.transcript import Transcript

INVOCATION: Final = 1_234_567_890_123
"""The id of the invocation in each exchange."""

LINGER_SECONDS: Final = 1.0
"""How long a worker may take to exit after its result."""


TAKING_SECONDS: Final = 10.0
"""How long the pieces of one frame may wait for a worker that does not read: it has to start."""


class Worker(Process):
    """A process whose output is handed over as it comes, blank lines included."""

    @property
    def unread(self) -> int | None:
        """How many bytes of its input it has not read yet; None where that is not told."""
        return None if self._stdin.closed else unread(self._stdin.fileno())

    def _read_stdout(self, *, drain: bool = False) -> list[Event]:
        data = self._read(self._stdout, drain=drain)
        return [] if data is None else [Chunk(data), *self._over_total()]


@dataclass(slots=True)
class _Heard:
    """What has come from the worker so far."""

    frames: list[FrameSeen] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    read: int = 0
    answered: int = 0
    result: Mapping[str, Any] | None = None
    broken: str = ""
    ended_at: float | None = None  # of the result, or of the exit without one
    status: int | None = None
    rest: bytes = b""


class Exchange:
    """Plays the steps of a case to a fresh worker; one use."""

    def __init__(  # noqa: PLR0913, PLR0917  the two ends, and what they agreed on
        self,
        command: Command,
        premises: Premises,
        profile: Profile,
        operations: Sequence[OperationSpec],
        limits: Mapping[str, int],
        transcript: Transcript | None = None,
    ) -> None:
        self._premises = premises
        self._transcript = transcript
        self._profile = profile
        self._operations = operations
        self._limits = {
            row.name: limits.get(row.name, row.default)
            for row in profile.rows.values()
            if row.in_execute
        }
        self._heard = _Heard()
        self._waiting = b""
        self._last = time.monotonic()
        worker = premises.launch(command, "", kind=Worker)
        assert isinstance(worker, Worker)
        self.worker = worker

    def play(self, steps: Sequence[Mapping[str, Any]], program: str, patience: float) -> Run:
        """The steps, then whatever the worker does within `patience` seconds after the last."""
        self._last = time.monotonic()
        self._take(steps, program)
        until = self._last + patience
        while not self._over and time.monotonic() < until:
            self._pump(min(until - time.monotonic(), 1.0))
            if self._heard.result is not None:
                assert self._heard.ended_at is not None
                until = min(until, self._heard.ended_at + LINGER_SECONDS)
        return self._run(program)

    @property
    def _over(self) -> bool:
        return self._heard.status is not None

    def _take(self, steps: Sequence[Mapping[str, Any]], program: str) -> None:
        for step in steps:
            if self._over:
                return
            if "repeat" in step:
                for _ in range(step["repeat"]):
                    self._take(step["do"], program)
            elif "read" in step:
                self._await(step["read"])
            elif "wait" in step:
                self._wait(step["wait"] / 1_000)
            elif "close" in step:
                self._close(step["close"])
            else:
                self._write(step, self._bytes(step, program))

    def _bytes(self, step: Mapping[str, Any], program: str) -> bytes:
        if "text" in step:
            return str(step["text"]).encode() * int(step.get("times", 1))
        if "hex" in step:
            return bytes.fromhex(step["hex"]) * int(step.get("times", 1))
        line = json.dumps(self._frame(step, program), ensure_ascii=False, separators=(",", ":"))
        for old, new in step.get("change", ()):
            if line.count(old) != 1:
                raise ValueError(f"{old!r} stands {line.count(old)} times in {line[:200]}")
            line = line.replace(old, new)
        data = line.encode("utf-8", "surrogatepass")
        return data.ljust(step.get("pad_to", 0)) + str(step.get("end", "\n")).encode()

    def _frame(self, step: Mapping[str, Any], program: str) -> dict[str, Any]:
        head: dict[str, Any] = {"type": step["send"], "invocation_id": INVOCATION}
        if step["send"] == "execute":
            return self._execute(step, program)
        if step["send"] == "call":
            return {**head, "type": "host_call", "call_id": 1, "operation": "x", "arguments": {}}
        present = {"ok": True, "value_present": True, "value": step.get("value")}
        if step["send"] == "result":
            return {**head, **present}
        number = step.get("call_id", self._heard.answered + 1)
        self._heard.answered = max(self._heard.answered, number)
        head = {"type": "host_result", "invocation_id": INVOCATION, "call_id": number}
        if "error" in step:
            return {**head, "ok": False, "value_present": False, "error": step["error"]}
        return {**head, **present}

    def _execute(self, step: Mapping[str, Any], program: str) -> dict[str, Any]:
        chosen = {**self._limits, **step.get("limits", {})}
        return {
            "type": "execute",
            "v": load_tables().protocol_version,
            "invocation_id": INVOCATION,
            "source": program,
            "limits": {name: value for name, value in chosen.items() if value is not None},
            "alternatives": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self._profile.alternatives.items()
            },
            "operations": [
                {"name": one.name, "method": one.name, "effect": one.effect}
                for one in self._operations
            ],
        }

    def _write(self, step: Mapping[str, Any], data: bytes) -> None:
        if "with" in step:
            self._waiting += data
            return
        data, self._waiting = self._waiting + data, b""
        if self._transcript is not None:
            for line in data.splitlines() or [data]:
                self._transcript.frame("->", line)
        size = int(step.get("piece", len(data))) or 1
        patience = time.monotonic() + TAKING_SECONDS
        for at in range(0, len(data), size):
            if at:
                self._wait_until_taken(patience)
            self.worker.send(data[at : at + size])
            self._flush()
            if "pause_ms" in step:
                self._wait(step["pause_ms"] / 1_000)
        self._last = time.monotonic()

    def _flush(self) -> None:
        """Until the worker, or its pipe, has taken what was sent; it may not read at all."""
        until = time.monotonic() + self._limits["wall_time_ms"] / 1_000
        while self.worker.unsent and not self._over and time.monotonic() < until:
            self._pump(until - time.monotonic(), written=True)

    def _wait_until_taken(self, until: float) -> None:
        """Until the worker has read what was written, or that time: else two pieces become one."""
        while not self._over and time.monotonic() < until:
            left = self.worker.unread
            if left is None:
                self._wait(UNTOLD_SECONDS)
            if not left:
                return
            self._pump(UNTOLD_SECONDS)

    def _close(self, names: Sequence[str]) -> None:
        self._flush()
        if "stdin" in names:
            self.worker.close_input()
        if "stdout" in names:
            self.worker.close_output()
        self._last = time.monotonic()

    def _await(self, kind: str) -> None:
        heard = self._heard
        start = self._profile.rows["start_timeout_ms"].default
        until = time.monotonic() + (self._limits["wall_time_ms"] + start) / 1_000
        heard.read += kind == "call"
        while not self._over and not heard.broken and time.monotonic() < until:
            if heard.result is not None or (kind == "call" and len(heard.calls) >= heard.read):
                return
            self._pump(min(until - time.monotonic(), 1.0))

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._over and time.monotonic() < until:
            self._pump(until - time.monotonic())

    def _pump(self, seconds: float, *, written: bool = False) -> None:
        events = self.worker.pump(seconds, written=written)
        now = time.monotonic()
        for event in events:
            match event:
                case Chunk(data):
                    self._hear(data, now)
                case Errors(data):
                    self._premises.note_errors(data)
                case Exited(status):
                    if self._transcript is not None:
                        self._transcript.noise(f"it exited with {status}")
                    self._heard.status = status
                    self._heard.ended_at = self._heard.ended_at or now
                case Swollen() | Flooded():
                    self._heard.broken = self._heard.broken or "it used more than it may"
                case _:
                    pass

    def _hear(self, data: bytes, now: float) -> None:
        heard = self._heard
        self._premises.note("stdout", heard.rest[-200:] + data)
        *lines, heard.rest = (heard.rest + data).split(b"\n")
        for line in lines:
            if self._transcript is not None:
                self._transcript.frame("<-", line)
            seen, frame = frames.read(line)
            heard.frames.append(seen)
            heard.broken = heard.broken or self._fault(seen, frame) or ""
            if heard.broken:
                continue
            if seen.kind == "result":
                heard.result, heard.ended_at = frame, now
            else:
                args = Value(present=True, value=frame["arguments"])
                at_ms = round((now - self._last) * 1_000, 3)
                number = frame["call_id"]
                overlap = number - heard.answered
                operation = frame["operation"]
                heard.calls.append(Call(number, operation, args, max(at_ms, 0.0), overlap=overlap))

    def _fault(self, seen: FrameSeen, frame: Mapping[str, Any]) -> str | None:
        heard = self._heard
        if seen.fault:
            return seen.fault
        if heard.result is not None:
            return f"a {seen.kind} after the result"
        if seen.invocation != INVOCATION:
            return f"a {seen.kind} of another invocation"
        if seen.kind == "result":
            return None
        if seen.kind != "host_call":
            return f"a {seen.kind}, which was not agreed"
        wanted = len(heard.calls) + 1
        return None if frame["call_id"] == wanted else f"call {frame['call_id']} for {wanted}"

    def _run(self, program: str) -> Run:
        heard = self._heard
        if heard.rest and not heard.broken:
            heard.broken = "half a line" if heard.result is None else "bytes after the result"
        ended = heard.ended_at if heard.ended_at is not None else time.monotonic()
        common: dict[str, Any] = {
            "program": program,
            "elapsed_ms": max(0.0, round((ended - self._last) * 1_000, 3)),
            "calls": tuple(heard.calls),
            "deadline_ms": float(self._limits["wall_time_ms"]),
            "status": heard.status,
            "frames": tuple(heard.frames),
        }
        if heard.broken:
            return Run(end=End.BROKEN, label=heard.broken, **common)
        if heard.result is None:
            end = End.NO_OUTCOME if heard.status is None else End.EXIT
            return Run(end=end, label=None if self._over else "silent", **common)
        if heard.result["ok"]:
            holder = {"present": heard.result["value_present"], **heard.result}
            return Run(end=End.VALUE, value=value_of(holder), **common)
        error = heard.result["error"]
        entry = load_tables().errors[error["code"]]
        category = entry.category_of(error.get("reason"))
        return Run(end=End.FAILURE, category=category, error=error, native={}, **common)
