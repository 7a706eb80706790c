"""What the suite, as a parent, writes to a target's worker: frames right and with a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import legal, reading
from codemode_fuzz.blackbox.streams import value_of
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.spelling import spell

if TYPE_CHECKING:
    from random import Random

INVOCATION: Final = 1_234_567_890_123
"""The id of every invocation in this role."""
_ODDS: Final = 0.4
_BAD_FRAME: Final = {"outcome": "exit", "status": 3}


def told(rng: Random) -> dict[str, Any]:
    """A bad first frame, or a reply to the one call of a program, right or wrong."""
    return _first(rng) if rng.random() < _ODDS else _reply(rng)


def _first(rng: Random) -> dict[str, Any]:
    line = b"{}"
    for _ in range(10):
        frame = legal.frame(rng, rng.choice(("execute", "host_result", "host_call", "result")))
        made = FAULTS[rng.choice(sorted(FAULTS))](rng, frame)
        if b"\n" not in made and _is_bad(made):
            line = made
            break
    return {
        "requirements": {"outcome": "CM-FRM-012"},
        "parent": [{"hex": (line + b"\n").hex()}],
        "expect": [_BAD_FRAME],
    }


def _is_bad(line: bytes) -> bool:
    """Whether every worker refuses a first line; alternatives are the profile's to say."""
    kinds = {kind for kind, _ in reading.frame(line)}
    return "execute" not in kinds and b"alternatives" not in line


def _reply(rng: Random) -> dict[str, Any]:
    right = {"invocation_id": INVOCATION, "call_id": 1}
    frame = legal.frame(rng, "host_result") | right
    line = spell(frame, rng)
    if rng.random() < 1 - _ODDS:
        line = FAULTS[rng.choice(sorted(FAULTS))](rng, frame).replace(b"\n", b" ")
    return {
        "requirements": {"outcome": "CM-FRM-012", "value": "CM-FRM-003"},
        "alternatives": {"script_style": ["async"]},
        "operations": [{"name": "echo", "effect": "read", "behaviour": [{"value": 1}]}],
        "program": {"javascript": 'return await host.call("echo", {});'},
        "parent": [{"send": "execute"}, {"read": "call"}, {"hex": (line + b"\n").hex()}],
        "expect": [_expected(line)],
    }


def _expected(line: bytes) -> dict[str, Any]:
    (kind, frame), _ = reading.frame(line)
    ids = frame.get("invocation_id"), frame.get("call_id")
    if kind != "host_result" or ids != (INVOCATION, 1):
        return _BAD_FRAME
    return value_of(frame) if frame["ok"] else {"outcome": "failure"}
