"""The check of a host call's arguments against a JSON Schema (2020-12), in bounded work.

A program chooses the arguments and the parent has one event loop. So there is a count of steps, and
what cannot be counted (regular expressions) or kept short (what was left unevaluated) is refused at
start. Neither recursion nor a text that is made for a catastrophe keeps the parent busy.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from codemode_spec.tables import load_tables

from codemode_reference.strict_json import read
from codemode_reference.values import NotJSONError, encode, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    JsonSchema: TypeAlias = Any
    Keyword: TypeAlias = Callable[["_Check", Any, Any, Mapping[str, Any]], bool]

# Arguments and schemas are never nested deeper: they come in a frame.
_DEPTH = load_tables().rows["value_depth"].absolute_maximum
# Several times what the largest frame needs for a plain schema, and less than a second.
_MOST_STEPS = 500_000

# Where a schema holds schemas: in a keyword itself, in its list, in its object.
_SCHEMA = (
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
)
_SCHEMA_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_MAP = ("$defs", "definitions", "dependentSchemas", "properties")
_REFUSED = (
    *("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"),
    *("pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties"),
)


class SchemaRefusedError(ValueError):
    """No schema, or one with a keyword that is not supported; the message says which."""


class ArgumentSchema:
    """A schema that arguments can be checked against. Raises SchemaRefusedError."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = _plain(schema)
        self._targets: dict[str, JsonSchema] = {"#": self._schema}
        for where in ("$defs", "definitions"):
            for name, part in self._schema.get(where, {}).items():
                self._targets[f"#/{where}/{name}"] = part
        for part in _parts(self._schema):
            self._look_at(part)

    def accepts(self, arguments: Any) -> bool:
        """Whether `arguments`, from a frame, match; False if that is too much work to find out."""
        try:
            return _Check(self._targets).holds(self._schema, arguments)
        except (_TooMuchError, RecursionError):
            return False

    def _look_at(self, part: Mapping[str, Any]) -> None:
        for keyword in _REFUSED:
            if keyword in part:
                raise SchemaRefusedError(f"{keyword} is not supported")
        if "$id" in part and part is not self._schema:
            raise SchemaRefusedError("$id is not supported below the top")
        if part.get("$ref", "#") not in self._targets:
            raise SchemaRefusedError("$ref is supported for #, #/$defs/NAME and #/definitions/NAME")


class _TooMuchError(Exception):
    """The steps are used up."""


class _Check:
    """One check. Whatever takes time that a program can choose spends steps."""

    def __init__(self, targets: Mapping[str, JsonSchema]) -> None:
        self.targets = targets
        self._left = _MOST_STEPS

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _TooMuchError

    def holds(self, schema: JsonSchema, value: Any) -> bool:
        """Whether `value` matches `schema`."""
        if isinstance(schema, bool):
            self.spend(1)
            return schema
        self.spend(1 + len(schema))
        keywords = _KEYWORDS[_KINDS[type(value)]]
        for name, wanted in schema.items():
            keyword = keywords.get(name)
            if keyword is not None and not keyword(self, wanted, value, schema):
                return False
        return True

    def identity(self, value: Any) -> Any:
        """Equal for equal JSON: numbers by value, objects without order; true is not 1."""
        if not isinstance(value, (dict, list)):
            self.spend(1)
            return isinstance(value, bool), value
        text = encode(_in_order(value), _DEPTH)
        # The text of a small value takes as long as a few keywords.
        self.spend(10 + len(text))
        return text


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    # Imported late: it takes longer than all the rest, and not every catalogue has schemas.
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415

    try:
        if measure(dict(schema), _DEPTH) > load_tables().execute_parts.rest_bytes:
            raise SchemaRefusedError("it fits no execute frame")
        # A copy that shares no parts and that nobody changes.
        copy: dict[str, Any] = read(encode(dict(schema), _DEPTH), _DEPTH)
        Draft202012Validator.check_schema(copy)
    except (NotJSONError, SchemaError, RecursionError) as error:
        raise SchemaRefusedError("it is no JSON Schema") from error
    return copy


def _parts(schema: JsonSchema) -> Iterator[Mapping[str, Any]]:
    """Every schema in `schema`, itself too. What a keyword takes as data is none."""
    if isinstance(schema, bool):
        return
    yield schema
    for keyword, held in schema.items():
        if keyword in _SCHEMA:
            yield from _parts(held)
        elif keyword in _SCHEMA_LIST:
            for part in held:
                yield from _parts(part)
        elif keyword in _SCHEMA_MAP:
            for part in held.values():
                yield from _parts(part)


def _in_order(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _in_order(item[key]) for key in sorted(item)}
    return [_in_order(element) for element in item] if isinstance(item, list) else item


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


