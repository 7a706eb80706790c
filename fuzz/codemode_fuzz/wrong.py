"""Parts of frames that are JSON but not what the tables allow, one wrong thing in each."""

from __future__ import annotations

from typing import Any, Final

from codemode_fuzz.reading import DETAIL_CHARACTERS, LIMITS

_LIMITS: Final = {name: row.default for name, row in LIMITS.items()}
_FIRST: Final = next(iter(_LIMITS))
_OPERATION: Final = {"name": "a", "method": "a", "effect": "read"}
_FAILED: Final = {"code": "operation_failed", "operation": "a"}
_SYNTAX: Final = {"code": "code_rejected", "reason": "syntax"}
_LONG: Final = {"code": "source_bytes_limit", "measured": 2, "limit": 1, "counted": "utf8"}
_NO_NUMBERS: Final = (-1, True, 1.0, "1", None, 2**53)


def _each(base: dict[str, Any], name: str, *parts: Any) -> list[Any]:
    """`base` with each of `parts` as its member `name`."""
    return [{**base, name: part} for part in parts]


_WRONG: Final[dict[str, list[Any]]] = {
    "v": [0, 2, True, "1"],
    "source": [None],
    "limits": [
        *([], {}, {**_LIMITS, "Other": 1}, {**_LIMITS, "other": 1}),
        *_each(_LIMITS, _FIRST, 0, 10**9, *_NO_NUMBERS),
    ],
    "alternatives": [
        *([], {"other": "x"}, {"script_style": "sync"}),
        *_each({}, "options", "", None, {}, ["timeout"]),
    ],
    "operations": [
        *({}, [1], [[]], [{}], [_OPERATION, None], [{**_OPERATION, "extra": 1}]),
        *([part] for part in _each(_OPERATION, "method", 1, None)),
        *([part] for part in _each(_OPERATION, "effect", "both", 1, ["read"])),
        *([part] for part in _each(_OPERATION, "arguments", [], None, True)),
    ],
}

WRONG_EXECUTE: Final = tuple((name, part) for name, parts in _WRONG.items() for part in parts)
"""Fields of `execute` with what they may not be."""

WRONG_ERRORS: Final[tuple[Any, ...]] = (
    *(None, [], "operation_failed", {}, {"operation": "a"}),
    *_each(_FAILED, "code", 1, None, "no_such_code", "Operation_failed"),
    # Codes that stand in no frame at all, or only in frames of one kind.
    *({"code": "cancelled"}, {"code": "worker_exited"}),
    *({"code": "deadline_exceeded", "limit": 1}, {"code": "unknown_method"}),
    *({**_FAILED, "message": "x"}, {**_FAILED, "limit": 1}, {"code": "operation_failed"}),
    *_each(_FAILED, "operation", None, 1, ["a"]),
    *_each(_SYNTAX, "reason", "other", "", 1, ["syntax"]),
    *_each(_SYNTAX, "line", 0, *_NO_NUMBERS),
    *_each(_SYNTAX, "detail", "x" * (DETAIL_CHARACTERS + 1), 1),
    *_each(_LONG, "measured", *_NO_NUMBERS),
    *_each(_LONG, "counted", "characters", 1, ["utf8"]),
)
"""Errors that may not stand in a `result`, a `host_result` or either."""
