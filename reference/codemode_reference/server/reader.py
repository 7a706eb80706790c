"""What a client writes: lines of strict JSON-RPC, bounded. No I/O.

A line that is no message is answered with an error, with the id of its request where that can be
told, so that no client waits for ever; a line that is too long is skipped without being kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp.types as mcp
from codemode_spec.tables import load_tables
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from codemode_reference.lines import LineDecoder
from codemode_reference.strict_json import NotStrictError, read

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_BYTES: Final = 1_048_576
"""The longest line: several times the longest program in its longest spelling."""

# Of a message: that of a value, and of the request around it.
_DEPTH: Final = load_tables().rows["value_depth"].absolute_maximum + 4


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is no message; `id` is that of the request in it, if it has one."""

    code: int
    message: str
    id: int | str | None = None

    def line(self) -> bytes:
        """The error as the client gets it."""
        error = {"code": self.code, "message": self.message}
        answer = {"jsonrpc": "2.0", "id": self.id, "error": error}
        return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


class MessageReader:
    """Cuts a stream into messages, in time linear in its bytes and memory bounded by a line."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._limit = limit
        self._lines = LineDecoder(limit)
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[mcp.JSONRPCMessage | Refused]:
        """The messages that are complete by now, in order."""
        while data:
            if self._skipping:
                _, end, data = data.partition(b"\n")
                self._skipping = not end
                continue
            before = self._lines.pending
            for line in self._lines.feed(data):
                data = data[len(line) - before + 1 :]
                before = 0
                if line.strip():
                    yield _message(line)
            if not self._lines.oversized:
                return
            yield Refused(mcp.INVALID_REQUEST, f"a line is longer than {self._limit} bytes")
            self._lines = LineDecoder(self._limit)
            self._skipping = True


def _message(line: bytes) -> mcp.JSONRPCMessage | Refused:
    try:
        content = read(line, _DEPTH)
    except NotStrictError as error:
        return Refused(mcp.PARSE_ERROR, f"the line is not strict JSON: {error}", _id_of(line))
    if not isinstance(content, dict):
        return Refused(mcp.INVALID_REQUEST, "a message is one JSON object; there are no batches")
    known = _legal_id(content.get("id"))
    # The SDK takes a request with an odd id for a notification, which nobody would answer.
    if "method" in content and "id" in content and known is None:
        return Refused(mcp.INVALID_REQUEST, "the id of a request is a string or an integer")
    try:
        return jsonrpc_message_adapter.validate_python(content, by_name=False)
    except ValidationError:
        return Refused(mcp.INVALID_REQUEST, "this is no JSON-RPC 2.0 message", known)


def _id_of(line: bytes) -> int | str | None:
    """The id in a line that is nearly JSON, None if it has none or several."""
    ids: list[Any] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # The outermost object is the last one.
        ids[:] = [value for name, value in pairs if name == "id"]
        return {}

    try:
        json.loads(line, object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return None
    return _legal_id(ids[0]) if len(ids) == 1 else None


def _legal_id(found: Any) -> int | str | None:
    if type(found) is str:
        # One with a lone surrogate cannot be written back.
        return found if found.isascii() or _encodable(found) else None
    return found if type(found) is int and abs(found) < 2**53 else None


def _encodable(text: str) -> bool:
    return text.encode(errors="replace").decode() == text