# Keywords that more than an expression is needed for


def _type(_check: _Check, wanted: Any, value: Any, _schema: Any) -> bool:
    kind = _KINDS[type(value)]
    names = [wanted] if isinstance(wanted, str) else wanted
    return kind in names or (kind == "number" and "integer" in names and value == value // 1)


def _if(check: _Check, wanted: Any, value: Any, schema: Any) -> bool:
    branch = schema.get("then" if check.holds(wanted, value) else "else", True)
    return check.holds(branch, value)


def _multiple_of(_check: _Check, wanted: Any, value: Any, _schema: Any) -> bool:
    if isinstance(value, int) and isinstance(wanted, int):
        return bool(value % wanted == 0)
    quotient = value / wanted
    # Rounded, so that 0.4 is a multiple of 0.1, unless it is beyond a double.
    return bool(
        math.fmod(value, wanted) == 0 if math.isinf(quotient) else quotient == quotient // 1
    )


def _items(check: _Check, wanted: Any, value: Any, schema: Any) -> bool:
    first = len(schema.get("prefixItems", ()))
    return all(check.holds(wanted, element) for element in islice(value, first, None))


def _contains(check: _Check, wanted: Any, value: Any, schema: Any) -> bool:
    found = sum(check.holds(wanted, element) for element in value)
    return bool(schema.get("minContains", 1) <= found <= schema.get("maxContains", len(value)))


def _unique_items(check: _Check, wanted: Any, value: Any, _schema: Any) -> bool:
    return not wanted or len({check.identity(element) for element in value}) == len(value)


def _properties(check: _Check, wanted: Any, value: Any, _schema: Any) -> bool:
    check.spend(len(wanted))
    return all(check.holds(part, value[name]) for name, part in wanted.items() if name in value)


def _additional_properties(check: _Check, wanted: Any, value: Any, schema: Any) -> bool:
    check.spend(len(value))
    named = schema.get("properties", {})
    return all(check.holds(wanted, value[name]) for name in value if name not in named)


def _dependent_schemas(check: _Check, wanted: Any, value: Any, _schema: Any) -> bool:
    check.spend(len(wanted))
    return all(check.holds(part, value) for name, part in wanted.items() if name in value)


def _dependent_required(check: _Check, wanted: Any, value: Any, _schema: Any) -> bool:
    check.spend(len(wanted))
    needed = (others for name, others in wanted.items() if name in value)
    return all(_required(check, others, value, {}) for others in needed)


def _required(check: _Check, wanted: Any, value: Any, _schema: Any) -> bool:
    check.spend(len(wanted))
    return all(name in value for name in wanted)


_ANY: dict[str, Keyword] = {
    "type": _type,
    "enum": lambda c, w, v, _: c.identity(v) in [c.identity(one) for one in w],
    "const": lambda c, w, v, _: c.identity(v) == c.identity(w),
    "$ref": lambda c, w, v, _: c.holds(c.targets[w], v),
    "allOf": lambda c, w, v, _: all(c.holds(part, v) for part in w),
    "anyOf": lambda c, w, v, _: any(c.holds(part, v) for part in w),
    "oneOf": lambda c, w, v, _: sum(c.holds(part, v) for part in w) == 1,
    "not": lambda c, w, v, _: not c.holds(w, v),
    "if": _if,
}

_SPECIFIC: dict[str, dict[str, Keyword]] = {
    "number": {
        "minimum": lambda _c, w, v, _: v >= w,
        "maximum": lambda _c, w, v, _: v <= w,
        "exclusiveMinimum": lambda _c, w, v, _: v > w,
        "exclusiveMaximum": lambda _c, w, v, _: v < w,
        "multipleOf": _multiple_of,
    },
    "string": {
        "minLength": lambda _c, w, v, _: len(v) >= w,
        "maxLength": lambda _c, w, v, _: len(v) <= w,
    },
    "array": {
        "items": _items,
        "prefixItems": lambda c, w, v, _: all(map(c.holds, w, v)),
        "contains": _contains,
        "minItems": lambda _c, w, v, _: len(v) >= w,
        "maxItems": lambda _c, w, v, _: len(v) <= w,
        "uniqueItems": _unique_items,
    },
    "object": {
        "properties": _properties,
        "additionalProperties": _additional_properties,
        "propertyNames": lambda c, w, v, _: all(c.holds(w, name) for name in v),
        "required": _required,
        "dependentRequired": _dependent_required,
        "dependentSchemas": _dependent_schemas,
        "minProperties": lambda _c, w, v, _: len(v) >= w,
        "maxProperties": lambda _c, w, v, _: len(v) <= w,
    },
}

_KEYWORDS = {kind: _ANY | _SPECIFIC.get(kind, {}) for kind in _KINDS.values()}
