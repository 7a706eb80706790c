"""Texts of host values: seeds and mutations, pure functions of their seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from codemode_spec.vectors import load_vectors
from codemode_spec.vectors.lines import line_bytes

from codemode_fuzz import legal
from codemode_fuzz.reading import DEPTH
from codemode_fuzz.splicing import splice
from codemode_fuzz.value.building import MOST, NEST, ODD, ODDS, TEXT, TIMES

_LARGEST_SEED: Final = 4096
_EDGES: Final = tuple(4096 + n for n in (-2, -1, 0, 1))  # where long texts are cut into pieces
_NUMBERS: Final = (
    *("NaN", "Infinity", "-Infinity", "1e400", "-0", "-0.0", "1e21", "1e-7", "5e-324"),
    *("9007199254740991", "9007199254740993", "9007199254740994", "123456789012345680000"),
    *("1e16", "1e22", "999999999999999900000", "0.000001", "0.0000001", "1" + "0" * 308),
    *("1" + "0" * 309, "1.7976931348623157e308", "3.0", "100", "1e2", "123456.789e-3"),
)


def text(rng: Random, depth: int = 3) -> str:
    """The text of a value, legal most of the time."""
    choice = rng.randrange(12)
    if choice == 0:
        return rng.choice(_NUMBERS)
    if choice == 1:
        return _number(rng)
    if choice == 2:
        return f'{{"{ODD}":"{rng.choice(sorted(ODDS))}"}}'
    if choice == 3:
        times = rng.choice((DEPTH - 1, DEPTH, DEPTH + 1, 2, 3, 4))
        inner = rng.choice(("1", "[]", "{}"))
        return f'{{"{NEST}":[{times},{inner},"{rng.choice("ao")}"]}}'
    if choice == 4 and depth:
        times = rng.choice((0, 1, 2, 2, 3, 3, 9, 9, MOST[TIMES]))
        return f'{{"{TIMES}":[{times},{text(rng, depth - 1)}]}}'
    if choice == 5:
        return f'{{"{TEXT}":[{rng.choice((1, 9, *_EDGES))},{json.dumps(_words(rng))}]}}'
    if choice in (6, 7) and depth:
        return "[" + ",".join(text(rng, depth - 1) for _ in range(rng.randint(0, 4))) + "]"
    if choice in (8, 9) and depth:
        members = (
            f"{json.dumps(_words(rng))}:{text(rng, depth - 1)}" for _ in range(rng.randint(0, 4))
        )
        return "{" + ",".join(members) + "}"
    if choice == 10:
        return json.dumps(_words(rng), ensure_ascii=rng.random() < 0.5)
    return json.dumps(legal.value(rng, 2))


def mutate_value(data: bytes, max_size: int, seed: int) -> bytes:
    """Another text: a new one, or `data` with a part replaced or its bytes changed."""
    rng = Random(seed)
    choice = rng.random()
    if not data or choice < 0.4:
        made = text(rng)
    elif choice < 0.7:
        made = _replaced(rng, data.decode("utf-8", "surrogateescape"))
    else:
        return splice(rng, data)[:max_size]
    return made.encode("utf-8", "surrogatepass")[:max_size]


def value_seeds() -> dict[str, bytes]:
    """The vectors of sizes, each odd value, the edges of depth, and texts made at random."""
    seeds: dict[str, bytes] = {}
    for vector in load_vectors("sizes")["vectors"]:
        line = line_bytes(vector["json"], {})
        if len(line) <= _LARGEST_SEED:
            seeds[f"vector-{vector['id'].replace('.', '-')}"] = line
    for name in ODDS:
        seeds[f"odd-{name}"] = f'[{{"{ODD}":"{name}"}}]'.encode()
    for depth in (DEPTH - 1, DEPTH, DEPTH + 1):
        for how in "ao":
            seeds[f"nest-{how}-{depth}"] = f'{{"{NEST}":[{depth},1,"{how}"]}}'.encode()
    for number in _EDGES:
        seeds[f"long-{number}"] = f'{{"{TEXT}":[{number},"\\u00e9"]}}'.encode()
    seeds["shared"] = f'{{"{TIMES}":[9,{{"{TIMES}":[9,[1]]}}]}}'.encode()
    for number in range(40):
        seeds[f"made-{number:02}"] = text(Random(f"value {number}")).encode(
            "utf-8", "surrogatepass"
        )
    return seeds


def _number(rng: Random) -> str:
    digits = str(rng.getrandbits(rng.choice((3, 20, 53, 54, 60, 70))))
    if rng.random() < 0.5:
        at = rng.randint(1, len(digits))
        digits = f"{digits[:at]}.{digits[at:] or '0'}"
    exponent = f"e{rng.randint(-30, 30)}" if rng.random() < 0.5 else ""
    return rng.choice(("", "-")) + digits + exponent


def _words(rng: Random) -> str:
    kinds = (
        "a",
        '"',
        "\\",
        "/",
        "\n",
        "\x00",
        "\x1f",
        "\x7f",
        "é",
        "\u2028",
        "\U0001f600",
        "\ud800",
    )
    many = 8 if rng.random() < 0.1 else 3
    return "".join(rng.choice(kinds[: -1 if rng.random() < 0.9 else None]) for _ in range(many))


def _replaced(rng: Random, before: str) -> str:
    try:
        found: Any = json.loads(before)
    except (ValueError, RecursionError):
        return text(rng)
    parts = _parts(found)
    if not parts:
        return text(rng)
    holder, key = rng.choice(parts)
    try:
        holder[key] = json.loads(text(rng, 1))
        return json.dumps(found)
    except (ValueError, RecursionError):
        return text(rng)


def _parts(found: Any) -> list[tuple[Any, Any]]:
    """Every place of a value that can be replaced, as (holder, key)."""
    places: list[tuple[Any, Any]] = []
    left = [found]
    while left:
        item = left.pop()
        if isinstance(item, dict | list):
            keys = list(item) if isinstance(item, dict) else list(range(len(item)))
            places += [(item, key) for key in keys]
            left += [item[key] for key in keys]
    return places
