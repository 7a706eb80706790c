"""What the cases cover: requirements, sides of limits, error codes, values of alternatives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.expansion import blocks_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from codemode_spec.cases import Case
    from codemode_spec.tables import Row, Tables

SIDES: Final = ("below", "at", "above")
"""Where a case can put a target: under a limit, exactly at it, and over it."""

_WITHOUT_EXACT_EDGE: Final = ("milliseconds",)
_STYLES: Final = ("async", "sync")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Requirements and codes by name; edges as `row/side`, alternatives as `name/value`."""

    requirements: frozenset[str]
    edges: frozenset[str]
    codes: frozenset[str]
    alternatives: frozenset[str]


def sides_of(row: Row) -> tuple[str, ...]:
    """The sides of a row's limit that cases must reach.

    A clock, and the heap or stack that an engine counts itself, cannot be met exactly.
    """
    inexact = row.unit in _WITHOUT_EXACT_EDGE or any(
        enforcer.on_exceed == "engine_error" for enforcer in row.enforcers
    )
    return tuple(side for side in SIDES if not (inexact and side == "at"))


def coverage_of(cases: Iterable[Case], tables: Tables) -> Coverage:
    """What these cases cover together."""
    listed = list(cases)
    return Coverage(
        requirements=frozenset(name for case in listed for name in case.requirements.values()),
        edges=frozenset(
            f"{row}/{side}"
            for case in listed
            for row, sides in case.edges.items()
            for side in sides
        ),
        codes=frozenset(code for case in listed for code in _expected_codes(case, tables)),
        alternatives=frozenset(value for case in listed for value in _chosen(case)),
    )


def _expected_codes(case: Case, tables: Tables) -> Iterator[str]:
    """Codes that a block expects of the outcome, or in a value that the program made of them."""
    for block in blocks_for(case.data, case.variant):
        for part in (block, *block.get("any_of", ())):
            told = [part.get("error", {}), *part.get("answers", {}).values()]
            yield from (one["code"] for one in told if "code" in one)
            for text in _texts(part.get("value")):
                yield from set(re.findall(r"[a-z_]+", text)) & set(tables.errors)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])


def _chosen(case: Case) -> Iterator[str]:
    """Values of alternatives that a case is about: those that it, or a block, selects alone."""
    selected: list[tuple[str, Any]] = list(case.alternatives.items())
    for block in blocks_for(case.data, case.variant):
        selected += block.get("when", {}).items()
    for name, value in selected:
        values = (value,) if isinstance(value, str) else value
        if name != "variant" and len(values) == 1:
            yield f"{name}/{values[0]}"
    for program in case.programs:
        for styles in program.values():
            if isinstance(styles, dict):
                yield from (f"script_style/{style}" for style in _STYLES if style in styles)
