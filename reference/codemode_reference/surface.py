"""Where methods stand in an API that has groups, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from codemode_reference.codes import Code
from codemode_reference.errors import PolicyError
from codemode_reference.names import RESERVED_METHODS, method_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from codemode_reference.operations import Operation

TOP = ""
_PROGRESS = "reportProgress"


class Surface(NamedTuple):
    """How methods get their names.

    The common `prefix` of all tools is dropped (`store` of `store_notes_add`), then the name of
    their group (`notes_add` is `add` in the group `notes`), unless it is one of those that keep it.
    """

    prefix: str = ""
    keeps: frozenset[str] = frozenset()

    def methods(self, operations: Iterable[Operation]) -> dict[str, str]:
        """The method of each operation in its group; PolicyError where two names are the same."""
        groups: dict[str, list[Operation]] = {}
        for operation in operations:
            groups.setdefault(operation.group, []).append(operation)
        taken = {*RESERVED_METHODS, _PROGRESS, *groups}
        found: dict[str, str] = {}
        for group, members in groups.items():
            stems = [self._stem(operation) for operation in members]
            used = taken if group == TOP else RESERVED_METHODS
            methods = method_names(stems, used)
            found |= {one.name: method for one, method in zip(members, methods, strict=True)}
            _check([*methods, *(alias for one in members for alias in one.aliases)], used)
        top = [found[one.name] for one in groups.get(TOP, ())]
        top += [alias for one in groups.get(TOP, ()) for alias in one.aliases]
        _check([*top, *(name for one in operations for name in one.shortcuts)], taken)
        return found

    def _stem(self, operation: Operation) -> str:
        stem = _without(operation.name, self.prefix)
        return stem if operation.group in self.keeps else _without(stem, operation.group)


def hidden(operations: Iterable[Operation]) -> set[str]:
    """Operations that no program may call: control operations, and whatever stands beside one.

    The tool that runs programs is one, and its group is that of tools about programs.
    """
    control = [operation for operation in operations if operation.control]
    groups = {operation.group for operation in control} - {TOP}
    return {one.name for one in operations if one.control or one.group in groups}


def in_frame(operation: Operation) -> Mapping[str, object]:
    """What an `execute` frame says of the place of an operation."""
    said: dict[str, object] = {}
    if operation.group != TOP:
        said["group"] = operation.group
    if operation.shortcuts:
        said["shortcuts"] = list(operation.shortcuts)
    return said


def _without(name: str, prefix: str) -> str:
    rest = name.removeprefix(f"{prefix}_") if prefix else name
    return rest or name


def _check(names: Collection[str], taken: Collection[str]) -> None:
    if len(set(names)) != len(names) or not set(names).isdisjoint(taken):
        why = "two methods or aliases of one group have the same name"
        raise PolicyError(Code.invalid_policy, "operations", why)
