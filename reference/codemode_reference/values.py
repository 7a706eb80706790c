"""Host values: which ones are I-JSON, and their compact JSON as ECMAScript writes it."""

from __future__ import annotations

from _json import encode_basestring
from typing import TYPE_CHECKING, Any

from codemode_reference.strict_json import MAX_SAFE, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterator

# Number::toString (ECMA-262) turns to exponents at these decimal positions of the first digit.
_LARGEST_PLAIN = 21
_SMALLEST_PLAIN = -6


class NotJSONError(ValueError):
    """A host value that is not I-JSON; the message names the rule, never the value."""


def encode(value: Any, max_depth: int) -> bytes:
    """The compact JSON of `value` in UTF-8, byte for byte as `JSON.stringify` writes it.

    Its length is the size that the budgets charge. Raises NotJSONError for anything but None,
    booleans, exact integers, finite floats, strings without lone surrogates, lists, and dicts with
    string keys, nested at most `max_depth` deep. The walk uses no recursion.
    """
    written: list[str] = []
    open_items: list[tuple[Iterator[tuple[str, Any]], str]] = []
    item = value
    while True:
        if type(item) in (list, dict):
            if len(open_items) == max_depth:
                raise NotJSONError("nested too deep")
            opening, closing = "[]" if type(item) is list else "{}"
            written.append(opening)
            open_items.append((_members(item), closing))
        else:
            written.append(_scalar(item))
        while open_items:
            members, closing = open_items[-1]
            member = next(members, None)
            if member is not None:
                break
            written.append(closing)
            open_items.pop()
        else:
            return "".join(written).encode()
        key, item = member
        written.append(key if written[-1] in _OPENING else f",{key}")


def number(value: float) -> str:
    """A number as Number::toString writes it; `-0` is `0`.

    Raises NotJSONError for NaN, Infinity and integers that no double holds exactly.
    """
    if isinstance(value, int):
        if -MAX_SAFE <= value <= MAX_SAFE:
            return str(value)
        value = _exact(value)
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124  NaN test
        raise NotJSONError("not a finite number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = digits.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    return sign + _decimal(digits.strip("0"), point)


def _decimal(digits: str, point: int) -> str:
    # The value is 0.DIGITS x 10**point.
    if len(digits) <= point <= _LARGEST_PLAIN:
        return digits.ljust(point, "0")
    if 0 < point <= _LARGEST_PLAIN:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALLEST_PLAIN < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def _members(item: Any) -> Iterator[tuple[str, Any]]:
    """The items of a list or dict, each with the text that goes before it."""
    if type(item) is list:
        for element in item:
            yield "", element
        return
    for key, element in item.items():
        if type(key) is not str:
            raise NotJSONError("a key that is no string")
        yield f"{_scalar(key)}:", element


def _exact(value: int) -> float:
    try:
        double = float(value)
    except OverflowError as error:
        raise NotJSONError("an integer beyond a double") from error
    if int(double) != value:
        raise NotJSONError("an integer that no double holds")
    return double


def _scalar(item: Any) -> str:
    # Subclasses are refused: what they are is not what they would be written as.
    kind = type(item)
    if kind is str:
        if not well_formed(item):
            raise NotJSONError("a lone surrogate")
        return encode_basestring(item)
    if kind is int or kind is float:
        return number(item)
    if item is None:
        return "null"
    if kind is bool:
        return "true" if item else "false"
    raise NotJSONError("neither null, boolean, number, string, list nor dict")


_OPENING = ("[", "{")
