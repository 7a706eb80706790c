"""What the suite's worker writes to a target's parent: legal frames and frames with one fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import legal, reading
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.spelling import spell

if TYPE_CHECKING:
    from random import Random

_ID: Final = 424_242_424_242_424
"""Stands for the id of the invocation, which is not known before the parent says it."""
_PROTOCOL: Final = {"outcome": "failure"}


def stream(rng: Random) -> dict[str, Any]:
    """One result, right or wrong, and what a parent makes of it."""
    frame = legal.frame(rng, "result") | {"invocation_id": _ID}
    while not frame["ok"] and rng.random() < 0.7:
        frame = legal.frame(rng, "result") | {"invocation_id": _ID}
    fault = rng.choice(sorted(FAULTS)) if rng.random() < 0.8 else ""
    line = FAULTS[fault](rng, frame) if fault else spell(frame, rng)
    steps: list[dict[str, Any]] = [{"read": "execute"}, *_steps(rng, line)]
    return {
        "requirements": {"outcome": "CM-FRM-030", "value": "CM-FRM-003"},
        "worker": [*steps, {"wait": "for_ever"}] if rng.random() < 0.3 else steps,
        "expect": [expected(line)],
    }


def expected(line: bytes) -> dict[str, Any]:
    """What the parent's program ends with: the value of a legal result, or a failure."""
    if b"\n" in line:
        return {"outcome": "any"}
    (strict, frame), (lenient, _) = reading.frame(line)
    if strict != lenient:
        return {"outcome": "any"}  # legal or not by the profile
    if strict != "result" or frame["invocation_id"] != _ID or not frame["ok"]:
        return _PROTOCOL
    return value_of(frame)


def value_of(frame: dict[str, Any]) -> dict[str, Any]:
    """What a program ends with that is given the value of this frame."""
    # What becomes of a negative zero on its way is asked by cases, not here.
    if "-0.0" in repr(frame["value"]):
        return {"outcome": "any"}
    return {"outcome": "value", "value": frame["value"]}


def _steps(rng: Random, line: bytes) -> list[dict[str, Any]]:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return [{"hex": (line + b"\n").hex()}]
    parts: list[Any] = []
    for number, part in enumerate(text.split(str(_ID))):
        parts += [{"$": "invocation_id"}] if number else []
        parts += [part.replace("@{", "@@{")] if part else []
    step: dict[str, Any] = {"text": [*parts, "\n"]}
    if rng.random() < 0.3:
        step["piece"] = rng.choice((1, 7, 64))
    return [step]
