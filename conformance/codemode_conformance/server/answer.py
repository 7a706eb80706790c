"""From the answer of a tool to what a run came to, by the tables of the target file. No I/O."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError

from codemode_conformance import messages
from codemode_conformance.compare import same_json, show
from codemode_conformance.observation import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_conformance.server.tap import RawAnswer

RAW_CHARACTERS: Final = 4_000
"""How much of a raw answer is kept as evidence."""

OTHER: Final = "other"
NO_VALUE: Final = Value(present=False)
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer, understood: a value, or a failure with its category and raw form.

    `refusal` is `rate` or `filter` when the server refused to run the program for that.
    """

    ok: bool
    value: Value = NO_VALUE
    category: str | None = None
    native: Mapping[str, Any] = field(default_factory=dict)
    logs: tuple[str, ...] = ()
    refusal: str | None = None


def document(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the pointers of a target file point into: is_error, structured, text, json."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    text = "\n".join(
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )
    found: dict[str, Any] = {"is_error": result.get("isError") is True, "text": text}
    if "structuredContent" in result:
        found["structured"] = result["structuredContent"]
    with contextlib.suppress(ValueError, RecursionError):
        found["json"], _ = messages.parse(text)
    return found


def at(value: Any, pointers: str | list[str]) -> Any:
    """What the first of these JSON pointers that leads anywhere points at; LookupError if none."""
    for pointer in [pointers] if isinstance(pointers, str) else pointers:
        found = _at(value, pointer)
        if found is not _MISSING:
            return found
    raise LookupError(pointers)


def _at(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _MISSING
    return value


class AnswerReader:
    """Reads answers by the `[server.answer]` table of a target file."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self._rows: list[tuple[Any, Any, Mapping[str, Any]]] = [
            (row.get("code"), re.compile(row["text"]) if "text" in row else None, row)
            for row in table.get("failure", ())
        ]

    def read(self, answer: RawAnswer | Exception) -> Reading:
        """The reading of a result, of a JSON-RPC error, or of what the SDK raised instead."""
        if isinstance(answer, MCPError):
            return self._error({"code": answer.code, "message": answer.message})
        if isinstance(answer, Exception):
            return self._failure(type(answer).__name__, None, str(answer), "", ())
        if "error" in answer.data:
            return self._error(answer.data["error"])
        result = answer.data.get("result")
        whole = document(result if isinstance(result, dict) else {})
        logs = self._logs(whole)
        wanted = self._table["success"]
        seen = self._get(whole, "success")
        if seen is not _MISSING and same_json(wanted["equals"], seen):
            return Reading(ok=True, value=self._value(whole, cut=answer.cut), logs=logs)
        code, message = self._get(whole, "code"), self._get(whole, "message")
        return self._failure(
            "tool error" if whole["is_error"] else "tool result",
            code if isinstance(code, str | int) else None,
            message if isinstance(message, str) else whole["text"],
            show(result, RAW_CHARACTERS),
            logs,
        )

    def _error(self, error: Any) -> Reading:
        code = error.get("code") if isinstance(error, dict) else None
        message = error.get("message") if isinstance(error, dict) else None
        return self._failure(
            "JSON-RPC error", code, str(message or ""), show(error, RAW_CHARACTERS), ()
        )

    def _failure(
        self, name: str, code: str | int | None, message: str, raw: str, logs: tuple[str, ...]
    ) -> Reading:
        native: dict[str, Any] = {"name": name, "message": message[:RAW_CHARACTERS]}
        if code is not None:
            native["code"] = code
        if raw:
            native["raw"] = raw
        row = self._match(None if code is None else str(code), message)
        return Reading(
            ok=False,
            category=row.get("category", OTHER),
            native=native,
            logs=logs,
            refusal=row.get("refusal"),
        )

    def _match(self, code: str | None, message: str) -> Mapping[str, Any]:
        """The first row that fits: rows with a code before rows with a text alone."""
        for with_code in (True, False):
            for wanted, pattern, row in self._rows:
                if (wanted is not None) is not with_code:
                    continue
                if wanted in (None, code) and (pattern is None or pattern.search(message)):
                    return row
        return {}

    def _value(self, whole: Mapping[str, Any], *, cut: bool) -> Value:
        value = self._get(whole, "value")
        if value is _MISSING:
            return NO_VALUE
        return Value(present=True, value=value, odd=(((), "unknown"),) if cut else ())

    def _logs(self, whole: Mapping[str, Any]) -> tuple[str, ...]:
        logs = self._get(whole, "logs")
        if logs is _MISSING or logs is None:
            return ()
        entries = logs if isinstance(logs, list) else [logs]
        return tuple(e if isinstance(e, str) else json.dumps(e) for e in entries)

    def _get(self, whole: Mapping[str, Any], name: str) -> Any:
        entry = self._table.get(name)
        if entry is None:
            return _MISSING
        try:
            return at(whole, entry["pointer"])
        except LookupError:
            return _MISSING
