"""The canonical size of a value: the UTF-8 length of its JSON as `JSON.stringify` writes it.

The text itself is never made: a length follows from each part by the rules of ECMA-262.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAFE: Final = 2**53 - 1
_LAST_PLAIN: Final = 21  # Number::toString writes no exponent for a point in -6 < n <= 21
_FIRST_PLAIN: Final = -6
_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
_SHORT: Final = re.compile(r'[\b\t\n\f\r"\\]')


class Refusal(StrEnum):
    """Why something is no value; the order in which it is looked at decides between two."""

    foreign_type = "foreign_type"
    foreign_key = "foreign_key"
    not_finite = "not_finite"
    inexact_integer = "inexact_integer"
    lone_surrogate = "lone_surrogate"
    cycle = "cycle"
    too_deep = "too_deep"


class NotAValueError(ValueError):
    """What was to be measured is no I-JSON value; `reason` says which rule it breaks."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(f"no I-JSON value: {reason.value.replace('_', ' ')}")
        self.reason = reason


def size_of(value: Any, max_depth: int) -> int:
    """The size of a decoded JSON value, in bytes; a scalar nests 0 deep, `[]` 1.

    Raises NotAValueError for anything but None, booleans, finite numbers that a double holds
    exactly, text without lone surrogates, lists, and dicts with text keys, `max_depth` deep.
    """
    return _measured(value, max_depth, {}, set())[0]


def _measured(
    value: Any, room: int, known: dict[int, tuple[int, int]], above: set[int]
) -> tuple[int, int]:
    """Size and height; `known` holds what is finished, `above` what is around this one.

    No part is measured twice, texts neither, however often it occurs.
    """
    if type(value) is str:
        return _text(value, known), 0
    if type(value) is not list and type(value) is not dict:
        return _scalar(value), 0
    mark = id(value)
    if mark in above:
        raise NotAValueError(Refusal.cycle)
    if mark not in known:
        if room == 0:
            raise NotAValueError(Refusal.too_deep)
        above.add(mark)
        # Brackets or braces, and a comma between any two members.
        size, height = 2 + max(len(value) - 1, 0), 1
        if type(value) is dict:
            size += sum(_key(key, known) + 1 for key in value)
        for member in _members(value):
            inner, below = _measured(member, room - 1, known, above)
            size, height = size + inner, max(height, 1 + below)
        above.remove(mark)
        known[mark] = size, height
    if known[mark][1] > room:
        raise NotAValueError(Refusal.too_deep)
    return known[mark]


def _members(value: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _key(key: Any, known: dict[int, tuple[int, int]]) -> int:
    if type(key) is not str:
        raise NotAValueError(Refusal.foreign_key)
    return _text(key, known)


def _text(text: str, known: dict[int, tuple[int, int]]) -> int:
    mark = id(text)
    if mark not in known:
        known[mark] = text_size(text), 0
    return known[mark][0]


def _scalar(value: Any) -> int:
    # By exact type: a subclass may be anything, and True is an int only in Python.
    if value is None or value is True:
        return len("null")
    if value is False:
        return len("false")
    if type(value) is int or type(value) is float:
        return number_size(value)
    raise NotAValueError(Refusal.foreign_type)


def text_size(text: str) -> int:
    """The size of a string with its quotes (QuoteJSONString)."""
    try:
        plain = len(text.encode())
    except UnicodeEncodeError:
        raise NotAValueError(Refusal.lone_surrogate) from None
    # `\\uXXXX` takes five bytes more than the character, `\\n` and its like one.
    short = len(_SHORT.findall(text))
    return 2 + plain + 5 * (len(_ESCAPED.findall(text)) - short) + short


def number_size(number: float) -> int:
    """The size of a number (Number::toString); `-0` takes one byte, as `0`."""
    if isinstance(number, int):
        if abs(number) <= _SAFE:
            return len(str(number))
        number = _double(number)
    if not math.isfinite(number):
        raise NotAValueError(Refusal.not_finite)
    if number == 0:
        return 1
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    k, n = len(digits), len(digits) + exponent  # as the standard names them
    if _FIRST_PLAIN < n <= _LAST_PLAIN:
        size = n if k <= n else k + 1 if n > 0 else 2 - n + k
    else:
        size = k + (1 if k > 1 else 0) + len(f"e{n - 1:+d}")
    return sign + size


def _double(number: int) -> float:
    try:
        double = float(number)
    except OverflowError:
        raise NotAValueError(Refusal.not_finite) from None
    if double != number:
        raise NotAValueError(Refusal.inexact_integer)
    return double
