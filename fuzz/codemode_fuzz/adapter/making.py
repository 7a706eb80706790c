"""What an adapter may print: messages, messages with a fault, noise; pure functions of a seed."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import legal
from codemode_fuzz.adapter.oracle import KEY, LIMIT
from codemode_fuzz.faults import DEPTHS, EDGES, NUMBERS, TAILS, TEXTS
from codemode_fuzz.spelling import Members, Raw, escaped, spell
from codemode_fuzz.splicing import splice

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_fuzz.legal import Frame

_ODD: Final = ("NaN", "-0", "undefined", "hole", "cycle", "Map", "lone_surrogate", "unknown")
_CATEGORIES: Final = ("time", "memory", "script", "host", "other")
_MOST_LINES: Final = 6
_READ_DEPTHS: Final = (398, 399, 400, 401, 3000)
NOISE: Final = (
    *(b"", b" ", b"\r", b"hello", b"{}", b"[]", b"null", b"\x00", b"\xff\xfe", b"{", b'"'),
    *(KEY.encode(), b'{"k":"' + KEY.encode(), b'{"k":"wrong-key","m":"pong","n":1}'),
    *(b'["' + KEY.encode() + b'"]', b'{"m":"' + KEY.encode() + b'","k":"x"}'),
    *(KEY.encode()[:-1], KEY.encode() * 3, b"x" * (LIMIT + 1), b"x" * LIMIT + KEY.encode()),
)


def message(rng: Random) -> Frame:
    """A legal message of any kind."""
    kind = rng.choice(sorted(_KINDS))
    return {"m": kind, "k": KEY, **_KINDS[kind](rng)}


def stream(rng: Random) -> bytes:
    """Lines of an adapter, each as kits write it or not."""
    lines = [_line(rng) for _ in range(rng.randint(1, 4))]
    ends = (b"\n", b"\n", b"\n\n", b"\r\n", b"")
    return b"".join(
        (b"\n" if rng.random() < 0.3 else b"") + line + rng.choice(ends) for line in lines
    )


def mutate_stream(data: bytes, max_size: int, seed: int) -> bytes:
    """Another stream: a new one, or `data` with a line changed, added, moved or cut up."""
    rng = Random(seed)
    if not data or rng.random() < 0.4:
        return stream(rng)[:max_size]
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    choice = rng.randrange(5)
    if choice == 0:
        lines[at] = splice(rng, lines[at])
    elif choice == 1:
        lines.insert(at, _line(rng))
    elif choice == 2:
        lines[at] = _line(rng)
    elif choice == 3:
        lines[at] = _resized(rng, lines[at])
    else:
        rng.shuffle(lines)
    return b"\n".join(lines[:_MOST_LINES])[:max_size]


def adapter_seeds() -> dict[str, bytes]:
    """A message of each kind, each fault of each kind, noise, edges of the splitter."""
    seeds: dict[str, bytes] = {}
    for kind, make in _KINDS.items():
        for number in range(3):
            made = {"m": kind, "k": KEY, **make(Random(f"{kind} {number}"))}
            seeds[f"legal-{kind}-{number}"] = spell(made) + b"\n"
    for name, fault in FAULTS.items():
        for number in range(4):
            rng = Random(f"{name} {number}")
            seeds[f"{name}-{number}"] = fault(rng, message(rng))[: LIMIT + 200] + b"\n"
    for number, noise in enumerate(NOISE):
        if len(noise) < LIMIT:
            seeds[f"noise-{number:02}"] = noise + b"\n" + spell(message(Random(number))) + b"\n"
    pong = spell({"m": "pong", "k": KEY, "n": 1})
    for number in (-1, 0, 1):
        seeds[f"long-{LIMIT + number}"] = pong.ljust(LIMIT + number) + b"\n" + pong
    seeds["unfinished"] = pong
    seeds["swallowed"] = b"{\n" + pong + b"\n" + pong
    return seeds


def _line(rng: Random) -> bytes:
    choice = rng.random()
    if choice < 0.15:
        return rng.choice(NOISE)
    made = message(rng)
    if choice < 0.6:
        return spell(made, rng if rng.random() < 0.2 else None)
    return FAULTS[rng.choice(sorted(FAULTS))](rng, made)


def _resized(rng: Random, line: bytes) -> bytes:
    return line.ljust(LIMIT + rng.choice((-1, 0, 1)), b" ")


# Parts of messages


def _id(rng: Random) -> Any:
    return rng.choice((0, 1, 2, -1, 2**53, "s", "", "é", KEY))


def _presence(rng: Random) -> Frame:
    if rng.random() < 0.3:
        return {"present": False}
    made: Frame = {"present": True, "value": legal.value(rng)}
    if rng.random() < 0.3:
        made["odd"] = [[rng.choice(([], [0], ["a", 1])), rng.choice(_ODD)]]
    return made


def _native(rng: Random) -> Frame:
    parts = {"name": "E", "code": rng.choice((None, 1, "x")), "message": "m", "stack": "at f"}
    return {name: part for name, part in parts.items() if rng.random() < 0.5}


def _error(rng: Random) -> Frame:
    return legal.error(rng, "result")


def _outcome(rng: Random) -> Frame:
    logs = {"logs": ["a", "\x1b[31m"]} if rng.random() < 0.2 else {}
    if rng.random() < 0.6:
        return {"r": _id(rng), "ok": True, **_presence(rng), **logs}
    made = {"r": _id(rng), "ok": False, "category": rng.choice(_CATEGORIES), **logs}
    return made | {"native": _native(rng)} | ({"error": _error(rng)} if rng.random() < 0.5 else {})


def _identity(rng: Random) -> Frame:
    return {
        "target": rng.choice(("t", "", "é")),
        "version": "1",
        "language": ["javascript"],
        "settable": rng.choice(([], ["wall_time_ms"], ["wall_time_ms", "no_such_row"])),
        "alternatives": rng.choice(
            ({}, {"script_style": "async"}, {"options": ["timeout"]}, {"options": "x"}, {"no": "a"})
        ),
        "capabilities": rng.choice(
            ([], ["odd"], ["policy.wall_time_ms"], ["policy.nothing"], ["parallel.3", "contract"])
        ),
        "mapping": rng.choice(("typed", "text")),
    }


def _opened(rng: Random) -> Frame:
    value = rng.choice((1, 0, -1, 1.5, "none", "unknown", 10**30))
    effective = {"wall_time_ms": {"value": value, "from": rng.choice(("set", "documented"))}}
    return {
        "s": _id(rng),
        "effective": rng.choice(({}, effective)),
        "unknown": rng.choice(([], ["pages"])),
        "prelude": "",
        "wrap": ["", ""],
    }


_KINDS: Final[dict[str, Callable[[Random], Frame]]] = {
    "identity": _identity,
    "opened": _opened,
    "refused": lambda rng: {"s": _id(rng), "category": "policy", "native": _native(rng)},
    "unsupported": lambda rng: rng.choice(
        ({"of": "run", "fields": ["x"]}, {"s": 1, "fields": ["pages"]}, {"of": "x"})
    ),
    "call": lambda rng: {
        "r": _id(rng),
        "c": rng.choice((1, 2, 2**53)),
        "op": rng.choice(("add", "", "名")),
        "args": _presence(rng),
    },
    "call_cancelled": lambda rng: {"r": _id(rng), "c": 1},
    "outcome": _outcome,
    "pong": lambda rng: {"n": rng.choice((0, 1, 2**60))},
    "closed": lambda rng: {"s": _id(rng)},
    "note": lambda rng: {"kind": "unhandled", "text": rng.choice(("", "x", "\x1b]0;x\x07"))},
    "fault": lambda rng: {"of": "run", "text": rng.choice(("", "TypeError: x"))},
}


# Faults: one in an otherwise legal message, or two on the legal side of a rule


def _without(rng: Random, made: Frame) -> bytes:
    gone = rng.choice(list(made))
    return spell({name: part for name, part in made.items() if name != gone})


def _with(rng: Random, made: Frame, part: Any) -> bytes:
    return spell({**made, rng.choice(list(made)): part})


def _twice(rng: Random, made: Frame) -> bytes:
    key = rng.choice(list(made))
    again = Raw(escaped(key)) if rng.random() < 0.5 else key
    return spell(Members((*made.items(), (again, made[key]))))


def _deep(rng: Random, made: Frame) -> bytes:
    levels = rng.choice((*DEPTHS, *_READ_DEPTHS))
    nested = Raw(b"[" * levels + b"]" * (levels if rng.random() < 0.9 else 0))
    return _with(rng, {**made, "value": None}, nested)


def _key(rng: Random, made: Frame) -> bytes:
    wrong = rng.choice((KEY[:-1], KEY + "0", KEY.upper(), "", None, [KEY], {"k": KEY}, 1))
    return spell({**made, "k": wrong, "text": KEY})


FAULTS: Final[dict[str, Callable[[Random, Frame], bytes]]] = {
    "cut": lambda rng, made: spell(made)[: rng.randrange(len(spell(made)))],
    "deep": _deep,
    "duplicate": _twice,
    "edge": lambda rng, made: rng.choice(EDGES) + spell(made),
    "extra": lambda rng, made: spell(
        {**made, rng.choice(("x", "", "__proto__")): legal.value(rng)}
    ),
    "key": _key,
    "kind": lambda rng, made: spell({**made, "m": rng.choice(("run", "hello", "", None, 1, []))}),
    "missing": _without,
    "number": lambda rng, made: _with(rng, made, Raw(rng.choice(NUMBERS))),
    "tail": lambda rng, made: spell(made) + rng.choice(TAILS),
    "text": lambda rng, made: _with(rng, made, Raw(rng.choice(TEXTS))),
    "wrong": lambda rng, made: _with(rng, made, legal.value(rng)),
    "written_twice": lambda _rng, made: spell(made) + spell(made),
    "ascii_legal": lambda _rng, made: json.dumps(made).encode(),
}
