"""Structured inputs for the frame decoder: pure functions of their seed, without atheris."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import legal
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.reading import FRAME_BYTES, SMALL_LINE
from codemode_fuzz.spelling import spell
from codemode_fuzz.splicing import splice

if TYPE_CHECKING:
    from collections.abc import Callable

# Most inputs are small, because a large one takes the time of many.
_LARGE = 0.01
_MOST_LINES = 6
_LONG = 4096
_DEEPEST_KNOWN = 40


def frames(seed: int) -> bytes:
    """A stream made from nothing: a legal conversation, most often with a few faults."""
    rng = Random(seed)
    conversation = legal.conversation(rng, rng.choice(("parent", "worker")))
    lines = [spell(frame, rng if rng.random() < 0.2 else None) for frame in conversation]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        lines[at] = fault(rng, conversation[at])
    if rng.random() < 0.3:
        lines = STREAM_FAULTS[rng.choice(sorted(STREAM_FAULTS))](rng, lines)
    return b"\n".join(lines) + (b"\n" if rng.random() < 0.9 else b"")


def mutate_frames(data: bytes, max_size: int, seed: int) -> bytes:
    """Another stream: `data` with one line or its order changed, or one made from nothing."""
    rng = Random(seed)
    if not data or rng.random() < (0.7 if len(data) > _LONG else 0.25):
        return frames(rng.getrandbits(32))[:max_size]
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.3:
            lines = STREAM_FAULTS[rng.choice(sorted(STREAM_FAULTS))](rng, lines)
            continue
        at = rng.randrange(len(lines))
        lines[at] = _changed(rng, lines[at])
    while len(lines) > _MOST_LINES:
        del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)[:max_size]


def fault(rng: Random, frame: dict[str, Any]) -> bytes:
    """The line of a frame with one fault."""
    return FAULTS[rng.choice(sorted(FAULTS))](rng, frame)


def _changed(rng: Random, line: bytes) -> bytes:
    frame = _frame(line)
    if frame is not None and rng.random() < 0.7:
        return fault(rng, frame)
    if rng.random() < 0.3:
        return fault(rng, legal.frame(rng, rng.choice(legal.KINDS)))
    return splice(rng, line)


def _frame(line: bytes) -> dict[str, Any] | None:
    # Deep lines are left to the changes of bytes: what follows here is recursive.
    if line.count(b"[") + line.count(b"{") > _DEEPEST_KNOWN:
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("type"), str) else None


def _sized(rng: Random, lines: list[bytes], limit: int) -> list[bytes]:
    """One line brought to just below, at or just above a limit."""
    at = rng.randrange(len(lines))
    size = limit + rng.choice((-1, 0, 1))
    lines[at] = lines[at].ljust(size, b" ") if rng.random() < 0.7 else b"x" * size
    return lines


def _line_limit(rng: Random, lines: list[bytes]) -> list[bytes]:
    return _sized(rng, lines, FRAME_BYTES if rng.random() < _LARGE else SMALL_LINE)


def _empty_line(rng: Random, lines: list[bytes]) -> list[bytes]:
    lines.insert(rng.randint(0, len(lines)), rng.choice((b"", b"\r", b" ", b"\x00")))
    return lines


def _joined(rng: Random, lines: list[bytes]) -> list[bytes]:
    return [rng.choice((b"", b" ", b"\r", b"\r\n\r")).join(lines)]


def _repeated(rng: Random, lines: list[bytes]) -> list[bytes]:
    lines.insert(rng.randint(0, len(lines)), rng.choice(lines))
    return lines


def _swapped(rng: Random, lines: list[bytes]) -> list[bytes]:
    rng.shuffle(lines)
    return lines


def _dropped(rng: Random, lines: list[bytes]) -> list[bytes]:
    return rng.sample(lines, rng.randint(1, len(lines)))


def _garbage(rng: Random, lines: list[bytes]) -> list[bytes]:
    lines.insert(rng.randint(0, len(lines)), rng.randbytes(rng.randint(1, 40)))
    return lines


def _with_carriage_returns(_rng: Random, lines: list[bytes]) -> list[bytes]:
    return [line + b"\r" for line in lines]


STREAM_FAULTS: Final[dict[str, Callable[[Random, list[bytes]], list[bytes]]]] = {
    "carriage_returns": _with_carriage_returns,
    "dropped": _dropped,
    "empty_line": _empty_line,
    "garbage": _garbage,
    "joined": _joined,
    "line_limit": _line_limit,
    "repeated": _repeated,
    "swapped": _swapped,
}
