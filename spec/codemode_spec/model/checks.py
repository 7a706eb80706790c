"""A place of the table of checks, walked in its order: the first check that fails answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from codemode_spec.model.terms import Note, Refusal, Rules, refusal

if TYPE_CHECKING:
    from codemode_spec.tables import Check

Fields = Mapping[str, Any] | None


class Asked(NamedTuple):
    """What a test looks at: the rules, the state so far, and what is being checked."""

    rules: Rules
    state: Any
    subject: Any


class Procedure(NamedTuple):
    """A place with a test for each of its checks, and how a state is charged.

    A test gives None when it passes, and the fields of the error when it does not. `take` gets
    the names of what a passed check takes and gives the state that was charged for it.
    """

    place: str
    tests: Mapping[str, Callable[[Asked], Fields]]
    take: Callable[[Asked, Sequence[str]], Any]


class Walked(NamedTuple):
    """Where a walk ended: the state with all that was charged, and the check that failed, if any.

    `error` is None for a check that drops what came.
    """

    state: Any
    failed: Check | None
    error: Refusal | None
    notes: tuple[Note, ...]


def passes(asked: Asked) -> Fields:
    """A check made before this place (as of bytes), or an act that cannot fail."""
    del asked
    return None


def fails(*, when: bool, **fields: Any) -> Fields:
    """The answer of a test: these fields when it fails, None when it passes."""
    return fields if when else None


def walk(procedure: Procedure, asked: Asked) -> Walked:
    """Make the checks of a place in the order of the table.

    What a passed check takes is charged at once and stays charged whatever comes after it. A
    check of a row that the profile does not have is left out.
    """
    notes = []
    rules, place = asked.rules, procedure.place
    for check in rules.tables.places[place].checks:
        if check.row is not None and check.row not in rules.policy:
            continue
        fields = procedure.tests[check.check](asked)
        error = None if fields is None or check.code is None else refusal(rules, check, fields)
        row = check.row
        used = asked.state.used(row) if row else None
        limit = None if row is None else rules.policy[row]
        notes.append(Note(place, check.check, fields is None, check.text, used, limit, error))
        if fields is not None:
            return Walked(asked.state, check, error, tuple(notes))
        if check.takes:
            asked = asked._replace(state=procedure.take(asked, check.takes))
    return Walked(asked.state, None, None, tuple(notes))
