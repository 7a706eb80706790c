"""Legal frames of every kind, made from the tables of the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codemode_spec.tables import load_tables

from codemode_fuzz.reading import ALTERNATIVES, DETAIL_CHARACTERS, LIMITS, VERSION
from codemode_fuzz.strict_text import LARGEST_SAFE

if TYPE_CHECKING:
    from random import Random

Frame: TypeAlias = dict[str, Any]
KINDS: Final = ("execute", "host_call", "host_result", "result")
_TABLES: Final = load_tables()
_NAMES: Final = ("add", "list_orders", "type", "ok", "", "__proto__", "then", "名前", "a.b/c")
_TEXTS: Final = (
    *("", "x", "return 1", "\\", '"', "/", "\x7f", "\n\t\b\f\r", "\x00", "\u2028", "\ufeff"),
    *("é", "名", "\U0001f600", "\ud7ff", "\ue000", "\uffff", "{[", "]}", '\\"{', "\\ud800"),
)
_NUMBERS: Final = (
    *(0, 1, -1, 255, LARGEST_SAFE, -LARGEST_SAFE, LARGEST_SAFE + 1, 10**20, -(2**200)),
    *(0.0, -0.0, 0.1, 1e-7, 1e21, 1.5e300, 5e-324, 1.7976931348623157e308),
)


def frame(rng: Random, kind: str) -> dict[str, Any]:
    """One legal frame of this kind."""
    invocation: dict[str, Any] = {"type": kind, "invocation_id": identifier(rng)}
    if kind == "execute":
        return {**invocation, **_execute(rng)}
    if kind == "host_call":
        call = {"call_id": identifier(rng), "operation": rng.choice(_NAMES)}
        return {**invocation, **call, "arguments": value(rng)}
    if kind == "host_result":
        invocation["call_id"] = identifier(rng)
    if rng.random() < 0.6:
        return {**invocation, "ok": True, "value_present": True, "value": value(rng)}
    return {**invocation, "ok": False, "value_present": False, "error": error(rng, kind)}


def conversation(rng: Random, end: str) -> list[dict[str, Any]]:
    """What an end is sent in one invocation: calls and a result, or `execute` and replies."""
    if end == "parent":
        return [frame(rng, "host_call") for _ in range(rng.randint(0, 2))] + [frame(rng, "result")]
    return [frame(rng, "execute")] + [frame(rng, "host_result") for _ in range(rng.randint(0, 2))]


def error(rng: Random, kind: str) -> dict[str, Any]:
    """An error that may stand in a frame of this kind."""
    entry = rng.choice([entry for entry in _TABLES.errors.values() if kind in entry.frames])
    made: dict[str, Any] = {"code": entry.code}
    for name, presence in entry.fields.items():
        if presence == "required" or rng.random() < 0.5:
            made[name] = _field(rng, name, sorted(entry.category_by_reason))
    return made


def value(rng: Random, depth: int = 3) -> Any:
    """Any JSON value, at most `depth` levels deep."""
    choice = rng.randrange(7 if depth else 5)
    if choice == 0:
        return rng.choice((None, True, False))
    if choice in (1, 2):
        return rng.choice(_NUMBERS)
    if choice in (3, 4):
        return rng.choice(_TEXTS)
    if choice == 5:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    keys = rng.sample((*_NAMES, *_TEXTS[1:]), rng.randint(0, 3))
    return {key: value(rng, depth - 1) for key in keys}


def identifier(rng: Random) -> int:
    """A legal id: small ones mostly, the ends of the range often."""
    return rng.choice((1, 1, 2, 7, LARGEST_SAFE - 1, LARGEST_SAFE, rng.randint(1, LARGEST_SAFE)))


def _execute(rng: Random) -> dict[str, Any]:
    limits: dict[str, int] = {}
    for name, row in LIMITS.items():
        least = row.minimum if isinstance(row.minimum, int) else limits[row.minimum]
        limits[name] = rng.choice((least, row.absolute_maximum, row.default))
    chosen = ALTERNATIVES
    return {
        "v": VERSION,
        "source": rng.choice(_TEXTS),
        "limits": limits,
        "alternatives": {name: chosen[name] for name in chosen if rng.random() < 0.8},
        "operations": [_operation(rng) for _ in range(rng.randint(0, 3))],
    }


def _operation(rng: Random) -> dict[str, Any]:
    name = rng.choice(_NAMES)
    made: dict[str, Any] = {"name": name, "method": name, "effect": rng.choice(("read", "write"))}
    if rng.random() < 0.5:
        made["arguments"] = {"type": "object", "properties": {name: {"type": "number"}}}
    return made


def _field(rng: Random, name: str, reasons: list[str]) -> Any:
    if name in ("measured", "limit"):
        return rng.choice((0, 1, 16, LARGEST_SAFE))
    if name in ("line", "column"):
        return rng.choice((1, 2, LARGEST_SAFE))
    if name == "reason":
        return rng.choice(reasons)
    if name == "counted":
        return rng.choice(("utf8", "encoded"))
    if name == "detail":
        # Characters are counted, not bytes.
        return rng.choice(("", "x", "名" * DETAIL_CHARACTERS))
    return rng.choice(_NAMES)
