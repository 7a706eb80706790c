"""JSON text with faults that no writer of JSON can make, and with every legal spelling."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes that stand in the text as they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Members:
    """An object as its members in order; a key may come twice, and may be Raw."""

    pairs: tuple[tuple[Any, Any], ...]


def spell(node: Any, rng: Random | None = None) -> bytes:
    """The text of a JSON value that may hold Raw and Members.

    Compact without `rng`; with it, white space and escapes are chosen at random, all of them legal.
    """
    if isinstance(node, Raw):
        return node.data
    if isinstance(node, dict):
        node = Members(tuple(node.items()))
    gap = _gap(rng)
    if isinstance(node, Members):
        members = [spell(key, rng) + gap + b":" + spell(item, rng) for key, item in node.pairs]
        return gap + b"{" + gap + (gap + b",").join(members) + gap + b"}"
    if isinstance(node, list):
        return b"[" + (gap + b",").join(spell(item, rng) for item in node) + gap + b"]"
    if isinstance(node, str):
        return _text(node, rng)
    return json.dumps(node).encode() + gap


def escaped(text: str) -> bytes:
    """A string with every character as an escape, in pairs where one is not enough."""
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return b'"' + b"".join(b"\\u%04x" % code for code in codes) + b'"'


def _gap(rng: Random | None) -> bytes:
    return b"" if rng is None else rng.choice((b"", b"", b" ", b"\t", b"\r", b"  \r"))


def _text(text: str, rng: Random | None) -> bytes:
    if rng is not None and rng.random() < 0.3:
        return escaped(text)
    plain = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return plain.replace(b"/", b"\\/") if rng is not None and rng.random() < 0.2 else plain
