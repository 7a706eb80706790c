"""A program of steps as a coroutine: it yields what it wants of the boundary, and is resumed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codemode_spec.model.expressions import Thrown, evaluate
from codemode_spec.model.steps import (
    Act,
    Call,
    Each,
    If,
    Parallel,
    Program,
    Repeat,
    Return,
    Set,
    Throw,
    Try,
)

if TYPE_CHECKING:
    from codemode_spec.model.steps import Step
    from codemode_spec.model.terms import Refusal


class ProgramError(Exception):
    """What a program throws: an error of the bridge or the engine (`error`), or one of its own.

    `catchable` is false for what ends the invocation even through catch.
    """

    def __init__(self, error: Refusal | None, *, catchable: bool = True) -> None:
        super().__init__(error.code if error else "an error of the program")
        self.error = error
        self.catchable = catchable


class Returned(Exception):  # noqa: N818  not an error: it leaves every block of the program
    """The program returns this value."""

    def __init__(self, value: Any) -> None:
        super().__init__("return")
        self.value = value


@dataclass(frozen=True)
class Asks:
    """The program asks for a host call; it is resumed with the value."""

    operation: str
    arguments: Any
    awaited: bool


@dataclass(frozen=True)
class Forks:
    """The program starts these branches; it is resumed when all have ended."""

    branches: tuple[Coroutine, ...]


@dataclass(frozen=True)
class Does:
    """The program does something without an end."""

    kind: str


TURN: Final = "i"
"""The number of a branch, which is its own."""

Want: TypeAlias = Asks | Forks | Does
Coroutine: TypeAlias = Generator[Want, Any, None]


def run(program: Program, names: dict[str, Any]) -> Coroutine:
    """Run the steps with these names, which they change."""
    for step in program:
        yield from _run(step, names)


def _run(step: Step, names: dict[str, Any]) -> Coroutine:
    match step:
        case Repeat() | Each() | If():
            yield from _turns(step, names)
        case Try():
            yield from _try(step, names)
        case Set():
            _set(step, names)
        case Return():
            raise Returned(evaluate(step.value, names))
        case Throw():
            caught = names.get(f"thrown {step.name}") if step.name else None
            raise caught or ProgramError(None)
        case _:
            value = yield _want(step, names)
            if isinstance(step, Call) and step.name is not None:
                names[step.name] = value


def _turns(step: Repeat | Each | If, names: dict[str, Any]) -> Coroutine:
    if isinstance(step, If):
        yield from run(step.steps if evaluate(step.test, names) is True else step.others, names)
        return
    for value in range(step.times) if isinstance(step, Repeat) else step.values:
        turn = _Scope(names, frozenset({step.name}))
        turn[step.name] = evaluate(value, names)
        yield from run(step.steps, turn)


def _want(step: Call | Parallel | Act, names: dict[str, Any]) -> Want:
    match step:
        case Call():
            operation = evaluate(step.operation, names)
            return Asks(operation, evaluate(step.arguments, names), step.awaited)
        case Parallel():
            # Each branch has a turn of its own; what it adds or pushes is seen by all.
            own = frozenset({TURN})
            return Forks(tuple(run(branch, _Scope(names, own)) for branch in step.branches))
    return Does(step.kind)


class _Scope(dict[str, Any]):
    """The names of a block: some are its own, every other belongs to the program."""

    def __init__(self, outer: dict[str, Any], own: frozenset[str]) -> None:
        super().__init__()
        self.outer = outer
        self.own = own

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else self.outer.get(key, default)

    def __setitem__(self, key: str, value: Any) -> None:
        if key in self.own:
            super().__setitem__(key, value)
        else:
            self.outer[key] = value


def _try(step: Try, names: dict[str, Any]) -> Coroutine:
    try:
        yield from run(step.steps, names)
    except ProgramError as thrown:
        if not thrown.catchable:
            raise
        caught = thrown
    else:
        return
    fields = caught.error.fields() if caught.error else {}
    thrown_name = f"thrown {step.name}"
    handler = _Scope(names, frozenset({step.name, thrown_name}))
    handler[step.name] = Thrown(fields)
    handler[thrown_name] = caught
    yield from run(step.handler, handler)


def _set(step: Set, names: dict[str, Any]) -> None:
    value = evaluate(step.value, names)
    if step.how == "add":
        value = names.get(step.name, 0) + value
    elif step.how == "push":
        kept = names.get(step.name)
        value, pushed = kept if isinstance(kept, list) else [], value
        value.append(pushed)
    names[step.name] = value
