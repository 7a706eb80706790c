"""What happens to a parent, as a text: one step a line, its first letter says which.

| step | what happens |
|---|---|
| `P{...}` | first line only: rows, `"profile"`, `"readonly"`, `"absent"` (no value is legal) |
| `S` | the `execute` frame is not handed over before the next steps |
| `W...` | the worker writes these bytes and a line feed; 0x1e in them is a line feed too |
| `w...` | the worker writes these bytes |
| `B<n>` | the worker writes n spaces |
| `T<ms>` | time passes |
| `A<id> <text>` | the operation of a call returns the value of a text (see `value.building`) |
| `F<id>` | the operation of a call fails |
| `Q<id>` | the operation of a call did not get its turn in time |
| `E<name>` | an event of `protocol.json` that is no frame |

Any bytes are a script: what is no step is left out, and so is what no caller of a parent does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from codemode_spec.limits import invalid_field
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

PROFILES: Final = load_tables().profiles
SMALL: Final = {
    "host_calls": 3,
    "concurrent_host_calls": 2,
    "pages": 2,
    "snapshots": 1,
    "host_result_bytes": 64,
    "cumulative_host_result_bytes": 100,
    "final_result_bytes": 48,
    "wall_time_ms": 1000,
    "cpu_time_ms": 500,
}
"""A policy whose every limit a short script can reach."""
EVENTS: Final = (
    *("execute_sent", "start_timeout", "stdout_eof", "exit_zero", "exit_failure"),
    *("exit_wait_over", "deadline", "cancel"),
)
MOST_STEPS: Final = 60
LINE_FEED: Final = b"\x1e"
"""Stands for a line feed inside what a worker writes at once."""
_MOST_SPACES: Final = 100_000
_MOST_MS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a letter, its number if it has one, its bytes."""

    letter: str
    number: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Script:
    """A profile, a policy of it that is valid, and steps."""

    profile: str
    policy: dict[str, int]
    steps: tuple[Step, ...]
    starts: bool
    absent: bool
    readonly: bool


def read(data: bytes) -> Script:
    """The script of some bytes. Never raises."""
    lines = data.split(b"\n")
    changes: dict[str, Any] = {}
    if lines[0].startswith(b"P"):
        changes = _changes(lines.pop(0)[1:])
    absent = changes.pop("absent", False) is True
    readonly = changes.pop("readonly", False) is True
    name = changes.pop("profile", DEFAULT_PROFILE)
    name = name if name in tuple(PROFILES) else DEFAULT_PROFILE
    absent |= PROFILES[name].alternatives["undefined_result"] == "absent"
    policy = {**small(name), **changes}
    if invalid_field(policy, PROFILES[name]) is not None:
        policy = small(name)
    starts = lines[:1] != [b"S"]
    steps = (step for line in lines if (step := _step(line)) is not None)
    first = tuple(islice(steps, MOST_STEPS))
    return Script(name, policy, first, starts, absent, readonly)


def small(profile: str) -> dict[str, int]:
    """The policy of a profile with the rows of `SMALL` that it has."""
    rows = PROFILES[profile].defaults()
    return {**rows, **{name: limit for name, limit in SMALL.items() if name in rows}}


def _changes(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _step(line: bytes) -> Step | None:
    letter, rest = line[:1].decode("latin-1"), line[1:]
    if letter in ("W", "w"):
        return Step(letter, data=rest.replace(LINE_FEED, b"\n"))
    if letter == "E":
        return Step(letter, data=rest) if rest.decode("latin-1") in EVENTS else None
    word, _, data = rest.partition(b" ")
    if letter not in ("B", "T", "A", "F", "Q") or not word.isdigit() or len(word) > 6:
        return None
    most = {"B": _MOST_SPACES, "T": _MOST_MS}.get(letter, 1000)
    return Step(letter, min(int(word), most), data)
