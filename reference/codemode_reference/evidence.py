"""What the parent itself saw: calls and their fate, what operations told, bytes and codes."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum, auto
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.tables import load_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

SUCCEEDED = "succeeded"
MOST_WARNINGS: Final = load_tables().shown.warnings
# Those of this implementation: the specification asks for bounds, and that what was left out is
# counted.
MOST_SHOWN: Final = 32
MOST_PATHS: Final = 64
MOST_CHARACTERS: Final = 256


class Fate(StrEnum):
    """What became of an operation, as far as the parent knows."""

    succeeded = auto()
    failed = auto()
    unknown = auto()


@dataclass(slots=True)
class CallRecord:
    """One host call. `code` is the error that the program was sent, if any.

    A call that was refused has failed without being dispatched. One that succeeded with a code gave
    a value that did not reach the program. One that nothing was heard of is unknown, which does not
    mean that it did nothing. `changed` (paths as they are shown, by what tells them apart) and
    `warnings` are what its operation told of itself (see `effects`), `inside` the evidence of
    programs that it ran.
    """

    call_id: int
    operation: str
    fate: Fate = Fate.unknown
    dispatched: bool = False
    code: str | None = None
    changed: dict[str | bytes, str] = field(default_factory=dict)
    changed_total: int = 0
    untracked: bool = False
    warnings: list[str] = field(default_factory=list)
    warnings_total: int = 0
    inside: list[Evidence] = field(default_factory=list)

    def change(self, path: str) -> None:
        """The operation has changed what is at `path`; beyond a bound only the number is kept."""
        told = _identity(path)
        if told not in self.changed:
            self.changed_total += 1
            if len(self.changed) < MOST_PATHS:
                self.changed[told] = path[:MOST_CHARACTERS]

    def warn(self, text: str) -> None:
        """Something that people should know; beyond a bound only the number is kept."""
        self.warnings_total += 1
        if len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(text[:MOST_CHARACTERS])

    def to_json(self) -> dict[str, Any]:
        """The call as a line of a preview."""
        shown: dict[str, Any] = {"op": self.operation, "fate": self.fate.value}
        if self.code is not None:
            shown["code"] = self.code
        if self.inside:
            shown["inside"] = [evidence.to_json() for evidence in self.inside]
        return shown


def _identity(path: str) -> str | bytes:
    """What tells a path from others in bounded space, also where the cut ones are the same."""
    if len(path) <= MOST_CHARACTERS:
        return path
    return sha256(path.encode(errors="surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was done in one invocation, as its parent saw it and whatever its program says.

    `program` is `succeeded` or the code of its failure. `calls` stand in a bounded preview, failed
    and unknown ones first; the totals count all of them.
    """

    program: str
    totals: dict[str, int]
    calls: tuple[dict[str, Any], ...]
    changed: tuple[str, ...]
    changed_total: int
    untracked: bool
    warnings: tuple[str, ...]
    warnings_total: int

    def to_json(self) -> dict[str, Any]:
        """It as plain data."""
        return {
            "program": self.program,
            "totals": dict(self.totals),
            "calls": list(self.calls),
            "changed": list(self.changed),
            "changed_total": self.changed_total,
            "untracked": self.untracked,
            "warnings": list(self.warnings),
            "warnings_total": self.warnings_total,
        }


def evidence_of(program: str, records: Sequence[CallRecord]) -> Evidence:
    """What these records come to, at this moment."""
    first = sorted(records, key=lambda record: record.fate == Fate.succeeded)
    told: dict[str | bytes, str] = {}
    for record in records:
        told.update(record.changed)
    changed = list(told.values())
    warnings = [text for record in records for text in record.warnings]
    beyond = sum(record.changed_total - len(record.changed) for record in records)
    return Evidence(
        program,
        {fate.value: sum(record.fate == fate for record in records) for fate in Fate},
        tuple(record.to_json() for record in first[:MOST_SHOWN]),
        tuple(changed[:MOST_PATHS]),
        len(changed) + beyond,
        any(record.untracked for record in records),
        tuple(warnings[:MOST_WARNINGS]),
        sum(record.warnings_total for record in records),
    )


effects: ContextVar[CallRecord | None] = ContextVar("effects", default=None)
"""The record of the call that a handler works for; None for a call without a program."""


def changed(path: str) -> None:
    """For handlers: something at `path` was changed, which goes on record."""
    record = effects.get()
    if record is not None:
        record.change(path)


def warn(text: str) -> None:
    """For handlers: something that people should know, which goes on record."""
    record = effects.get()
    if record is not None:
        record.warn(text)


@dataclass(slots=True)
class Stats:
    """What the parent saw of one invocation; `stderr_bytes` counts up to `log_bytes`.

    What its worker used is known once it is reaped: wall time since `execute`, processor time, and
    the most memory that was resident (0: not known).
    """

    pid: int
    frames: int = 0
    stderr_bytes: int = 0
    stderr_truncated: bool = False
    calls: Sequence[CallRecord] = ()
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    memory_bytes: int = 0


@dataclass(slots=True)
class Statistics:
    """Counters of a parent over all of its invocations, by outcome and by code."""

    outcomes: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    stderr_bytes: int = 0
    stderr_truncated: int = 0

    def count_outcome(self, code: str | None) -> None:
        """One invocation ended with this code; None for success."""
        self.outcomes[code or SUCCEEDED] += 1

    def count_worker(self, stats: Stats) -> None:
        """One worker is gone."""
        self.calls.update(record.code or record.fate for record in stats.calls)
        self.stderr_bytes += stats.stderr_bytes
        self.stderr_truncated += stats.stderr_truncated

    def to_json(self) -> dict[str, Any]:
        """The counters as plain data."""
        return {
            "outcomes": dict(self.outcomes),
            "calls": dict(self.calls),
            "stderr_bytes": self.stderr_bytes,
            "stderr_truncated": self.stderr_truncated,
        }
