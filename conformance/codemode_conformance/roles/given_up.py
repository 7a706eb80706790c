"""What a process has given up, as the system tells: privileges, system calls, files, core dumps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from codemode_conformance.evidence import Fact, State

NAMES: Final = ("no_new_privileges", "filtered", "no_files", "no_core")
PATIENCE_SECONDS: Final = 5.0
"""How long a worker may take to start: the default of `start_timeout_ms`."""

_LOOK_SECONDS: Final = 0.01
_FILTER: Final = "2"  # of the modes of seccomp, the one with a filter


def given_up(pid: int, patience: float = PATIENCE_SECONDS) -> tuple[Fact, ...]:
    """The facts named in NAMES, as soon as all hold or the patience is over."""
    until = time.monotonic() + patience
    while True:
        facts = look(pid)
        if all(fact.state is State.HOLDS for fact in facts) or time.monotonic() > until:
            return facts
        time.sleep(_LOOK_SECONDS)


def look(pid: int) -> tuple[Fact, ...]:
    """The facts as they are now; unobservable where there is no /proc or no such process."""
    status = _fields(Path(f"/proc/{pid}/status"))
    limits = _limits(Path(f"/proc/{pid}/limits"))
    if not status or not limits:
        return tuple(Fact(name, State.UNOBSERVABLE, "no /proc") for name in NAMES)
    found = {
        "no_new_privileges": ("NoNewPrivs", status.get("NoNewPrivs"), "1"),
        "filtered": ("Seccomp", status.get("Seccomp"), _FILTER),
        "no_files": ("Max file size", limits.get("Max file size"), "0"),
        "no_core": ("Max core file size", limits.get("Max core file size"), "0"),
    }
    return tuple(_fact(name, *entry) for name, entry in found.items())


def _fact(name: str, what: str, seen: str | None, wanted: str) -> Fact:
    if seen is None:
        return Fact(name, State.UNOBSERVABLE, f"the kernel does not tell {what}")
    state = State.HOLDS if seen == wanted else State.BROKEN
    return Fact(name, state, f"{what} is {seen}")


def _fields(path: Path) -> dict[str, str]:
    return {
        name: value.strip()
        for name, _, value in (line.partition(":") for line in _lines(path))
        if value
    }


def _limits(path: Path) -> dict[str, str]:
    """The soft limits by name; the columns are of fixed width."""
    return {line[:26].strip(): line[26:47].strip() for line in _lines(path)[1:]}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
