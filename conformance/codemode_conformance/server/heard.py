"""What a scripted client has asked a server, and what it has heard of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemode_spec.answers import NOBODY

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(slots=True)
class Asked:
    """One request: its name, method, id and progress token, and when it was sent (seconds)."""

    name: str
    method: str
    number: Any
    at: float
    token: Any = None
    answered: int = 0
    odd: bool = False  # it may be answered with the id null: its own is none, or cannot be read


@dataclass(slots=True)
class Answered:
    """One answer: the request that it is for, the message, and how long it took, in ms."""

    asked: Asked | None
    message: Mapping[str, Any]
    took_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """One message of progress: the request of its token, if one was open, and its parameters."""

    asked: Asked | None
    params: Mapping[str, Any]


@dataclass(slots=True)
class Heard:
    """All that came: answers in order, messages of progress, and what was wrong."""

    answers: list[Answered] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    first_peak: int = 0  # bytes of memory once it was introduced, and at most
    peak: int = 0
    lost: str = ""  # memory or flood, in words
    unanswered: str = ""
    status: int | None = None
    rest: bytes = b""


def name_of(answered: Answered) -> str:
    """The name of the request that an answer is for."""
    return NOBODY if answered.asked is None else answered.asked.name


def peak_of(pid: int) -> int:
    """The most memory that a process has had, in bytes; 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+([0-9]+) kB$", text, re.MULTILINE)
    return 0 if found is None else int(found[1]) * 1_024
