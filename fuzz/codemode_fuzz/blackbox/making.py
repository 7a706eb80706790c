"""Cases from a seed: a pure function of the role, the seed and the number of the case."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.expansion import expanded

from codemode_fuzz.blackbox import hostile
from codemode_fuzz.blackbox.calls import calls
from codemode_fuzz.blackbox.programs import body
from codemode_fuzz.blackbox.replies import told
from codemode_fuzz.blackbox.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codemode_spec import Case

AREA: Final = "ISO"
ROLES: Final = ("engine", "server", "worker", "parent")
_WALL_MS: Final = 2_000

Document = dict[str, Any]


def document(role: str, seed: int, number: int) -> Document:
    """The document of a case, in the format of `cases/`."""
    rng = Random(f"{role} {seed} {number}")
    kinds = _STREAMS.get(role, _PROGRAMS)
    kind = rng.choices(list(kinds), [weight for weight, _ in kinds.values()])[0]
    made = kinds[kind][1](rng)
    title = f"A generated {kind.replace('-', ' ')}"
    return {"id": f"fuz.{kind}-{seed}-{number}", "title": title, "roles": [role], **made}


def case_of(made: Mapping[str, Any]) -> Case:
    """The case of a document."""
    return expanded(AREA, None, made)


def _escaped(program: str) -> str:
    """A program as a case holds it: what looks like a template there is none."""
    return program.replace("@{", "@@{")


def _known(rng: Random) -> Document:
    lines, value = body(rng)
    return {
        "requirements": {"outcome": "CM-RET-001", "value": "CM-RET-001"},
        "program": {"javascript": _escaped("\n".join(lines))},
        "expect": [{"outcome": "value", "value": value}],
    }


def _free(text: str, **more: Any) -> Document:
    return {
        "requirements": {"outcome": "CM-LIF-002", "evidence": "CM-ISO-004"},
        "program": {"javascript": _escaped(text)},
        "expect": [{"outcome": "any", "evidence": {"canaries": ["env", "file", "url"]}}],
        "raw": True,
        **more,
    }


def _loop(rng: Random) -> Document:
    made = _free(hostile.loop(rng))
    return made | {"prefer": {"wall_time_ms": _WALL_MS, "memory_bytes": 33_554_432}}


def _act(rng: Random) -> Document:
    # What a program does to its built-ins is gone for the next one.
    made = _free(hostile.act(rng), fresh_after=True)
    follow = (
        "return [[1], { a: [true, null] }, 'x'.toUpperCase(), [3, 1, 2].sort(), typeof ({}).ok];"
    )
    expected = [[1], {"a": [True, None]}, "X", [1, 2, 3], "undefined"]
    return made | {
        "requirements": made["requirements"] | {"value": "CM-ISO-001"},
        "then": [
            {
                "program": {"javascript": follow},
                "expect": [{"outcome": "value", "value": expected}],
            }
        ],
    }


def _closer(rng: Random) -> Document:
    return {
        "requirements": {"outcome": "CM-SRC-007"},
        "program": {"javascript": _escaped(hostile.closer(rng))},
        "expect": [{"outcome": "failure"}],
        # Where the text is a function itself, it has nothing around it that it could close.
        "alternatives": {"source_form": ["function_body", "completion_value"]},
        "raw": True,
    }


_PROGRAMS: Final[dict[str, tuple[int, Callable[[Random], Document]]]] = {
    "value": (38, _known),
    "calls": (18, calls),
    "odd-value": (14, lambda rng: _free(hostile.odd(rng))),
    "spoiled-source": (12, lambda rng: _free(hostile.spoiled(rng))),
    "hostile-act": (12, _act),
    "closer": (4, _closer),
    "loop": (2, _loop),
}
_STREAMS: Final[dict[str, dict[str, tuple[int, Callable[[Random], Document]]]]] = {
    "parent": {"stream": (1, stream)},
    "worker": {"reply": (1, told)},
}
