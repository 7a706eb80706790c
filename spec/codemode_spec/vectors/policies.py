"""Vectors of policies: for each profile and row every kind of wrong value, and both bounds."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.tables import Profile, Row, Tables
    from codemode_spec.vectors.lines import Vector

_WRONG: Final[dict[str, Any]] = {
    "negative": -1,
    "far-below": -(2**53) + 1,
    "half": 0.5,
    "true": True,
    "false": False,
    "text": "1",
    "empty-text": "",
    "null": None,
    "array": [1],
    "object": {},
    "far-above": 2**53 - 1,
}


def vectors(tables: Tables) -> list[Vector]:
    """All vectors: what changes from the profile's defaults, and the field that is then named."""
    found: list[Vector] = []
    for profile in tables.profiles.values():
        found.append(_vector(profile, "defaults", None))
        for row in profile.rows.values():
            found += _row(profile, row)
        found += _order(profile)
    return found


def _vector(
    profile: Profile,
    name: str,
    field: str | None,
    change: dict[str, Any] | None = None,
    remove: list[str] | None = None,
) -> Vector:
    vector: Vector = {"id": f"{profile.name}.{name}", "profile": profile.name}
    vector |= {"change": change} if change else {}
    vector |= {"remove": remove} if remove else {}
    return vector | {"field": field}


def _row(profile: Profile, row: Row) -> Iterator[Vector]:
    name = row.name
    for what, value in _WRONG.items():
        yield _vector(profile, f"{name}.{what}", name, {name: value})
    yield _vector(profile, f"{name}.missing", name, remove=[name])
    yield _vector(profile, f"{name}.zero", None if row.zero_allowed else name, {name: 0})
    least = row.minimum
    if isinstance(least, str):
        # The minimum is the value that the policy has for another row, not that row's bounds.
        low = profile.rows[least].default - 1
        yield _vector(profile, f"{name}.minimum", None, {least: low, name: low})
        yield _vector(profile, f"{name}.below-minimum", name, {least: low, name: low - 1})
        high = profile.rows[least].absolute_maximum
        yield _vector(profile, f"{name}.minimum-of-default", None, {name: high})
        yield _vector(profile, f"{name}.below-minimum-of-default", name, {name: high - 1})
        yield _vector(profile, f"{name}.named-row-first", least, {least: 0, name: 0})
    else:
        yield _vector(profile, f"{name}.minimum", None, {name: least})
        yield _vector(profile, f"{name}.below-minimum", name, {name: least - 1})
    most = row.absolute_maximum
    yield _vector(profile, f"{name}.maximum", None, {name: most})
    yield _vector(profile, f"{name}.above-maximum", name, {name: most + 1})


def _order(profile: Profile) -> Iterator[Vector]:
    """Unknown fields first, by code points; then the table, whatever the kinds of fault."""
    names = list(profile.rows)
    for first, second in pairwise(names):
        wrong = {second: -1, first: -1}
        yield _vector(profile, f"order.{first}-before-{second}", first, wrong)
    first, last = names[0], names[-1]
    yield _vector(profile, "order.missing-after-wrong", first, {first: None}, [last])
    yield _vector(profile, "order.missing-before-wrong", first, {last: -1}, [first])
    yield _vector(profile, "order.all-missing", first, remove=names)
    yield _vector(profile, "unknown.one", "more", {"more": 1})
    yield _vector(profile, "unknown.before-a-row", "zeta", {"zeta": 1, first: -1})
    yield _vector(profile, "unknown.before-a-missing-row", "zeta", {"zeta": 1}, [first])
    yield _vector(profile, "unknown.sorted", "alpha", {"zeta": 1, "alpha": 1, "mid": 1})
    yield _vector(profile, "unknown.upper-case-first", "Zeta", {"alpha": 1, "Zeta": 1})
    yield _vector(profile, "unknown.case-of-a-row", first.upper(), {first.upper(): 1})
    yield _vector(profile, "unknown.null", "more", {"more": None})
    for name in ("constructor", "__proto__", "toString"):
        yield _vector(profile, f"unknown.{name.strip('_')}", name, {name: 1})
