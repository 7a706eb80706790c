"""The operations of the parent that is fuzzed, for the reference and for the model."""

from __future__ import annotations

from typing import Any, Final

from codemode_reference.filters import Filters
from codemode_reference.operations import Catalogue, Cost, Operation
from codemode_spec.model import terms
from codemode_spec.tables import load_tables
from jsonschema import Draft202012Validator

SCHEMA: Final = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}, "path": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
_FREE: Final[dict[str, Any]] = {}
_OPERATIONS: Final = (
    (terms.Operation("read", pages=1), SCHEMA, ()),
    (terms.Operation("open", snapshots=1), _FREE, ()),
    (terms.Operation("list_all", pages=1, snapshots=1), _FREE, ("/last_error", "/cache/error")),
    (terms.Operation("write", effect="write"), _FREE, ()),
    (terms.Operation("secret", granted=False), _FREE, ()),
)
MODEL: Final = {entry.name: entry for entry, _, _ in _OPERATIONS}
"""The operations as the model knows them."""
NAMES: Final = tuple(MODEL)
DIAGNOSTICS: Final = {entry.name: pointers for entry, _, pointers in _OPERATIONS}
_VALIDATORS: Final = {entry.name: Draft202012Validator(schema) for entry, schema, _ in _OPERATIONS}


DENIED: Final = "denied"
"""What no arguments of an operation may hold that asks for permission."""
_PERMITTED: Final = ("open", "write")


def _permits(arguments: Any) -> Any:
    """The permission of a host: it may raise, and only True permits."""
    return DENIED not in arguments or "no"


async def _unused(arguments: Any) -> Any:
    """What an operation answers is part of the script."""
    raise AssertionError(arguments)


_GRANTED: Final = [entry.name for entry in MODEL.values() if entry.granted]
_REFERENCE: Final = [
    Operation(
        entry.name,
        _unused,
        "read" if entry.effect == "read" else "write",
        schema,
        cost=Cost(entry.pages, entry.snapshots),
        permits=_permits if entry.name in _PERMITTED else None,
        diagnostics=pointers,
    )
    for entry, schema, pointers in _OPERATIONS
]
_CATALOGUES: Final = {
    filtered: Catalogue(_REFERENCE, filters=Filters(load_tables().admission) if filtered else None)
    for filtered in (False, True)
}


def reference(*, readonly: bool, filtered: bool) -> Catalogue:
    """The operations as the reference knows them; `filtered` looks for texts in arguments."""
    return _CATALOGUES[filtered].restricted(_GRANTED, readonly=readonly)


def accepts(name: str, arguments: Any) -> bool:
    """Whether arguments match the schema of an operation, by another validator."""
    return name not in _VALIDATORS or bool(_VALIDATORS[name].is_valid(arguments))


def permits(name: str, arguments: Any) -> bool:
    """Whether the permission of an operation is given: what cannot be told is not."""
    if name not in _PERMITTED:
        return True
    return isinstance(arguments, dict | list | str) and DENIED not in arguments


def redacted(name: str, value: Any) -> Any:
    """The value with null for what is meant for people, as the catalogue says."""
    for pointer in DIAGNOSTICS[name]:
        value = _without(value, pointer[1:].split("/"))
    return value


def _without(value: Any, keys: list[str]) -> Any:
    if not isinstance(value, dict) or keys[0] not in value:
        return value
    inner = None if len(keys) == 1 else _without(value[keys[0]], keys[1:])
    return value | {keys[0]: inner}
