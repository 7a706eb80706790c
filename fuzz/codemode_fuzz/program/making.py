"""Programs: with a known value, odd, hostile, calling, spoiled; pure functions of a seed."""

from __future__ import annotations

import json
from random import Random
from typing import Final

from codemode_fuzz.blackbox import hostile
from codemode_fuzz.blackbox.expressions import anything
from codemode_fuzz.blackbox.programs import body
from codemode_fuzz.program.oracle import MARK
from codemode_fuzz.splicing import splice

_SEEDS: Final = 60


def program(rng: Random) -> str:
    """A new program."""
    choice = rng.random()
    if choice < 0.45:
        lines, value = body(rng)
        return "\n".join((MARK + json.dumps(value), *lines))
    if choice < 0.6:
        return _calling(rng)
    if choice < 0.75:
        return hostile.odd(rng)
    if choice < 0.95:
        return hostile.act(rng)
    return hostile.closer(rng)


def mutate_program(data: bytes, max_size: int, seed: int) -> bytes:
    """Another program: a new one, or `data` with lines or bytes changed, whose value is free."""
    rng = Random(seed)
    if not data or rng.random() < 0.6:
        return program(rng).encode("utf-8", "ignore")[:max_size]
    lines = [line for line in data.split(b"\n") if not line.startswith(MARK.encode())]
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(lines)) if lines else 0
        if rng.random() < 0.6 and lines:
            lines[at] = splice(rng, lines[at])
        else:
            new = program(rng).encode("utf-8", "ignore").split(b"\n")
            lines.insert(
                at, rng.choice([line for line in new if MARK.encode() not in line] or [b""])
            )
    return b"\n".join(lines)[:max_size]


def program_seeds() -> dict[str, bytes]:
    """Some of each kind, without loops that only end at the deadline."""
    return {
        f"made-{number:02}": program(Random(f"program {number}")).encode("utf-8", "ignore")
        for number in range(_SEEDS)
    }


def _calling(rng: Random) -> str:
    """A program that calls and tells what came of it; the value is known where nothing fails."""
    arguments = [anything(rng, 2) for _ in range(rng.randint(1, 4))]
    calls = [f"codemode.echo({{ v: {argument.text} }})" for argument in arguments]
    expected = [{"v": argument.value} for argument in arguments]
    if rng.random() < 0.3:
        calls[-1] = "codemode.fail({ v: 1 }).catch((e) => e.code)"
        expected[-1:] = ["operation_failed"]  # type: ignore[list-item]
    if rng.random() < 0.5:
        text = f"return Promise.all([{', '.join(calls)}]);"
    else:
        text = f"return [{', '.join('await ' + call for call in calls)}];"
    return f"{MARK}{json.dumps(expected)}\n{text}"
