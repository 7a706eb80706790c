"""Host values: which ones are I-JSON, and their compact JSON as ECMAScript writes it."""

from __future__ import annotations

from _json import encode_basestring
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode_reference.strict_json import MAX_SAFE, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterator

# Number::toString (ECMA-262) turns to exponents at these decimal positions of the first digit.
_LARGEST_PLAIN = 21
_SMALLEST_PLAIN = -6
# A longer text is measured by pieces and once, however often it occurs.
_PIECE = 4096


class NotJSONError(ValueError):
    """A host value that is not I-JSON; the message names the rule, never the value."""


def encode(value: Any, max_depth: int) -> bytes:
    """The compact JSON of `value` in UTF-8, byte for byte as `JSON.stringify` writes it.

    Its length is the size that the budgets charge. Raises NotJSONError for anything but None,
    booleans, exact integers, finite floats, strings without lone surrogates, lists, and dicts with
    string keys, nested at most `max_depth` deep. The walk uses no recursion. What occurs often is
    written often: `measure` a value that may share parts first.
    """
    written: list[str] = []
    open_items: list[tuple[Iterator[tuple[str | None, Any]], str]] = []
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
        if written[-1] not in _OPENING:
            written.append(",")
        if key is not None:
            written.append(f"{_scalar(key)}:")


def measure(value: Any, max_depth: int) -> int:
    """The exact length of `encode(value, max_depth)`, whose text is not made. Raises like it.

    Every part is read once: a value that shares its parts may be longer than any text, but it
    takes no more time and memory here than it has parts.
    """
    known: dict[int, _Part] = {}
    texts: dict[int, tuple[str, int]] = {}
    path: list[_Part] = []
    item = value
    while True:
        if type(item) not in (list, dict):
            size = _scalar_size(item, texts)
            if not path:
                return size
            path[-1].add(size, 0)
        elif (part := known.get(id(item))) is None:
            if len(path) == max_depth:
                raise NotJSONError("nested too deep")
            part = known[id(item)] = _Part(item, _members(item))
            path.append(part)
        elif part.open or len(path) + part.height > max_depth:
            raise NotJSONError("nested too deep")
        else:
            path[-1].add(part.size, part.height)
        while (member := next(path[-1].members, None)) is None:
            part = path.pop()
            part.open = False
            part.size = max(part.size, len("[]"))
            if not path:
                return part.size
            path[-1].add(part.size, part.height)
        key, item = member
        if key is not None:
            path[-1].size += _scalar_size(key, texts) + len(":")


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


@dataclass(slots=True)
class _Part:
    """A list or dict that is being measured or has been; to hold it keeps its id its own."""

    item: Any
    members: Iterator[tuple[str | None, Any]]
    open: bool = True
    size: int = len("[")
    height: int = 1

    def add(self, size: int, height: int) -> None:
        """One more member; after it comes a comma or the end."""
        self.size += size + 1
        self.height = max(self.height, height + 1)


def _members(item: Any) -> Iterator[tuple[str | None, Any]]:
    """The items of a list or dict, each with its key if it has one."""
    if type(item) is list:
        for element in item:
            yield None, element
        return
    for key, element in item.items():
        if type(key) is not str:
            raise NotJSONError("a key that is no string")
        yield key, element


def _exact(value: int) -> float:
    try:
        double = float(value)
    except OverflowError as error:
        raise NotJSONError("an integer beyond a double") from error
    if int(double) != value:
        raise NotJSONError("an integer that no double holds")
    return double


def _scalar_size(item: Any, texts: dict[int, tuple[str, int]]) -> int:
    if type(item) is not str or len(item) <= _PIECE:
        return len(_scalar(item).encode())
    if id(item) not in texts:
        pieces = (item[start : start + _PIECE] for start in range(0, len(item), _PIECE))
        inside = sum(len(_scalar(piece).encode()) - len('""') for piece in pieces)
        texts[id(item)] = item, inside + len('""')
    return texts[id(item)][1]


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
