"""Lines of the adapter protocol: written and read strictly, checked both ways. No I/O."""

from __future__ import annotations

import json
import math
import re
import secrets
from typing import TYPE_CHECKING, Any, Final, NoReturn

from codemode_spec.schemas import problems, validator

from codemode_conformance.failures import ConformanceError, HarnessError

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = 1
ANSWERS: Final = frozenset(
    {
        *("identity", "opened", "refused", "unsupported", "call", "call_cancelled"),
        *("progress", "outcome", "advanced", "pong", "closed", "note", "fault"),
    }
)
READ_DEPTH: Final = 400
"""Nesting that is read; deeper values are replaced by null and marked odd, as `unknown`."""

_STRUCTURE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class BrokenLineError(ConformanceError):
    """A line that carries the key and yet is no message: a fault of the adapter."""


def new_key() -> str:
    """A key that no program under test can guess."""
    return secrets.token_urlsafe(24)


def encode(message: Mapping[str, Any]) -> bytes:
    """The line of a message for the adapter; HarnessError when it is none of the protocol."""
    try:
        text = json.dumps(message, separators=(",", ":"), allow_nan=False)
    except (RecursionError, ValueError, TypeError) as error:
        raise HarnessError(f"a {message['m']} message cannot be written: {error}") from None
    found = problems("adapter", message, f"message {message['m']}", message["m"])
    if found:
        raise HarnessError(str(found[0]))
    return text.encode() + b"\n"


def decode(data: bytes, key: str) -> dict[str, Any] | None:
    """The message of a line, None for noise; BrokenLineError when it has the key and a fault.

    A line without the key, or with it in another place, is noise: a program may print anything.
    """
    if key.encode() not in data:
        return None
    try:
        text = data.decode()
        message = _parse_shallow(text) if _is_deep(text) else _parse(text)
    except ValueError as error:
        raise BrokenLineError(f"a line with the key is no strict JSON: {error}") from None
    if not isinstance(message, dict) or message.get("k") != key:
        return None
    _check(message)
    return message


def parse(text: str) -> tuple[Any, bool]:
    """The value of strict JSON, and whether parts nested too deeply were replaced by null.

    ValueError when it is none.
    """
    try:
        return _parse(text), False
    except RecursionError:
        return _parse(_shallow(text)), True


def _check(message: dict[str, Any]) -> None:
    kind = message.get("m")
    if not isinstance(kind, str) or kind not in ANSWERS:
        raise BrokenLineError(f"there is no message {kind!r} from an adapter")
    if not validator("adapter", kind).is_valid(message):
        found = problems("adapter", message, f"message {kind}", kind)
        raise BrokenLineError(str(found[0]) if found else f"message {kind}: it breaks the schema")


def _parse(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_pairs,
        parse_constant=_constant,
        parse_float=_float,
        parse_int=_int,
    )


def _is_deep(text: str) -> bool:
    """Whether anything is nested deeper than is read: Pythons differ in how deep they can."""
    if text.count("[") + text.count("{") <= READ_DEPTH:
        return False
    depth = 0
    for match in _STRUCTURE.finditer(text):
        depth += (match[0] in "[{") - (match[0] in "]}")
        if depth >= READ_DEPTH:
            return True
    return False


def _parse_shallow(text: str) -> Any:
    """The message with everything nested too deeply replaced by null, and a mark that says so."""
    try:
        message = _parse(_shallow(text))
    except (ValueError, RecursionError) as error:
        raise BrokenLineError(f"a line with the key is no strict JSON: {error}") from None
    if isinstance(message, dict):
        for holder in (message, message.get("args")):
            if isinstance(holder, dict) and "value" in holder:
                holder["odd"] = [*holder.get("odd", ()), [[], "unknown"]]
    return message


def _shallow(text: str) -> str:
    """The text with every value nested too deeply replaced by null."""
    parts: list[str] = []
    depth = start = 0
    for match in _STRUCTURE.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth == READ_DEPTH:
                parts.append(text[start : match.start()] + "null")
        elif match[0] in "]}":
            if depth == READ_DEPTH:
                start = match.end()
            depth -= 1
    parts.append(text[start:])
    return "".join(parts)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large for a double")
    return number


def _int(text: str) -> int | float:
    # The sign of zero would be lost in an int.
    return -0.0 if text == "-0" else int(text)
