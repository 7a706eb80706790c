"""A report of all roles of a target, and the report of each that it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES: Final = "roles"
"""The name under which the parts stand, by which a report of all roles is known."""


def parts(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reports of single roles in it; a report of one role is its own only part."""
    found: list[dict[str, Any]] = report[ROLES] if ROLES in report else [dict(report)]
    return found


def role_of(part: Mapping[str, Any]) -> str:
    """The role of one part."""
    return str(part["selection"]["role"])
