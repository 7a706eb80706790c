"""The JSON Schemas of the specification and its formats, ready to validate with.

The validator is imported on first use: a command that validates nothing starts without it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from codemode_spec.documents import pointer
from codemode_spec.failures import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from referencing import Registry

BASE = "https://codemode-conformance.example/schema/"


@cache
def _registry() -> Registry[Any]:
    from referencing import Registry, Resource  # noqa: PLC0415  see above

    root = files(__package__) / "schema"
    entries = [entry for entry in root.iterdir() if entry.name.endswith(".schema.json")]
    contents = {entry.name: json.loads(entry.read_text(encoding="utf-8")) for entry in entries}
    return Registry().with_resources(
        (BASE + name, Resource.from_contents(content)) for name, content in contents.items()
    )


def schema_names() -> list[str]:
    """The names of all schemas, without their ending."""
    ending = ".schema.json"
    names = (entry.name for entry in (files(__package__) / "schema").iterdir())
    return sorted(name.removesuffix(ending) for name in names if name.endswith(ending))


def schema(name: str) -> Any:
    """The JSON Schema of this name."""
    return _registry()[f"{BASE}{name}.schema.json"].contents


@cache
def validator(name: str, definition: str = "") -> Draft202012Validator:
    """A validator for the schema `name`, or for one entry of its `$defs`."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415  see above

    reference = f"{BASE}{name}.schema.json" + (f"#/$defs/{definition}" if definition else "")
    return Draft202012Validator({"$ref": reference}, registry=_registry())


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """The errors that say most: of a failed choice, those of the branch that came furthest."""
    if not error.context:
        yield error
        return
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)

    def distance(group: list[ValidationError]) -> tuple[bool, int, int]:
        other_type = any(
            inner.validator == "type" and len(inner.absolute_path) == len(error.absolute_path)
            for inner in group
        )
        return other_type, -max(len(inner.absolute_path) for inner in group), len(group)

    best = min(branches.values(), key=distance)
    for inner in best:
        yield from _leaves(inner)


def problems(name: str, value: Any, file: str, definition: str = "") -> list[Problem]:
    """What is wrong with a value by a schema: one problem a fault, with the path inside it."""
    found = [
        Problem(file, pointer(leaf.absolute_path), _reason(leaf))
        for error in validator(name, definition).iter_errors(value)
        for leaf in _leaves(error)
    ]
    return list(dict.fromkeys(found))


def _reason(error: ValidationError) -> str:
    if error.validator == "enum":
        allowed = ", ".join(str(value) for value in cast(list[Any], error.validator_value))
        return f"{error.instance!r} is not one of: {allowed}"
    return error.message if len(error.message) <= 300 else error.message[:299] + "…"
