"""Values as programs make them, in the model's words: JSON, names, and what JSON cannot hold.

An expression is JSON in which an object with one key that begins with `$` is a form: `{$: name}`
the value of a name (`e.code` of an error), `{$length: name}` the length of a text, `{$join:
[parts]}` texts put together, `{$repeat: [text, times]}`, `{$nest: [kind, depth]}`, `{$odd: kind}`
something that JSON loses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.programs import generate
from codemode_spec.sizes import NotAValueError, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codemode_spec.model.terms import Rules

UNDEFINED: Final = "undefined"
EPOCH: Final = "1970-01-01T00:00:00.000Z"
"""What `toJSON` of the one date that cases use gives."""

_UNBOUNDED: Final = 1 << 20


class Odd(NamedTuple):
    """A leaf that JSON loses, by its kind: `undefined`, `NaN`, `Map`, `cycle` and the like."""

    kind: str


class Thrown(NamedTuple):
    """An error of the bridge as the program sees it: its fields are properties."""

    fields: Mapping[str, Any]


class Snapshot(NamedTuple):
    """A value copied once: what is left of it, its size and depth, and the fault it has, if any."""

    value: Any = None
    present: bool = True
    size: int = 0
    depth: int = 0
    fault: str | None = None
    odd: tuple[tuple[tuple[str | int, ...], str], ...] = ()


def evaluate(expression: Any, names: Mapping[str, Any]) -> Any:
    """The value of an expression. KeyError for a name that has none."""
    if isinstance(expression, list):
        return [evaluate(item, names) for item in expression]
    if not isinstance(expression, dict):
        return expression
    if len(expression) == 1:
        (key, inner), *_ = expression.items()
        if key in _FORMS:
            return _FORMS[key](inner, names)
    return {key: evaluate(item, names) for key, item in expression.items()}


def _look_up(path: str, names: Mapping[str, Any]) -> Any:
    name, *rest = path.split(".")
    value = names.get(name, 0)
    for part in rest:
        value = value.fields.get(part) if isinstance(value, Thrown) else value[part]
    return value


_FORMS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "$": lambda inner, names: _look_up(inner, names),  # noqa: PLW0108  it is defined below
    "$length": lambda inner, names: len(_look_up(inner, names)),
    "$join": lambda inner, names: "".join(str(evaluate(part, names)) for part in inner),
    "$repeat": lambda inner, _: inner[0] * int(inner[1]),
    "$nest": lambda inner, _: generate({"nest": inner[0], "depth": inner[1]}),
    "$odd": lambda inner, _: Odd(inner),
}


def snapshot(value: Any, rules: Rules) -> Snapshot:
    """What is judged of a value that leaves the program, by the alternatives."""
    if value == Odd(UNDEFINED):
        return Snapshot(present=False)
    found: list[tuple[tuple[str | int, ...], str]] = []
    copied = _copy(value, (), rules, found)
    if rules.alternatives["values"] == "structured":
        return Snapshot(copied, odd=tuple(found))
    if found:
        return Snapshot(fault="not_json")
    depth = depth_of(copied)
    try:
        size = size_of(copied, max(depth, 1)) if depth <= rules.policy["value_depth"] else 0
    except NotAValueError:
        return Snapshot(fault="not_json")
    return Snapshot(copied, size=size, depth=depth)


def _copy(
    value: Any,
    path: tuple[str | int, ...],
    rules: Rules,
    found: list[tuple[tuple[str | int, ...], str]],
) -> Any:
    if len(path) > rules.policy["value_depth"]:
        return value  # too deep already; whatever is below makes no difference
    if isinstance(value, Odd):
        if value.kind == "Date" and rules.alternatives["values"] == "json":
            return EPOCH
        found.append((path, value.kind))
        return None
    if isinstance(value, list):
        return [_copy(item, (*path, index), rules, found) for index, item in enumerate(value)]
    if isinstance(value, dict):
        omit = rules.alternatives["nested_undefined"] == "omit"
        return {
            key: _copy(item, (*path, key), rules, found)
            for key, item in value.items()
            if not (omit and item == Odd(UNDEFINED))
        }
    return value


def depth_of(value: Any) -> int:
    """How deep a value nests: a scalar 0, `[]` 1. Walked level by level, without recursion."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
        assert depth < _UNBOUNDED
    return depth
