"""Requirements, tables and cases, both ways: what nothing states, what nothing observes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemode_spec.coverage import coverage_of, sides_of
from codemode_spec.failures import Problem
from codemode_spec.pending import FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec.requirements import Requirement
    from codemode_spec.specification import Specification

ASKED = ("MUST", "SHOULD")
"""Levels at which a requirement needs a case."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Things that need a case: name to (file, path, what is lacking)."""

    key: str
    what: str
    wanted: Mapping[str, tuple[str, str, str]]
    covered: frozenset[str]


def gaps(specification: Specification) -> list[Problem]:
    """Every break in the trace from tables to requirements to cases, and every stale entry."""
    found = _unstated(specification) + _contradictions(specification)
    for group in _groups(specification):
        found += _uncovered(group, specification.pending.groups[group.key])
    return found + _counts(specification)


def _file(item: Requirement) -> str:
    return f"requirements/{item.area.lower()}.yaml"


def _unstated(specification: Specification) -> list[Problem]:
    """Error codes and policy rows of which no requirement speaks."""
    requirements = specification.requirements.values()
    codes = {code for item in requirements for code in item.codes}
    rows = {row for item in requirements for row in item.rows}
    advice = "no requirement speaks of it; name it in the `{}` of one"
    return [
        *(
            Problem("errors.json", f"/errors/{name}", advice.format("codes"))
            for name in specification.tables.errors
            if name not in codes
        ),
        *(
            Problem("policy.json", f"/rows/{name}", advice.format("rows"))
            for name in specification.tables.rows
            if name not in rows
        ),
    ]


def _contradictions(specification: Specification) -> list[Problem]:
    """Requirements that say that no case observes them, while one does."""
    judged = {name for case in specification.cases.values() for name in case.requirements.values()}
    return [
        Problem(_file(item), f"/{item.id}", "a case judges it; remove `untestable`")
        for item in specification.requirements.values()
        if item.untestable is not None and item.id in judged
    ]


def _groups(specification: Specification) -> Iterable[_Group]:
    tables = specification.tables
    covered = coverage_of(specification.cases.values(), tables)
    yield _Group(
        "requirements",
        "requirement that needs a case",
        {
            item.id: (_file(item), f"/{item.id}", "no case judges it")
            for item in specification.requirements.values()
            if item.level in ASKED and item.untestable is None
        },
        covered.requirements,
    )
    yield _Group(
        "rows",
        "edge",
        {
            f"{row.name}/{side}": (
                *("policy.json", f"/rows/{row.name}"),
                f"no case puts a target {side} its limit",
            )
            for row in tables.rows.values()
            for side in sides_of(row)
        },
        covered.edges,
    )
    # A code that must never come is expected by no case, but its requirement is judged by one.
    alone = {
        item.codes[0]
        for item in specification.requirements.values()
        if len(item.codes) == 1 and item.id in covered.requirements
    }
    yield _Group(
        "codes",
        "error code",
        {code: ("errors.json", f"/errors/{code}", "no case expects it") for code in tables.errors},
        covered.codes | alone,
    )
    yield _Group(
        "alternatives",
        "value of an alternative",
        {
            f"{item.name}/{value}": (
                *("alternatives.json", f"/alternatives/{item.name}/values/{value}"),
                "no case is about it",
            )
            for item in tables.alternatives.values()
            for value in item.values
        },
        covered.alternatives,
    )


def _uncovered(group: _Group, pending: Iterable[str]) -> list[Problem]:
    listed = list(pending)
    stale = [
        Problem(
            FILE,
            f"/{group.key}/{name}",
            f"there is no such {group.what}; remove it"
            if name not in group.wanted
            else "a case covers it now; remove it",
        )
        for name in listed
        if name not in group.wanted or name in group.covered
    ]
    return stale + [
        Problem(file, path, f"{lack}; write one, or list it under `{group.key}` in {FILE}")
        for name, (file, path, lack) in group.wanted.items()
        if name not in group.covered and name not in listed
    ]


def _counts(specification: Specification) -> list[Problem]:
    """The number of pending entries is the one that is written down, and never rises."""
    pending = specification.pending
    found = []
    if pending.at_most != pending.count:
        reason = f"{pending.count} entries are listed, not {pending.at_most}; write {pending.count}"
        found.append(Problem(FILE, "/at_most", reason))
    if pending.recorded is not None and pending.at_most > pending.recorded:
        reason = (
            f"{pending.at_most} is more than the {pending.recorded} of the newest revision; "
            "write cases instead"
        )
        found.append(Problem(FILE, "/at_most", reason))
    return found
