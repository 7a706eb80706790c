"""What the parent itself saw: calls and their fate, bytes and codes. Never any content."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SUCCEEDED = "succeeded"


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
    mean that it did nothing.
    """

    call_id: int
    operation: str
    fate: Fate = Fate.unknown
    dispatched: bool = False
    code: str | None = None


@dataclass(slots=True)
class Stats:
    """What the parent saw of one invocation; `stderr_bytes` counts up to `log_bytes`."""

    pid: int
    frames: int = 0
    stderr_bytes: int = 0
    stderr_truncated: bool = False
    calls: Sequence[CallRecord] = ()


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
