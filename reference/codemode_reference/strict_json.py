"""A strict I-JSON reader over the standard library's scanner. The worker runs this too.

It imports `_json` rather than `json`, which takes longer to import than a worker to start.
"""

from __future__ import annotations

from _json import make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_SAFE = 2**53 - 1
_WHITE_SPACE = " \t\r\n"
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_LONGEST_FINITE = 310  # decimal digits: every longer integer is beyond the largest double


class NotStrictError(ValueError):
    """The text is no I-JSON value; the message names the rule that it breaks."""


def read(data: bytes, max_depth: int) -> Any:
    """The value of one UTF-8 text that nests at most `max_depth` deep.

    Integers beyond 2**53-1 become the nearest double. Raises NotStrictError for anything RFC 7493
    forbids: a BOM, bad UTF-8, duplicate keys, NaN, Infinity, numbers beyond a double, lone
    surrogates, text after the value.
    """
    try:
        text = data.decode("utf-8").strip(_WHITE_SPACE)
        if data.count(b"[") + data.count(b"{") > max_depth:
            _check_depth(data, max_depth)
        value, end = _scan(text, 0)
    except NotStrictError:
        raise
    except (ValueError, StopIteration, RecursionError) as error:
        raise NotStrictError("not JSON in UTF-8") from error
    if end != len(text):
        raise NotStrictError("text after the value")
    # A lone surrogate needs an escape; most frames have none and skip the walk.
    if "\\u" in text:
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
    depth = 0
    for mark in b"".join(outside).translate(None, _NO_BRACKETS):
        depth += 1 if mark in b"[{" else -1
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
    if len(digits) > _LONGEST_FINITE:
        raise NotStrictError("a number beyond a double")
    number = int(digits)
    return number if -MAX_SAFE <= number <= MAX_SAFE else _double(digits)


def _double(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
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
    parse_int = staticmethod(_integer)
    parse_constant = staticmethod(_constant)


_scan = make_scanner(_Context())  # type: ignore[arg-type]
