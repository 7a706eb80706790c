"""Values as programs make them, in the model's words: JSON, names, and what JSON cannot hold.

An expression is JSON in which an object with one key that begins with `$` is a form:

- `{$: name}` the value of a name (`e.code` of an error, `pair.0` of an array), `{$length: name}` of
  a text or array, `{$depth: name}` how deep it nests, `{$fields: name}` and `{$keys: name}` the
  properties of an error;
- `{$join: [parts]}` texts put together, `{$equal: [one, other]}`, `{$more: [one, other]}`;
- `{$repeat: [text, times]}`, `{$nest: [kind, depth]}`, `{$to_json: value}` an object with that
  method, `{$reads: text}` what tells, after the text, how often it was read, `{$odd: kind}` what
  JSON loses.
"""

from __future__ import annotations

from dataclasses import dataclass
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


PROMISE: Final = Odd("promise")
"""A promise that a program returns where calls return directly; elsewhere it is awaited."""


class Thrown(NamedTuple):
    """An error of the bridge as the program sees it: its fields are properties."""

    fields: Mapping[str, Any]


class ToJson(NamedTuple):
    """An object whose `toJSON` gives this value."""

    value: Any


@dataclass
class Reads:
    """A property or a method that tells how often it was read: a number, or text and number."""

    text: str
    times: int = 0

    def read(self) -> int | str:
        """What it tells this time."""
        self.times += 1
        return f"{self.text}{self.times}" if self.text else self.times


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
        value = _property(value, part)
    return value


def _property(value: Any, name: str) -> Any:
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    properties = value.fields if isinstance(value, Thrown) else value
    known = isinstance(properties, dict) and name in properties
    return properties[name] if known else Odd(UNDEFINED)


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


_FORMS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "$": lambda inner, names: _look_up(inner, names),  # noqa: PLW0108  it is defined below
    "$length": lambda inner, names: len(_look_up(inner, names)),
    "$depth": lambda inner, names: depth_of(_look_up(inner, names)),
    "$fields": lambda inner, names: dict(_look_up(inner, names).fields),
    "$keys": lambda inner, names: sorted(_look_up(inner, names).fields),
    "$equal": lambda inner, names: _same(*(evaluate(part, names) for part in inner)),
    "$more": lambda inner, names: evaluate(inner[0], names) > evaluate(inner[1], names),
    "$to_json": lambda inner, names: ToJson(evaluate(inner, names)),
    "$reads": lambda inner, _: Reads(inner),
    "$join": lambda inner, names: "".join(str(evaluate(part, names)) for part in inner),
    "$repeat": lambda inner, _: inner[0] * int(inner[1]),
    "$nest": lambda inner, _: generate({"nest": inner[0], "depth": inner[1]}),
    "$odd": lambda inner, _: Odd(inner),
}


_THROWS: Final = ("bigint", "cycle")


def snapshot(value: Any, rules: Rules) -> Snapshot:
    """What is judged of a value that leaves the program, by the alternatives."""
    if value == Odd(UNDEFINED):
        return Snapshot(present=False)
    found: list[tuple[tuple[str | int, ...], str]] = []
    copied = _copy(value, (), rules, found)
    if found:
        # Those at which JSON.stringify throws are refused by a round trip, too.
        throws = any(kind in _THROWS for _, kind in found)
        values = rules.alternatives["values"]
        if values == "json" or (values == "round_trip" and throws):
            return Snapshot(fault="not_json")
        return Snapshot(copied, odd=tuple(found))  # of a size that no rule gives
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
    json = rules.alternatives["values"] != "structured"
    if isinstance(value, Reads):
        return value.read()
    if isinstance(value, ToJson) and json:
        given = value.value
        # It is asked once: what it gives is judged as it is, a method of its own is a function.
        return _copy(Odd("function") if isinstance(given, ToJson) else given, path, rules, found)
    if value == Odd("Date") and json:
        return EPOCH
    if (kind := _odd(value)) is not None:
        found.append((path, kind))
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
    return 0 if value == 0 and isinstance(value, float) else value  # there is one zero


def _odd(value: Any) -> str | None:
    """The kind of what JSON loses, or None for anything else."""
    if isinstance(value, Odd):
        return value.kind
    return {Thrown: "Error", ToJson: "function"}.get(type(value))


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
