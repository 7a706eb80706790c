"""Programs in the model's words: what a program does at the boundary, step by step, as data.

A program is a list of steps. Names start as 0; `add` and `push` change them. A call that is
refused throws an error of the bridge, which `try` may catch unless it ends the invocation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Program: TypeAlias = "tuple[Step, ...]"


@dataclass(frozen=True)
class Call:
    """A host call, by a name or an expression; `awaited` is false for one that is only sent."""

    operation: Any
    arguments: Any = field(default_factory=dict)
    name: str | None = None
    awaited: bool = True


@dataclass(frozen=True)
class Parallel:
    """Branches that start in order and run side by side; the first that throws throws here."""

    branches: tuple[Program, ...]


@dataclass(frozen=True)
class Repeat:
    """Steps that are repeated, with the number of the turn as `name`."""

    times: int
    steps: Program
    name: str = "i"


@dataclass(frozen=True)
class Each:
    """Steps that are done for each of these values in turn, with the value as `name`."""

    values: tuple[Any, ...]
    steps: Program
    name: str


@dataclass(frozen=True)
class If:
    """Steps that are done where an expression is true, and others where it is not."""

    test: Any
    steps: Program
    others: Program


@dataclass(frozen=True)
class Try:
    """Steps, and those that handle what they throw, with the error as `name`."""

    steps: Program
    handler: Program
    name: str = "e"


@dataclass(frozen=True)
class Set:
    """A name gets a value; `how` is `set`, `add` (a number) or `push` (onto a list)."""

    how: str
    name: str
    value: Any


@dataclass(frozen=True)
class Return:
    """The program returns the value of an expression."""

    value: Any


@dataclass(frozen=True)
class Throw:
    """The program throws: an error of its own, or with `name` the very one that it caught."""

    name: str | None = None


@dataclass(frozen=True)
class Act:
    """The program does something without an end: `spin`, `stall`, `memory` or `stack`.

    `syntax` is a place that does not parse: none of the program runs.
    """

    kind: str


Step: TypeAlias = Call | Parallel | Repeat | Each | If | Try | Set | Return | Throw | Act


def program(data: list[Any]) -> Program:
    """The program of a list of steps as data, valid by `steps.schema.json`, templates filled."""
    return tuple(map(_step, data))


def parses(steps: Program) -> bool:
    """Whether a program is one at all. A place that does not parse stands outside of blocks."""
    return Act("syntax") not in steps


def _step(data: Mapping[str, Any]) -> Step:
    match data:
        case {"call": name}:
            return Call(name, data.get("arguments", {}), data.get("as"))
        case {"send": name}:
            return Call(name, data.get("arguments", {}), awaited=False)
        case {"return": value}:
            return Return(value)
        case {"throw": name}:
            return Throw(name)
        case {"act": kind}:
            return Act(kind)
    return _block(data) or _change(data)


def _block(data: Mapping[str, Any]) -> Step | None:
    match data:
        case {"all": list(branches)}:
            return Parallel(tuple(map(program, branches)))
        case {"all": {"times": times, "do": steps}}:
            inner = program(steps)
            return Parallel(
                tuple((Set("set", "i", number), *inner) for number in range(int(times)))
            )
        case {"repeat": times, "do": steps}:
            return Repeat(int(times), program(steps), data.get("as", "i"))
        case {"each": values, "as": name, "do": steps}:
            return Each(tuple(values), program(steps), name)
        case {"if": test, "do": steps}:
            return If(test, program(steps), program(data.get("else", [])))
        case {"try": steps}:
            return Try(program(steps), program(data.get("catch", [])), data.get("as", "e"))
    return None


def _change(data: Mapping[str, Any]) -> Set:
    match data:
        case {"set": name, "to": value}:
            return Set("set", name, value)
        case {"add": name}:
            return Set("add", name, data.get("by", 1))
        case {"push": name, "value": value}:
            return Set("push", name, value)
    raise ValueError(f"no step of the model: {data}")
