"""Frames that a target wrote, read strictly: what kind each is, and what is wrong with it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from codemode_spec import load_tables, schemas

from codemode_conformance.escape import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KINDS: Final = ("execute", "host_call", "host_batch", "progress", "host_result", "result")
LARGEST: Final = (1 << 53) - 1

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_DEPTH: Final = 1_000
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPE: Final = re.compile(r'\\(?:["\\bfnrt]|u(?:00[01][0-9a-f]|[dD][89a-fA-F][0-9a-fA-F]{2})|.)')
_NEEDED: Final = re.compile(
    r'\\(?:["\\bfnrt]|u00(?!0[89acd])[01][0-9a-f])',
)


@dataclass(frozen=True, slots=True)
class FrameSeen:
    """One line that a target wrote: its kind, and what is wrong with it (empty if nothing is).

    `spelling` says what is not as a sender writes it, `invocation` is its id (None without one).
    """

    kind: str
    fault: str = ""
    spelling: str = ""
    invocation: int | None = None


class _BrokenError(Exception):
    """The line is no legal frame."""


def read(line: bytes) -> tuple[FrameSeen, dict[str, Any]]:
    """The frame of a line without its LF, with its fields, none where it is no object."""
    frame: dict[str, Any] = {}
    fault = ""
    try:
        frame = _object(line)
        _check(frame)
    except _BrokenError as error:
        fault = str(error)
    kind = frame.get("type")
    number = frame.get("invocation_id")
    seen = FrameSeen(
        kind=kind if kind in KINDS else "unknown",
        fault=fault,
        spelling="" if fault else _spelling(line.decode()),
        invocation=number if type(number) is int else None,
    )
    return seen, frame


def _object(line: bytes) -> dict[str, Any]:
    value = _value(line)
    if not isinstance(value, dict):
        raise _BrokenError("it is no object")
    return value


def _value(line: bytes) -> Any:
    if line.startswith(_BYTE_ORDER_MARK):
        raise _BrokenError("it begins with a byte order mark")
    try:
        text = line.decode()
        return json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float
        )
    except UnicodeDecodeError as error:
        raise _BrokenError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _BrokenError(f"no JSON: {error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise _BrokenError(f"no JSON: {quoted(str(error))}") from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is infinite")
    return number


def _check(frame: Mapping[str, Any]) -> None:
    kind = frame.get("type")
    if kind not in KINDS:
        raise _BrokenError(f"there is no kind {quoted(str(kind))}")
    for problem in schemas.problems("frame", frame, kind, kind, strict=True):
        raise _BrokenError(f"{kind}{problem.path}: {problem.reason}")
    tables = load_tables()
    most = tables.rows["value_depth"].default
    for name in ("value", "arguments"):
        if name in frame and _depth(frame[name]) > most:
            raise _BrokenError(f"{name} is nested deeper than {most} levels")
    for text in _texts(frame):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise _BrokenError("a text holds half a surrogate pair")
    if "error" in frame:
        _check_error(frame["error"])


def _check_error(error: Mapping[str, Any]) -> None:
    entry = load_tables().errors.get(error["code"])
    if entry is None:
        raise _BrokenError(f"there is no code {quoted(str(error['code']))}")
    for name in error:
        if name != "code" and name not in entry.fields:
            raise _BrokenError(f"{entry.code} has no field {quoted(name)}")
    for name, need in entry.fields.items():
        if need == "required" and name not in error:
            raise _BrokenError(f"{entry.code} lacks {name}")


def _depth(value: Any) -> int:
    deepest, waiting = 0, [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, dict | list):
            deepest = max(deepest, depth + 1)
            if deepest > _DEPTH:
                return deepest
            inner = item.values() if isinstance(item, dict) else item
            waiting += [(part, depth + 1) for part in inner]
    return deepest


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item


def _spelling(text: str) -> str:
    """What in a legal line is not as `JSON.stringify` writes it; of numbers nothing is said."""
    if re.search(r"[ \t\r]", _STRING.sub('""', text)):
        return "white space between tokens"
    for escape in _ESCAPE.finditer("".join(_STRING.findall(text))):
        if not _NEEDED.fullmatch(escape[0]):
            return f"the escape {escape[0]}, which is not needed"
    return ""
