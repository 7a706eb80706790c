"""Operations, and the catalogue of them that a program sees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from codemode_reference.arguments import ArgumentSchema, SchemaRefusedError
from codemode_reference.codes import Code
from codemode_reference.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

JsonValue: TypeAlias = Any
Handler: TypeAlias = Callable[[JsonValue], Awaitable[JsonValue]]

# `call` and `help` are the API's own; the others must read as undefined, so that awaiting or
# printing the API object calls nothing.
RESERVED_METHODS = frozenset(
    (
        *("call", "help", "then", "toJSON"),
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
        *("toLocaleString", "toString", "valueOf"),
    )
)


@dataclass(frozen=True, slots=True)
class Operation:
    """A host tool. `arguments` is a JSON Schema; an empty one takes anything (see `arguments.py`).

    The handler gets the arguments and returns a JSON value. Whatever it raises reaches the program
    as `operation_failed` without its text.
    """

    name: str
    handler: Handler
    effect: Literal["read", "write"] = "read"
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class Catalogue:
    """The operations of one parent by name. Raises PolicyError for a name twice or a bad schema."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = {operation.name: operation for operation in operations}
        if len(self._operations) != len(operations) or not all(map(_usable, operations)):
            raise PolicyError(Code.invalid_policy, "operations")
        self.methods = dict(zip(self._operations, method_names(self._operations), strict=True))
        self._schemas = {
            operation.name: _schema(operation) for operation in operations if operation.arguments
        }

    def __contains__(self, name: object) -> bool:
        return name in self._operations

    def __getitem__(self, name: str) -> Operation:
        return self._operations[name]

    def suggestions(self) -> set[str]:
        """Every name that may be suggested to a program."""
        return {*self._operations, *self.methods.values()}

    def described(self) -> list[dict[str, Any]]:
        """The catalogue as it stands in an `execute` frame."""
        return [
            {
                "name": operation.name,
                "method": self.methods[operation.name],
                "effect": operation.effect,
                "arguments": dict(operation.arguments),
            }
            for operation in self._operations.values()
        ]

    def accepts(self, name: str, arguments: JsonValue) -> bool:
        """Whether `arguments` match the schema of the operation `name`."""
        schema = self._schemas.get(name)
        return schema is None or schema.accepts(arguments)


def method_names(names: Iterable[str]) -> list[str]:
    """The method of each operation: its name in camelCase, `_2`, `_3` on a clash."""
    used = set(RESERVED_METHODS)
    methods = []
    for name in names:
        base = _camel_case(name)
        method = next(
            found for n in count(1) if (found := base if n == 1 else f"{base}_{n}") not in used
        )
        used.add(method)
        methods.append(method)
    return methods


def _usable(operation: Operation) -> bool:
    return type(operation.name) is str and operation.effect in ("read", "write")


def _schema(operation: Operation) -> ArgumentSchema:
    try:
        return ArgumentSchema(operation.arguments)
    except SchemaRefusedError as error:
        why = f"the arguments of {operation.name!r}: {error}"
        raise PolicyError(Code.invalid_policy, "operations", why) from error


def _camel_case(name: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in name).split()
    if not kept:
        return "operation"
    first, *others = kept
    return first[0].lower() + first[1:] + "".join(part[0].upper() + part[1:] for part in others)
