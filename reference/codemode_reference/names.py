"""Names of methods, made from those of operations."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# `call` and `help` are the API's own; the others must read as undefined, so that awaiting or
# printing the API object calls nothing.
RESERVED_METHODS = frozenset(
    (
        *("call", "help", "then", "toJSON"),
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
        *("toLocaleString", "toString", "valueOf"),
    )
)


def method_names(names: Iterable[str], taken: Collection[str] = RESERVED_METHODS) -> list[str]:
    """The method of each operation: its name in camelCase, `_2`, `_3` on a clash."""
    used = set(taken)
    methods = []
    for name in names:
        base = _camel_case(name)
        method = next(
            found for n in count(1) if (found := base if n == 1 else f"{base}_{n}") not in used
        )
        used.add(method)
        methods.append(method)
    return methods


def _camel_case(name: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in name).split()
    if not kept:
        return "operation"
    first, *others = kept
    return first[0].lower() + first[1:] + "".join(part[0].upper() + part[1:] for part in others)
