"""What the harness saw while it ran one case: values only, no I/O, no verdict.

Times are milliseconds of the harness clock since the `run` line was written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_conformance.evidence import Fact
    from codemode_conformance.frames import FrameSeen

Odd = tuple[tuple[tuple[str | int, ...], str], ...]


class End(StrEnum):
    """How a run ended, as the harness saw it."""

    VALUE = "value"
    FAILURE = "failure"
    NO_OUTCOME = "no_outcome"  # nothing came before the deadline, the grace and the ending rules
    HOST_DIED = "host_died"  # the adapter exited while the run was open
    MEMORY = "memory"  # the watchdog killed the target
    TWO_OUTCOMES = "two_outcomes"  # a second outcome came for the same run
    EXIT = "exit"  # the worker ended without a result (role worker)
    BROKEN = "broken"  # the worker wrote what is no legal frame at its place (role worker)


class Health(StrEnum):
    """Whether the same process and session ran `return 1` after the case."""

    NOT_ASKED = "not_asked"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"  # it answered, but not with 1
    DEAD = "dead"  # it did not answer


@dataclass(frozen=True, slots=True)
class Value:
    """A value as the target handed it over; `odd` marks what JSON lost, as (path, kind)."""

    present: bool
    value: Any = None
    odd: Odd = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One dispatched host call; `overlap` counts the calls open as it arrived, with itself.

    `late` says that the run had its outcome already.
    """

    number: int
    op: str
    args: Value
    at_ms: float
    answered_ms: float | None = None
    cancelled_ms: float | None = None
    overlap: int = 1
    late: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a server to a request of a scripted client, in the order in which they came.

    `request` is its name; `kind` is value, failure, result (of another method than a tool's), or
    refused (an error of JSON-RPC, whose number is `code`). `told` says that a failure has a code
    and a message; `took_ms` is the time since the request was sent.
    """

    request: str
    kind: str
    value: Value = Value(present=False)
    category: str | None = None
    code: str | int | None = None
    limit: Any = None
    told: bool = False
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one program, from `run` to its end.

    `category`, `error` and `native` are set for END.FAILURE; `label` says `blocked` or `silent`
    for a run without an outcome (`not_started` when the call it waited for never came); `stage` is
    `open` when the target refused the session instead. `forced` names the ending step without which
    the outcome would not have come: `answer` or `cancel`. `progress` is what its host was told,
    `evidence` the target's own record of the calls. `status` is how the worker exited, minus a
    signal (role worker); `frames` are the lines that the target wrote to the end that we play,
    `facts` what the system says of the worker processes, or what holds of all that a server wrote;
    `answers` are those to a scripted client (role server), which has `asked` so many requests of
    each name and has got so many `reports` of progress for them.
    """

    program: str
    end: End
    elapsed_ms: float
    value: Value = Value(present=False)
    category: str | None = None
    error: Mapping[str, Any] | None = None
    native: Mapping[str, Any] | None = None
    label: str | None = None
    stage: str = "run"
    calls: tuple[Call, ...] = ()
    logs: tuple[str, ...] = ()
    progress: tuple[Mapping[str, Any], ...] = ()
    deadline_ms: float = 0.0
    forced: str | None = None
    evidence: Mapping[str, Any] | None = None
    status: int | None = None
    frames: tuple[FrameSeen, ...] = ()
    facts: tuple[Fact, ...] = ()
    answers: tuple[Answer, ...] = ()
    asked: Mapping[str, int] = field(default_factory=dict)
    reports: Mapping[str, int] = field(default_factory=dict)

    @property
    def late_calls(self) -> tuple[Call, ...]:
        """The calls that came after the outcome."""
        return tuple(call for call in self.calls if call.late)


@dataclass(frozen=True, slots=True)
class CanaryHit:
    """A planted secret that the target emitted: which one, in which form, and where."""

    canary: str
    form: str
    where: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the adapter, the harness or the surroundings; it makes the verdict `error`."""

    side: str  # adapter | harness | surroundings
    text: str


OFFERED: Final = "offered"
"""Instead of "none" in `effective`: there is no limit until the host sets one, which it can."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything seen for one case on one target.

    `unsupported` is set when the target could not be asked (with the reason); `runs` are the runs
    of the case in order of their start, `then` the follow-ups, `after` the health afterwards.
    `effective` is what the target says of each row: a number, "none" or "unknown", or OFFERED.
    `level` is that of what was seen of worker processes, with the reason if it is not A; empty if
    none were asked. `traced` says that the target was followed by a tracer.
    """

    case: str
    runs: tuple[Run, ...] = ()
    then: tuple[Run, ...] = ()
    after: Health = Health.NOT_ASKED
    after_detail: str = ""
    canaries: tuple[CanaryHit, ...] = ()
    notes: tuple[str, ...] = ()
    effective: Mapping[str, Any] = field(default_factory=dict)
    unsupported: str | None = None
    fault: Fault | None = None
    level: tuple[str, str] = ("", "")
    traced: bool = False
