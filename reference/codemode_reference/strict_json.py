"""A strict I-JSON reader over the standard library's scanner. The worker runs this too.

It imports `_json` rather than `json`, which takes longer to import than a worker to start.
"""

from __future__ import annotations

from _json import make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_SAFE = 2**53 - 1
_LEAST_SAFE = -MAX_SAFE
_WHITE_SPACE = " \t\r\n"
# Every integer of fewer digits is a double.
_LONG = b"0" * 16
# What a whole text is looked through for at once: every digit is a 0, every bracket one of two.
_CLASSES = bytes.maketrans(b"0123456789{}", b"0000000000[]")
# Up for an opening bracket, down for a closing one, as signed bytes.
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\xff\xff")
_NO_BRACKETS = bytes(range(256)).translate(None, b"[]{}")


class NotStrictError(ValueError):
    """The text is no I-JSON value; the message names the rule that it breaks."""


def read(data: bytes, max_depth: int) -> Any:
    """The value of one UTF-8 text that nests at most `max_depth` deep.

    Integers beyond 2**53-1 become the nearest double. Raises NotStrictError for anything RFC 7493
    forbids: a BOM, bad UTF-8, duplicate keys, NaN, Infinity, numbers beyond a double, lone
    surrogates, text after the value.
    """
    classes = data.translate(_CLASSES)
    if classes.count(b"[") > max_depth:
        _check_depth(data, max_depth)
    scan = _scan if _LONG in classes else _scan_short_integers
    try:
        text = data.decode().strip(_WHITE_SPACE)
        value, end = scan(text, 0)
    except NotStrictError:
        raise
    except (ValueError, StopIteration, RecursionError) as error:
        raise NotStrictError("not JSON in UTF-8") from error
    if end != len(text):
        raise NotStrictError("text after the value")
    # A lone surrogate needs an escape; most frames have none and skip the walk.
    if b"\\" in data and (b"\\ud" in data or b"\\uD" in data):
        _check_strings(value)
    return value


def well_formed(text: str) -> bool:
    """Whether `text` has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_depth(data: bytes, max_depth: int) -> None:
    # Before the scanner, which calls itself for each level: on a thread with a small stack a deep
    # text would end the process, whatever the interpreter's own limit.
    outside = data.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2]
    steps = b"".join(outside).translate(_STEPS, _NO_BRACKETS)
    depth = 0
    for step in memoryview(steps).cast("b"):
        depth += step
        if depth > max_depth:
            raise NotStrictError("nested too deep")


def _check_strings(value: Any) -> None:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            if not well_formed(item):
                raise NotStrictError("a lone surrogate")
        elif isinstance(item, (dict, list)):
            left += item
            if isinstance(item, dict):
                left += item.values()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrictError("a key twice")
    return found


def _integer(digits: str) -> int | float:
    # More digits than `int` takes are a ValueError, and beyond a double by far.
    number = int(digits)
    return number if _LEAST_SAFE <= number <= MAX_SAFE else _double(digits)


def _double(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        raise NotStrictError("a number beyond a double")
    # The other zero, which JSON.stringify does not write, is none of the values.
    return number or 0.0


def _constant(name: str) -> None:
    raise NotStrictError(f"{name} is no number")


class _Context:
    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_pairs)
    parse_float = staticmethod(_double)
    parse_constant = staticmethod(_constant)

    def __init__(self, parse_int: Callable[[str], int | float]) -> None:
        self.parse_int = parse_int


_scan = make_scanner(_Context(_integer))  # type: ignore[arg-type]
# The scanner knows `int` and calls nothing.
_scan_short_integers = make_scanner(_Context(int))  # type: ignore[arg-type]
