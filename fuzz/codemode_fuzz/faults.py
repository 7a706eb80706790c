"""Faults of one line: each takes a legal frame and spells it with exactly one thing wrong.

A few are on the legal side of their rule (`..._legal`), so that the edge itself is fuzzed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz.legal import KINDS, error, value
from codemode_fuzz.reading import DEPTH
from codemode_fuzz.spelling import Members, Raw, escaped, spell
from codemode_fuzz.wrong import WRONG_ERRORS, WRONG_EXECUTE

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from codemode_fuzz.legal import Frame

NUMBERS: Final = (
    *(b"1.0", b"1e0", b"10e-1", b"1E+0", b"-0", b"0", b"-1", b"0.0", b"-0.0", b"true", b'"1"'),
    *(b"9007199254740991", b"9007199254740992", b"9007199254740993", b"-9007199254740992"),
    *(b"1e999", b"-1e999", b"1e308", b"1e309", b"1.7976931348623159e308", b"1e-999"),
    *(b"01", b"-01", b"1.", b".5", b"+1", b"-", b"1e", b"0x1", b"1_0", b"NaN", b"Infinity"),
    *(b"-Infinity", b"nan", b"inf", b"1" * 309, b"9" * 309, b"-" + b"9" * 310, b"1" * 5000),
    *(b"0." + b"1" * 5000, b"1e" + b"9" * 5000, "\u0661".encode(), b"1" + "\u0660".encode()),
)
TEXTS: Final = (
    *(b'"\xff"', b'"\xc0\xaf"', b'"\xed\xa0\x80"', b'"\xed\xb0\x80"', b'"\xf4\x90\x80\x80"'),
    *(b'"\xe5\x90"', b'"\x80"', b'"\xf0\x9f\x98"', b'"\xed\xa0\xbd\xed\xb8\x80"'),
    *(rb'"\ud800"', rb'"\udc00"', rb'"\ude00\ud83d"', rb'"\ud83d\ud83d\ude00"', rb'"\uD83D"'),
    *(rb'"\ud83d\ude00"', rb'"\\ud800"', rb'"\u12"', rb'"\u+123"', rb'"\u00_1"', rb'"\x41"'),
    *(b'"\x00"', b'"\x1f"', b'"\t"', b'"\x7f"', b'"', b'"\\"', b"'x'", rb'"\U0041"', rb'"\u0000"'),
)
EDGES: Final = (b"", b"\r", b" ", b"\t \r", b"\xef\xbb\xbf", b"\x00", b"\xc2\xa0", b"\x0b", b"//")
TAILS: Final = (b"{}", b"x", b",", b"]", b"}", b"\r", b" \t", b"\x00", b"null", b"\xef\xbb\xbf")
DEPTHS: Final = (DEPTH - 2, DEPTH - 1, DEPTH, DEPTH + 1)
DEEP: Final = 10_000


def _member(rng: Random, frame: Frame) -> str:
    return rng.choice(list(frame))


def _with(frame: Frame, name: str, item: Any) -> bytes:
    return spell({**frame, name: item})


def _number_field(rng: Random, frame: Frame) -> str:
    names = [name for name in frame if type(frame[name]) is int]
    return rng.choice([*names, _payload(frame)])


def _payload(frame: Frame) -> str:
    return next((name for name in ("arguments", "value") if name in frame), "value")


def _duplicate(rng: Random, frame: Frame) -> bytes:
    key = _member(rng, frame)
    again = Raw(escaped(key)) if rng.random() < 0.5 else key
    item = frame[key] if rng.random() < 0.5 else value(rng)
    pairs = [*frame.items(), (again, item)]
    if rng.random() < 0.5:
        rng.shuffle(pairs)
    return spell(Members(tuple(pairs)))


def _inner_duplicate(rng: Random, frame: Frame) -> bytes:
    key = rng.choice(("a", "", "é", "__proto__"))
    inner: Any = Members(((key, 1), (Raw(escaped(key)), 2)))
    for _ in range(rng.randint(0, 2)):
        inner = [inner]
    return _with(frame, _payload(frame), inner)


def _spelled_keys_legal(rng: Random, frame: Frame) -> bytes:
    pairs = [(Raw(escaped(key)), item) for key, item in frame.items()]
    rng.shuffle(pairs)
    return spell(Members(tuple(pairs)))


def _number(rng: Random, frame: Frame) -> bytes:
    return _with(frame, _number_field(rng, frame), Raw(rng.choice(NUMBERS)))


def _text(rng: Random, frame: Frame) -> bytes:
    text = Raw(rng.choice(TEXTS))
    if rng.random() < 0.3:
        return spell(Members((*frame.items(), (text, 1))))
    names = [name for name in frame if isinstance(frame[name], str)]
    return _with(frame, rng.choice([*names, _payload(frame)]), text)


def _depth(rng: Random, frame: Frame) -> bytes:
    levels = DEEP if rng.random() < 0.02 else rng.choice(DEPTHS)
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"]":', b"}]")))
    levels //= opening.count(b"[") + opening.count(b"{")
    core = b"null" if b"{" in opening else b""
    nested = opening * levels + core + (closing * levels if rng.random() < 0.9 else b"")
    if frame["type"] == "execute":
        operation = {"name": "a", "method": "a", "effect": "read", "arguments": Raw(nested)}
        return _with(frame, "operations", [operation])
    return _with(frame, _payload(frame), Raw(nested))


def _presence(rng: Random, frame: Frame) -> bytes:
    parts: Frame = {name: item for name, item in frame.items() if name not in ("value", "error")}
    parts |= {"ok": rng.random() < 0.5, "value_present": rng.random() < 0.5}
    if rng.random() < 0.5:
        parts["value"] = value(rng)
    if rng.random() < 0.5:
        parts["error"] = error(rng, rng.choice(("host_result", "result")))
    return spell(parts)


def _no_boolean(rng: Random, frame: Frame) -> bytes:
    name = rng.choice(("ok", "value_present"))
    return _with(frame, name, rng.choice((0, 1, None, "true", [], 1.0)))


def _missing(rng: Random, frame: Frame) -> bytes:
    gone = _member(rng, frame)
    return spell({name: item for name, item in frame.items() if name != gone})


def _unknown_field(rng: Random, frame: Frame) -> bytes:
    name = rng.choice(("extra", "message", "Type", "", "value", "error", "__proto__", "call_id"))
    place = rng.choice([key for key in frame if isinstance(frame[key], dict)] or [""])
    if place:
        return _with(frame, place, {**frame[place], name: value(rng)})
    return spell({**frame, name: value(rng)})


def _kind(rng: Random, frame: Frame) -> bytes:
    kind = rng.choice((*KINDS, "mystery", "", "Result", "oversized", "malformed", "host_batch"))
    return _with(frame, "type", kind)


def _wrong_type(rng: Random, frame: Frame) -> bytes:
    return _with(frame, _member(rng, frame), value(rng))


def _wrong_inside(rng: Random, frame: Frame) -> bytes:
    names = [name for name, item in frame.items() if isinstance(item, dict) and item]
    if not names:
        return _wrong_type(rng, frame)
    name = rng.choice(names)
    inner = dict(frame[name])
    key = _member(rng, inner)
    if rng.random() < 0.3:
        del inner[key]
    else:
        inner[key] = Raw(rng.choice(NUMBERS)) if rng.random() < 0.5 else value(rng)
    return _with(frame, name, inner)


def _error(rng: Random, frame: Frame) -> bytes:
    parts = {name: item for name, item in frame.items() if name != "value"}
    wrong = rng.choice(WRONG_ERRORS)
    return spell({**parts, "ok": False, "value_present": False, "error": wrong})


def _execute_part(rng: Random, frame: Frame) -> bytes:
    return _with(frame, *rng.choice(WRONG_EXECUTE))


def _edge(rng: Random, frame: Frame) -> bytes:
    return rng.choice(EDGES) + spell(frame)


def _tail(rng: Random, frame: Frame) -> bytes:
    return spell(frame) + rng.choice(TAILS)


def _cut(rng: Random, frame: Frame) -> bytes:
    # Not at a character's end, so that a split multibyte one is among the results.
    line = spell({**frame, _payload(frame): "名\U0001f600"})
    return line[: rng.randrange(len(line))]


def _no_object(rng: Random, frame: Frame) -> bytes:
    return rng.choice((b"", b"\r", b" ", b"[]", b"1", b"{}", b"[" + spell(frame) + b"]", b"null"))


def _spelling_legal(rng: Random, frame: Frame) -> bytes:
    return spell(frame, rng)


FAULTS: Final[dict[str, Callable[[Random, Frame], bytes]]] = {
    "cut": _cut,
    "depth": _depth,
    "duplicate": _duplicate,
    "edge": _edge,
    "error": _error,
    "execute_part": _execute_part,
    "inner_duplicate": _inner_duplicate,
    "kind": _kind,
    "missing": _missing,
    "no_boolean": _no_boolean,
    "no_object": _no_object,
    "number": _number,
    "presence": _presence,
    "spelled_keys_legal": _spelled_keys_legal,
    "spelling_legal": _spelling_legal,
    "tail": _tail,
    "text": _text,
    "unknown_field": _unknown_field,
    "wrong_inside": _wrong_inside,
    "wrong_type": _wrong_type,
}
