"""Numbered requirements, one document for each area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

CORE_CLASSES: Final = ("containment", "budgets")
"""Classes that are asked of every target; the others only of one that claims them."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One testable sentence, `text`, with its reason, `why`.

    `codes` are the error codes whose use it defines, `rows` the policy rows whose edge it states.
    `untestable` is the typed reason (reason, text) why no case observes it, or None.
    """

    id: str
    area: str
    klass: str
    level: str
    text: str
    why: str
    roles: tuple[str, ...]
    needs: tuple[str, ...]
    alternatives: Mapping[str, tuple[str, ...]]
    codes: tuple[str, ...]
    rows: tuple[str, ...]
    origin: tuple[str, ...]
    since: str
    untestable: tuple[str, str] | None

    @property
    def capability(self) -> str | None:
        """The capability without which a target is not asked, or None for the core classes."""
        return None if self.klass in CORE_CLASSES else self.klass


def requirement(area: str, data: Mapping[str, Any]) -> Requirement:
    """The requirement of one entry of a requirement document."""
    untestable = data.get("untestable")
    return Requirement(
        id=data["id"],
        area=area,
        klass=data["class"],
        level=data["level"],
        text=data["text"],
        why=data["why"],
        roles=tuple(data["roles"]),
        needs=tuple(data.get("needs", ())),
        alternatives={name: tuple(value) for name, value in data.get("alternatives", {}).items()},
        codes=tuple(data.get("codes", ())),
        rows=tuple(data.get("rows", ())),
        origin=tuple(data["origin"]),
        since=data["since"],
        untestable=(untestable["reason"], untestable["text"]) if untestable else None,
    )
