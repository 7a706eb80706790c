"""Validation of a policy: which field of it is not legal, in the order that the table gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.tables import Profile, Row


def invalid_field(values: Mapping[str, object], profile: Profile) -> str | None:
    """The one field that makes a policy invalid under a profile, or None.

    Unknown fields are named first, in the order of their code points, then rows in table order: a
    missing one, one that is no integer, one outside of its bounds. No zero means unlimited.
    """
    unknown = values.keys() - profile.rows.keys()
    if unknown:
        return min(unknown)
    faults = (name for name, row in profile.rows.items() if not _legal(name, row, values))
    return next(faults, None)


def _legal(name: str, row: Row, values: Mapping[str, object]) -> bool:
    value = values.get(name)
    minimum = values.get(row.minimum) if isinstance(row.minimum, str) else row.minimum
    if isinstance(value, bool) or not isinstance(value, int) or not isinstance(minimum, int):
        return False
    if value == 0 and not row.zero_allowed:
        return False
    return minimum <= value <= row.absolute_maximum
