"""The exact bytes of a line of a vector, and what a vector of a frame is made of."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Part: TypeAlias = "str | dict[str, Any]"
Line: TypeAlias = "str | list[Part]"
Vector: TypeAlias = dict[str, Any]


def line_bytes(line: Line, shared: Mapping[str, str]) -> bytes:
    """The bytes of a line without its LF.

    A part is text, text repeated (`repeat`, `times`), bytes (`base64`), or a text of the file's
    `shared`.
    """
    if isinstance(line, str):
        return line.encode()
    return b"".join(_part(part, shared) for part in line)


def _part(part: Part, shared: Mapping[str, str]) -> bytes:
    match part:
        case str():
            return part.encode()
        case {"repeat": str(text), "times": int(times)}:
            return text.encode() * times
        case {"base64": str(text)}:
            return base64.b64decode(text, validate=True)
        case {"shared": str(name)}:
            return shared[name].encode()
    raise ValueError(f"{part!r} is no part of a line")


def in_base64(data: bytes) -> Part:
    """The part that stands for these bytes."""
    return {"base64": base64.b64encode(data).decode()}


def compact(value: Any) -> str:
    """JSON as `JSON.stringify` writes it, for what holds no fractions."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def accept(name: str, to: str, line: Line, event: str, **more: Any) -> Vector:
    """A legal frame; `event` is its kind."""
    return {"id": name, "to": to, "line": line, "event": event, **more}


def refuse(  # noqa: PLR0913  each is a column of the file
    name: str,
    to: str,
    line: Line,
    reason: str,
    beside: str,
    *,
    event: str = "malformed",
    **more: Any,
) -> Vector:
    """A frame with one fault, `reason`; the legal one beside it is the vector `beside`."""
    fault = {"event": event, "reason": reason, "beside": beside}
    return {"id": name, "to": to, "line": line, **fault, **more}
