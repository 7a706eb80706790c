"""Operations, and the catalogue of them that a program sees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from codemode_reference.arguments import ArgumentSchema, SchemaRefusedError
from codemode_reference.ceilings import Ceiling, fingerprint
from codemode_reference.codes import Code
from codemode_reference.errors import PolicyError
from codemode_reference.names import method_names
from codemode_reference.surface import Surface, hidden, in_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codemode_reference.filters import Filters

JsonValue: TypeAlias = Any
Handler: TypeAlias = Callable[[JsonValue], Awaitable[JsonValue]]
Permission: TypeAlias = Callable[[JsonValue], bool]

invocation: ContextVar[int] = ContextVar("invocation")
"""The invocation that a handler works for: a number that is never used again."""


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
    for direct calls alone. Where methods stand in groups, `group` names one, `aliases` are other
    names of the method in it and `shortcuts` at the top. An effect that is `unstated` counts as
    `write`.
    """

    name: str
    handler: Handler
    effect: Literal["read", "write", "unstated"] = "read"
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
    group: str = ""
    shortcuts: tuple[str, ...] = ()

    @property
    def reads(self) -> bool:
        """Whether it only reads; what does not say so may write."""
        return self.effect == "read"


class Catalogue:
    """The operations of one parent by name. Raises PolicyError for a name twice or a bad schema.

    With a `surface` methods stand in groups; `filters` look at the arguments of calls.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        surface: Surface | None = None,
        filters: Filters | None = None,
    ) -> None:
        self._operations = {operation.name: operation for operation in operations}
        names = [name for operation in operations for name in (operation.name, *operation.aliases)]
        if len(set(names)) != len(names) or not all(map(_usable, operations)):
            raise PolicyError(Code.invalid_policy, "operations")
        if surface is None:
            names = method_names(self._operations)
            self.methods = dict(zip(self._operations, names, strict=True))
        else:
            self.methods = surface.methods(operations)
        self.granted = frozenset(self._operations.keys() - hidden(operations))
        self.readonly = False
        self._filters = filters
        self._schemas = {
            operation.name: _schema(operation) for operation in operations if operation.arguments
        }

    def __contains__(self, name: object) -> bool:
        return name in self._operations

    def __getitem__(self, name: str) -> Operation:
        return self._operations[name]

    def restricted(self, names: Iterable[str] | None, *, readonly: bool = False) -> Catalogue:
        """The same catalogue with only `names` granted; ValueError for a name that is none.

        A `readonly` one forbids every call that may write.
        """
        if names is None and not readonly:
            return self
        restricted = copy(self)
        restricted.readonly = readonly
        if names is None:
            return restricted
        restricted.granted = frozenset(names)
        unknown = restricted.granted - self.granted
        if unknown:
            raise ValueError(f"there are no such operations to grant: {', '.join(sorted(unknown))}")
        return restricted

    def suggestions(self) -> set[str]:
        """Every name that may be suggested to a program."""
        granted = [self._operations[name] for name in self.granted]
        aliases = (name for one in granted for name in (*one.aliases, *one.shortcuts))
        groups = {one.group for one in granted if one.group}
        return {*self.granted, *(self.methods[one.name] for one in granted), *aliases, *groups}

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
            "effect": "read" if operation.reads else "write",
            "arguments": dict(operation.arguments),
            **in_frame(operation),
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

    def forbids(self, name: str) -> bool:
        """Whether the operation `name` may write and nothing may be written."""
        return self.readonly and not self._operations[name].reads

    def blocked(self, arguments: JsonValue) -> str | None:
        """The pattern that is blocked in the texts of `arguments`, if there is one."""
        return None if self._filters is None else self._filters.in_arguments(arguments)

    def redacted(self, name: str, value: JsonValue) -> JsonValue:
        """`value`, a result of the operation `name`, with null for its diagnostics."""
        for pointer in self._operations[name].diagnostics:
            value = _without(value, pointer.split("/")[1:])
        return value


def _without(value: JsonValue, path: Sequence[str]) -> JsonValue:
    """A copy, as far as it is another, in which the field at `path` is null if there is one."""
    if not path:
        return None
    key, *rest = path
    if type(value) is not dict or key not in value:
        return value
    return {**value, key: _without(value[key], rest)}


def _usable(operation: Operation) -> bool:
    return type(operation.name) is str and operation.effect in ("read", "write", "unstated")


def _schema(operation: Operation) -> ArgumentSchema:
    try:
        return ArgumentSchema(operation.arguments)
    except SchemaRefusedError as error:
        why = f"the arguments of {operation.name!r}: {error}"
        raise PolicyError(Code.invalid_policy, "operations", why) from error
