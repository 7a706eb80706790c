"""Vectors of the errors inside frames: each code with its fields in the table, and faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_spec.vectors.frames import LARGEST, RECEIVER
from codemode_spec.vectors.lines import Vector, accept, compact, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.tables import ErrorCode, Tables

_HEADS: Final = {
    "host_result": {"type": "host_result", "invocation_id": 7, "call_id": 1},
    "result": {"type": "result", "invocation_id": 7},
}
_SAMPLES: Final[dict[str, Any]] = {
    "reason": "uncaught",
    "operation": "read",
    "measured": 2,
    "limit": 1,
    "counted": "utf8",
    "pattern": "eval",
    "line": 1,
    "column": 1,
    "suggestion": "read",
    "detail": "x is not defined",
}
"""The fields that may stand in a frame at all, each with a legal value."""

_OUTSIDE: Final = {"message": "it failed", "field": "host_calls", "retry_after_ms": 1, "more": 1}
_NO_TEXT: Final = (1, None)
_NO_COUNT: Final = (-1, True, "1", None, 0.5, LARGEST + 1)
_WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "reason": (1, None, "other", ""),
    "operation": _NO_TEXT,
    "measured": _NO_COUNT,
    "limit": _NO_COUNT,
    "counted": (1, None, "utf16"),
    "pattern": _NO_TEXT,
    "line": (0, *_NO_COUNT),
    "column": (0, *_NO_COUNT),
    "suggestion": _NO_TEXT,
    "detail": _NO_TEXT,
}


def vectors(tables: Tables) -> list[Vector]:
    """Every code in both kinds of frame that may hold an error."""
    found: list[Vector] = []
    for code, entry in tables.errors.items():
        for kind in _HEADS:
            found += (
                _legal(kind, code, entry, tables) if kind in entry.frames else [_closed(kind, code)]
            )
    return found


def _frame(kind: str, error: dict[str, Any]) -> str:
    return compact({**_HEADS[kind], "ok": False, "value_present": False, "error": error})


def _closed(kind: str, code: str) -> Vector:
    return refuse(
        f"{kind}.code-{code}",
        RECEIVER[kind],
        _frame(kind, {"code": code}),
        "shape",
        f"{kind}.legal-error",
    )


def _legal(kind: str, code: str, entry: ErrorCode, tables: Tables) -> Iterator[Vector]:
    to, base = RECEIVER[kind], f"{kind}.{code}"
    whole = {"code": code, **{name: _SAMPLES[name] for name in entry.fields}}
    needed = {"code", *(name for name, presence in entry.fields.items() if presence == "required")}
    yield accept(base, to, _frame(kind, whole), kind)
    if needed != whole.keys():
        least = {name: value for name, value in whole.items() if name in needed}
        yield accept(f"{base}-least", to, _frame(kind, least), kind)
    for name in sorted(needed - {"code"}):
        rest = {key: value for key, value in whole.items() if key != name}
        yield refuse(f"{base}-without-{name}", to, _frame(kind, rest), "shape", base)
    for name, value in {**_SAMPLES, **_OUTSIDE}.items():
        if name not in whole:
            line = _frame(kind, {**whole, name: value})
            yield refuse(f"{base}-with-{name}", to, line, "shape", base)
    for name in entry.fields:
        for number, value in enumerate(_WRONG[name], 1):
            line = _frame(kind, {**whole, name: value})
            yield refuse(f"{base}-{name}-wrong-{number}", to, line, "shape", base)
    for reason in entry.category_by_reason:
        yield accept(f"{base}-{reason}", to, _frame(kind, {"code": code, "reason": reason}), kind)
    yield from _edges(kind, whole, tables)


def _edges(kind: str, whole: dict[str, Any], tables: Tables) -> Iterator[Vector]:
    to, base = RECEIVER[kind], f"{kind}.{whole['code']}"
    if "detail" in whole:
        most = tables.detail_characters
        longest = _frame(kind, {**whole, "detail": "d" * most})
        yield accept(f"{base}-detail-longest", to, longest, kind)
        longer = _frame(kind, {**whole, "detail": "d" * (most + 1)})
        yield refuse(f"{base}-detail-too-long", to, longer, "shape", f"{base}-detail-longest")
    if "counted" in whole:
        yield accept(f"{base}-encoded", to, _frame(kind, {**whole, "counted": "encoded"}), kind)
    if "measured" in whole:
        edges = {**whole, "measured": LARGEST, "limit": 0}
        yield accept(f"{base}-edges", to, _frame(kind, edges), kind)
