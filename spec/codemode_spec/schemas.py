"""The JSON Schemas of the specification and its formats, ready to validate with.

The validator is imported on first use: a command that validates nothing starts without it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from codemode_spec.documents import pointer
from codemode_spec.failures import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator
    from referencing import Registry

BASE = "https://codemode-conformance.example/schema/"
_ENDING = ".schema.json"
_SHOWN = 80
_MOST = 300


@cache
def _contents() -> dict[str, Any]:
    root = files(__package__) / "schema"
    entries = [entry for entry in root.iterdir() if entry.name.endswith(_ENDING)]
    return {
        entry.name.removesuffix(_ENDING): json.loads(entry.read_text(encoding="utf-8"))
        for entry in entries
    }


@cache
def _registry() -> Registry[Any]:
    from referencing import Registry  # noqa: PLC0415  see above
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    # A schema that names its dialect would be followed with the stock validator of that dialect.
    plain = {
        name: {key: part for key, part in item.items() if key != "$schema"}
        for name, item in _contents().items()
    }
    return Registry().with_resources(
        (f"{BASE}{name}{_ENDING}", DRAFT202012.create_resource(item))
        for name, item in plain.items()
    )


def schema_names() -> list[str]:
    """The names of all schemas, without their ending."""
    names = (entry.name for entry in (files(__package__) / "schema").iterdir())
    return sorted(name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING))


def schema(name: str) -> Any:
    """The JSON Schema of this name."""
    return _contents()[name]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern))


def _pattern(
    validator: Validator, pattern: str, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    """The keyword `pattern` as ECMAScript has it: `$` is the end, and no LF may come after it."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415  see above

    del schema
    if validator.is_type(instance, "string") and not _compiled(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@cache
def _kinds() -> tuple[type[Validator], type[Validator]]:
    """The validators of messages and of documents, where `16.0` is no integer."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415  see above

    extend: Any = validators.extend  # it has no types
    plain = extend(Draft202012Validator, {"pattern": _pattern})
    strict = plain.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return plain, extend(plain, type_checker=strict)


@cache
def validator(name: str, definition: str = "", *, strict: bool = False) -> Validator:
    """A validator for the schema `name`, or for one entry of its `$defs`.

    With `strict`, `16.0` is no integer: it would be one in JSON, and a float in the tables.
    """
    reference = f"{BASE}{name}{_ENDING}" + (f"#/$defs/{definition}" if definition else "")
    return _kinds()[strict]({"$ref": reference}, registry=_registry())


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


def problems(
    name: str, value: Any, file: str, definition: str = "", *, strict: bool = False
) -> list[Problem]:
    """What is wrong with a value by a schema: one problem a fault, with the path inside it."""
    found = [
        Problem(file, pointer(leaf.absolute_path), _reason(leaf))
        for error in validator(name, definition, strict=strict).iter_errors(value)
        for leaf in _leaves(error)
    ]
    return list(dict.fromkeys(found))


def _reason(error: ValidationError) -> str:
    """What is wrong, with the value itself shortened and the reason whole."""
    told = repr(error.instance)
    short = told if len(told) <= _SHOWN else f"{told[:_SHOWN]}..."
    if error.validator == "enum":
        allowed = ", ".join(str(value) for value in cast(list[Any], error.validator_value))
        return f"{short} is not one of: {allowed}"
    if error.validator == "uniqueItems":
        listed = cast(list[Any], error.instance)
        twice = next(value for n, value in enumerate(listed) if value in listed[:n])
        return f"{str(twice)[:_SHOWN]} stands twice"
    message = error.message.replace(told, short, 1)
    return message if len(message) <= _MOST else f"{message[: _MOST - 1]}..."
