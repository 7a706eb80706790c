"""What happens to a parent, as a text: one step a line, its first letter says which.

| step | what happens |
|---|---|
| `P{...}` | first line only: rows, `"profile"`, and of `Around` what is said |
| `S` | the `execute` frame is not handed over before the next steps |
| `W...` | the worker writes these bytes and a line feed; 0x1e in them is a line feed too |
| `w...` | the worker writes these bytes |
| `B<n>` | the worker writes n spaces |
| `T<ms>` | time passes |
| `A<id> <text>` | the operation of a call returns the value of a text (see `value.building`) |
| `F<id>` | the operation of a call fails |
| `Q<id>` | the operation of a call did not get its turn in time |
| `U` | the worker has used up its processor time, and the grace |
| `E<name>` | an event of `protocol.json` that is no frame |

Any bytes are a script: what is no step is left out, and so is what no caller of a parent does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
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
_KEPT: Final = {"history_headroom_bytes": 40, "batch_history_bytes": 200}
"""The same where records of calls are kept."""
EVENTS: Final = (
    *("execute_sent", "start_timeout", "stdout_eof", "exit_zero", "exit_failure"),
    *("exit_wait_over", "deadline", "cancel"),
)
MOST_STEPS: Final = 60
LINE_FEED: Final = b"\x1e"
"""Stands for a line feed inside what a worker writes at once."""
_MOST_SPACES: Final = 100_000
_MOST_MS: Final = 100_000
_MOST_KEPT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a letter, its number if it has one, its bytes."""

    letter: str
    number: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Around:
    """What is around a parent besides its policy, each by its name in a script.

    `absent`: no value is a legal result. `terminal`: a spent budget ends the invocation.
    `readonly`: nothing may be written. `filtered`: texts are looked for in arguments. `hooks`:
    something sees each call first. `history`: bytes that a history holds, in a profile that bounds
    it; `unsaved`: none of it can be saved; `counted`: nobody saves it.
    """

    absent: bool = False
    terminal: bool = False
    readonly: bool = False
    filtered: bool = False
    hooks: bool = False
    unsaved: bool = False
    counted: bool = False
    history: int | None = None


_AROUND: Final = tuple(field.name for field in fields(Around))


@dataclass(frozen=True, slots=True)
class Script:
    """A profile, a policy of it that is valid, what is around it, and steps."""

    profile: str
    policy: dict[str, int]
    steps: tuple[Step, ...]
    starts: bool
    around: Around


def read(data: bytes) -> Script:
    """The script of some bytes. Never raises."""
    lines = data.split(b"\n")
    changes: dict[str, Any] = {}
    if lines[0].startswith(b"P"):
        changes = header(lines.pop(0)[1:])
    name = changes.pop("profile", DEFAULT_PROFILE)
    name = name if name in tuple(PROFILES) else DEFAULT_PROFILE
    around = _around(name, {key: changes.pop(key) for key in _AROUND if key in changes})
    policy = {**small(name), **changes}
    if invalid_field(policy, PROFILES[name]) is not None:
        policy = small(name)
    starts = lines[:1] != [b"S"]
    steps = (step for line in lines if (step := _step(line)) is not None)
    first = tuple(islice(steps, MOST_STEPS))
    return Script(name, policy, first, starts, around)


def _around(profile: str, said: dict[str, Any]) -> Around:
    alternatives = PROFILES[profile].alternatives
    legal: dict[str, bool] = {
        "absent": False,
        "terminal": alternatives["exhaustion"] == "terminal",
        **{name: value for name, value in said.items() if type(value) is bool},
    }
    # What is legal without a value in a profile stays so.
    legal["absent"] |= alternatives["undefined_result"] == "absent"
    legal.pop("history", None)
    room = said.get("history")
    bounded = "history_headroom_bytes" in PROFILES[profile].rows
    if not bounded or not isinstance(room, int) or isinstance(room, bool) or room < 0:
        return Around(**legal)
    return Around(**legal, history=min(room, _MOST_KEPT))


def small(profile: str) -> dict[str, int]:
    """The policy of a profile with the rows of `SMALL` that it has."""
    rows = PROFILES[profile].defaults()
    return {name: {**SMALL, **_KEPT}.get(name, limit) for name, limit in rows.items()}


def header(data: bytes) -> dict[str, Any]:
    """What the first line says behind its letter; nothing where it is no object."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _step(line: bytes) -> Step | None:
    letter, rest = line[:1].decode("latin-1"), line[1:]
    if letter in ("W", "w"):
        return Step(letter, data=rest.replace(LINE_FEED, b"\n"))
    if letter == "U":
        return Step(letter)
    if letter == "E":
        return Step(letter, data=rest) if rest.decode("latin-1") in EVENTS else None
    word, _, data = rest.partition(b" ")
    if letter not in ("B", "T", "A", "F", "Q") or not word.isdigit() or len(word) > 6:
        return None
    most = {"B": _MOST_SPACES, "T": _MOST_MS}.get(letter, 1000)
    return Step(letter, min(int(word), most), data)
