"""Operations, and the catalogue of them that a program sees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from codemode_reference.arguments import ArgumentSchema, SchemaRefusedError
from codemode_reference.ceilings import Ceiling, fingerprint
from codemode_reference.codes import Code
from codemode_reference.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

JsonValue: TypeAlias = Any
Handler: TypeAlias = Callable[[JsonValue], Awaitable[JsonValue]]
Permission: TypeAlias = Callable[[JsonValue], bool]

invocation: ContextVar[int] = ContextVar("invocation")
"""The invocation that a handler works for: a number that is never used again."""

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
class Cost:
    """What one call takes of the budgets of its invocation, besides the call itself."""

    pages: int = 0
    snapshots: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """A host tool. `arguments` is a JSON Schema; an empty one takes anything (see `arguments.py`).

    The handler gets the arguments and returns a JSON value. Whatever it raises reaches the program
    as `operation_failed` without its text. `permits` is asked for each call whose arguments match;
    what it does not permit is `capability_denied`. `diagnostics` are JSON pointers of fields for
    people, which no program sees: null stands in their place. `untracked`: it may change more than
    it tells, as whatever runs commands does. A program may call it by its `aliases`, too; `ceiling`
    is what was granted once, and what it has become since must be that. A `control` operation is
    for direct calls alone.
    """

    name: str
    handler: Handler
    effect: Literal["read", "write"] = "read"
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    cost: Cost = Cost()
    permits: Permission | None = None
    diagnostics: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str | None = None
    annotations: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    ceiling: Ceiling | None = None
    untracked: bool = False
    control: bool = False


class Catalogue:
    """The operations of one parent by name. Raises PolicyError for a name twice or a bad schema."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = {operation.name: operation for operation in operations}
        names = [name for operation in operations for name in (operation.name, *operation.aliases)]
        if len(set(names)) != len(names) or not all(map(_usable, operations)):
            raise PolicyError(Code.invalid_policy, "operations")
        self.methods = dict(zip(self._operations, method_names(self._operations), strict=True))
        self.granted = frozenset(one.name for one in operations if not one.control)
        self._schemas = {
            operation.name: _schema(operation) for operation in operations if operation.arguments
        }

    def __contains__(self, name: object) -> bool:
        return name in self._operations

    def __getitem__(self, name: str) -> Operation:
        return self._operations[name]

    def restricted(self, names: Iterable[str] | None) -> Catalogue:
        """The same catalogue with only `names` granted; ValueError for a name that is none."""
        if names is None:
            return self
        restricted = copy(self)
        restricted.granted = frozenset(names)
        unknown = restricted.granted - self.granted
        if unknown:
            raise ValueError(f"there are no such operations to grant: {', '.join(sorted(unknown))}")
        return restricted

    def suggestions(self) -> set[str]:
        """Every name that may be suggested to a program."""
        aliases = (alias for name in self.granted for alias in self._operations[name].aliases)
        return {*self.granted, *(self.methods[name] for name in self.granted), *aliases}

    def described(self) -> list[dict[str, Any]]:
        """What is granted of the catalogue, as it stands in an `execute` frame."""
        return [
            self._described(operation)
            for operation in self._operations.values()
            if operation.name in self.granted
        ]

    def _described(self, operation: Operation) -> dict[str, Any]:
        described = {
            "name": operation.name,
            "method": self.methods[operation.name],
            "effect": operation.effect,
            "arguments": dict(operation.arguments),
        }
        if operation.aliases:
            described["aliases"] = list(operation.aliases)
        if operation.description is not None:
            described["description"] = operation.description
        return described

    def accepts(self, name: str, arguments: JsonValue) -> bool:
        """Whether `arguments` match the schema of the operation `name`."""
        schema = self._schemas.get(name)
        return schema is None or schema.accepts(arguments)

    def permits(self, name: str, arguments: JsonValue) -> bool:
        """Whether this call of the operation `name` is allowed; not if it cannot be told."""
        operation = self._operations[name]
        ceiling, permission = operation.ceiling, operation.permits
        try:
            if ceiling is not None:
                found = fingerprint(name, operation.arguments, operation.annotations)
                if not ceiling.allows(found, operation.effect):
                    return False
            return permission is None or permission(arguments) is True
        except Exception:  # noqa: BLE001  fail closed; the text stays here
            return False

    def redacted(self, name: str, value: JsonValue) -> JsonValue:
        """`value`, a result of the operation `name`, with null for its diagnostics."""
        for pointer in self._operations[name].diagnostics:
            value = _without(value, pointer.split("/")[1:])
        return value


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


def _without(value: JsonValue, path: Sequence[str]) -> JsonValue:
    """A copy, as far as it is another, in which the field at `path` is null if there is one."""
    if not path:
        return None
    key, *rest = path
    if type(value) is not dict or key not in value:
        return value
    return {**value, key: _without(value[key], rest)}


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
