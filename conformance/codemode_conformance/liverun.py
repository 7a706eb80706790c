"""One run while it goes on: its ledger, its deadline, and the steps of ending it. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.observation import Call, End, Run, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.programs import RunSpec

    from codemode_conformance.evidence import Fact
    from codemode_conformance.frames import FrameSeen


class Phase(IntEnum):
    """How far a run is. From `ANSWERED` on the harness ends it."""

    WAITING = 0  # not started: the call it waits for has not come
    RUNNING = 1
    ANSWERED = 2  # every open call was answered with an error
    CANCELLED = 3
    PINGED = 4
    SPENT = 5  # all steps were taken in vain
    ENDED = 6


STEP_SECONDS: Final = {Phase.ANSWERED: 0.3, Phase.CANCELLED: 0.5, Phase.PINGED: 0.5}
"""How long each ending step waits for the outcome."""

MOST_PROGRESS: Final = 1_000
"""More messages of one run are not kept."""


@dataclass(slots=True)
class LiveCall:
    """One host call; times are monotonic seconds."""

    number: int
    op: str
    args: Value
    at: float
    overlap: int
    late: bool = False
    answered: float | None = None
    cancelled: float | None = None

    @property
    def open(self) -> bool:
        """Whether it waits for its reply."""
        return self.answered is None and self.cancelled is None


@dataclass(slots=True)
class LiveRun:
    """A run from `run` to its end; times are monotonic seconds."""

    id: int
    session: int
    spec: RunSpec
    deadline_seconds: float
    grace_seconds: float
    phase: Phase = Phase.WAITING
    started: float = 0.0
    step_at: float = 0.0
    cancel_at: float | None = None
    ping: int | None = None
    calls: dict[int, LiveCall] = field(default_factory=dict)
    outcome: Mapping[str, Any] | None = None
    ended: float | None = None
    end: End | None = None
    label: str | None = None
    forced: str | None = None
    detail: str = ""
    frames: tuple[FrameSeen, ...] = ()
    facts: tuple[Fact, ...] = ()
    progress: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def going(self) -> bool:
        """Whether an outcome may still come."""
        return Phase.RUNNING <= self.phase < Phase.SPENT

    @property
    def ending(self) -> bool:
        """Whether the harness has begun to end it."""
        return Phase.ANSWERED <= self.phase <= Phase.SPENT

    @property
    def open_calls(self) -> list[LiveCall]:
        """The calls that wait for a reply."""
        return [call for call in self.calls.values() if call.open]

    @property
    def next_at(self) -> float | None:
        """When something is to be done about it."""
        if not self.going:
            return None
        return self.step_at if self.cancel_at is None else min(self.step_at, self.cancel_at)

    def start(self, now: float) -> None:
        """It was sent."""
        self.phase = Phase.RUNNING
        self.started = now
        self.step_at = now + self.deadline_seconds + self.grace_seconds
        if self.spec.cancel_after_ms is not None:
            self.cancel_at = now + self.spec.cancel_after_ms / 1_000

    def extend(self, seconds: float) -> None:
        """Time that the harness itself takes, where the deadline does not count it."""
        self.deadline_seconds += seconds
        if self.phase is Phase.RUNNING:
            self.step_at += seconds

    def step(self, phase: Phase, now: float) -> None:
        """Go on to an ending step."""
        self.phase = phase
        self.step_at = now + STEP_SECONDS.get(phase, 0.0)
        if phase is Phase.SPENT:
            self.end, self.ended = End.NO_OUTCOME, now

    def call(self, message: Mapping[str, Any], now: float) -> LiveCall:
        """Enter a call into the ledger; KeyError when its number was used."""
        number = message["c"]
        if number in self.calls:
            raise KeyError(number)
        call = LiveCall(number, message["op"], value_of(message["args"]), now, 0)
        call.late = self.outcome is not None
        self.calls[number] = call
        call.overlap = len(self.open_calls)
        return call

    def tell(self, message: Mapping[str, Any]) -> None:
        """Keep what its host was told of its progress."""
        if len(self.progress) < MOST_PROGRESS:
            parts = ("current", "total", "message")
            self.progress.append({part: message[part] for part in parts if part in message})

    def conclude(self, message: Mapping[str, Any], now: float) -> None:
        """Its outcome came; a second one makes the end TWO_OUTCOMES."""
        if self.outcome is not None:
            self.end = End.TWO_OUTCOMES
            return
        steps = {Phase.ANSWERED: "answer", Phase.CANCELLED: "cancel", Phase.PINGED: "cancel"}
        self.forced = steps.get(self.phase)
        self.outcome, self.ended = message, now
        self.end = End.VALUE if message["ok"] else End.FAILURE
        self.phase = Phase.ENDED

    def lose(self, end: End, now: float, detail: str) -> None:
        """The process went while it was open."""
        self.phase, self.end, self.ended, self.detail = Phase.ENDED, end, now, detail

    def record(self) -> Run:
        """What there is to say of it now."""
        outcome = self.outcome or {}
        if self.phase is Phase.WAITING:
            return Run(self.spec.program, End.NO_OUTCOME, 0.0, label="not_started")
        return Run(
            program=self.spec.program,
            end=self.end or End.NO_OUTCOME,
            elapsed_ms=self._ms(self.ended) or 0.0,
            value=value_of(outcome) if outcome.get("ok") else Value(present=False),
            category=outcome.get("category"),
            error=outcome.get("error"),
            native=outcome.get("native"),
            label=self.label or (self.detail or None),
            calls=tuple(self._call(call) for call in self.calls.values()),
            logs=tuple(outcome.get("logs", ())),
            progress=tuple(self.progress),
            deadline_ms=self.deadline_seconds * 1_000,
            forced=self.forced,
            evidence=outcome.get("evidence"),
            frames=self.frames,
            facts=self.facts,
        )

    def _call(self, call: LiveCall) -> Call:
        at = self._ms(call.at)
        assert at is not None
        return Call(
            call.number,
            call.op,
            call.args,
            at,
            self._ms(call.answered),
            self._ms(call.cancelled),
            call.overlap,
            call.late,
        )

    def _ms(self, at: float | None) -> float | None:
        return None if at is None else round((at - self.started) * 1_000, 3)


def value_of(holder: Mapping[str, Any]) -> Value:
    """The value of a message's `present`, `value` and `odd`."""
    odd = tuple((tuple(path), kind) for path, kind in holder.get("odd", ()))
    return Value(holder["present"], holder.get("value"), odd)
