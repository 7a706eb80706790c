"""Python values from a text, those included that no JSON can write.

A text is JSON as the standard library reads it, so with NaN, lone surrogates and any integer. An
object with one of the keys below builds what JSON has no words for. What is no JSON is text.
"""

from __future__ import annotations

import json
from decimal import Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ODD, NEST, TIMES, TEXT = "@odd", "@nest", "@times", "@text"
"""`{"@odd": NAME}`; `{"@nest": [N, VALUE, "a" or "o"]}`, a value inside N lists or objects;
`{"@times": [N, VALUE]}`, one value in N places; `{"@text": [N, TEXT]}`, a long text."""
MOST: Final = {NEST: 300, TIMES: 500, TEXT: 70_000}


class _Whole(int):
    """A subclass of a number."""


class _Words(str):
    """A subclass of text."""

    __slots__ = ()


class _Items(list[Any]):
    """A subclass of a list."""


class _Members(dict[str, Any]):
    """A subclass of a dict."""


class _Level(IntEnum):
    """A number with a name."""

    low = 1


def _cycle() -> Any:
    turn: list[Any] = [1]
    turn.append({"again": turn})
    return turn


ODDS: Final[dict[str, Callable[[], Any]]] = {
    "bytes": lambda: b"abc",
    "complex": lambda: 1j,
    "cycle": _cycle,
    "decimal": lambda: Decimal("1.5"),
    "enum": lambda: _Level.low,
    "frozenset": lambda: frozenset((1,)),
    "function": lambda: len,
    "infinity": lambda: float("inf"),
    "intkey": lambda: {1: 2},
    "mixedkeys": lambda: {"a": 1, None: 2},
    "nan": lambda: float("nan"),
    "object": object,
    "range": lambda: range(3),
    "set": lambda: {1},
    "subdict": lambda: _Members(a=1),
    "subint": lambda: _Whole(1),
    "sublist": lambda: _Items([1]),
    "subtext": lambda: _Words("a"),
    "subkey": lambda: {_Words("a"): 1},
    "tuple": lambda: (1, 2),
    "type": lambda: int,
}


def build(data: bytes) -> Any:
    """The value of a text. Never raises."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        return _built(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _built(item: Any) -> Any:
    if isinstance(item, list):
        return [_built(element) for element in item]
    if not isinstance(item, dict):
        return item
    if len(item) == 1:
        ((key, content),) = item.items()
        if key == ODD and isinstance(content, str) and content in ODDS:
            return ODDS[content]()
        if key in MOST and isinstance(content, list) and len(content) >= 2:
            return _repeated(key, *content[:3])
    return {key: _built(element) for key, element in item.items()}


def _repeated(key: str, times: Any, content: Any, how: Any = "a") -> Any:
    number = min(max(times, 0), MOST[key]) if type(times) is int else 1
    inner = _built(content)
    if key == TEXT:
        return (inner if isinstance(inner, str) else "x")[:8] * number
    if key == TIMES:
        return [inner] * number
    for _ in range(number):
        inner = {"a": inner} if how == "o" else [inner]
    return inner
