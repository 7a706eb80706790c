"""The profiles side by side, and the alternatives one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book.markdown import code, codes, link, number, paragraphs, prose, table, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec import Specification
    from codemode_spec.tables import Profile

SURFACES = Path(__file__).parent / "words" / "surfaces.json"
"""What the tables do not say of a profile: one fact an entry, a text for each profile."""


def profiles_page(specification: Specification) -> str:
    """The page that compares the profiles."""
    tables = specification.tables
    first = "process-async"
    names = [first, *(name for name in tables.profiles if name != first)]
    profiles = [tables.profiles[name] for name in names if name in tables.profiles]
    heads = [code(profile.name) for profile in profiles]

    alternatives = [
        _compared(
            link(code(name), f"alternative-{name}"),
            [_choice(profile.alternatives.get(name)) for profile in profiles],
        )
        for name in tables.alternatives
    ]
    rows = [
        _compared(
            link(code(name), f"row-{name}"),
            [
                number(profile.rows[name].default, row.unit) if name in profile.rows else "-"
                for profile in profiles
            ],
        )
        for name, row in tables.rows.items()
    ]
    return paragraphs(
        words("profiles"),
        *(
            f"(profile-{profile.name})=\n**{profile.name}**: {prose(profile.title)}."
            for profile in profiles
        ),
        "## What a program sees",
        table(("", "", *heads), _surfaces(names)),
        "## What is asked of each",
        words("profiles-asked"),
        table(("", "", *heads), _asked(specification, profiles)),
        "## Alternatives side by side",
        table(("", "alternative", *heads), alternatives),
        "## Defaults side by side",
        "A dash: the row does not apply. See the [policy table](policy.md) for the bounds.",
        table(("", "row", *heads), rows),
    )


def _surfaces(names: list[str]) -> list[list[str]]:
    facts = json.loads(SURFACES.read_text(encoding="utf-8"))
    return [_compared(prose(one["fact"]), [prose(one[name]) for name in names]) for one in facts]


def _asked(specification: Specification, profiles: list[Profile]) -> list[list[str]]:
    """How many requirements and cases the alternatives of each profile admit, and it alone."""
    entries = {
        "requirements": [item.alternatives for item in specification.requirements.values()],
        "cases": [case.alternatives for case in specification.cases.values()],
    }
    rows = []
    for name, asked in entries.items():
        admitted = [{n for n, one in enumerate(asked) if _admits(p, one)} for p in profiles]
        rows.append(_compared(name, [f"{len(mine):,}" for mine in admitted]))
        alone = [
            mine.difference(*(other for other in admitted if other is not mine))
            for mine in admitted
        ]
        rows.append(_compared(f"{name} of it alone", [f"{len(mine):,}" for mine in alone]))
    return rows


def _admits(profile: Profile, wanted: Mapping[str, Any]) -> bool:
    """Whether the profile has one of the wanted values of each alternative."""
    for name, values in wanted.items():
        chosen = profile.alternatives[name]
        if not set(values) & set((chosen,) if isinstance(chosen, str) else chosen):
            return False
    return True


def _choice(value: Any) -> str:
    if isinstance(value, tuple):
        return codes(value) or "none"
    return code(value) if value is not None else "-"


def _compared(name: str, values: list[str]) -> list[str]:
    differs = len(set(values)) > 1
    shown = [value if value == values[0] else f"**{value}**" for value in values]
    return ["≠" if differs else "", name, *shown]


def alternatives_page(specification: Specification) -> str:
    """The page of alternatives."""
    tables = specification.tables
    parts = [words("alternatives")]
    for name, entry in tables.alternatives.items():
        users: dict[str, list[str]] = {}
        for profile in tables.profiles.values():
            chosen = profile.alternatives.get(name, ())
            for value in (chosen,) if isinstance(chosen, str) else chosen:
                users.setdefault(value, []).append(profile.name)
        parts += [
            f"(alternative-{name})=\n## {code(name)}",
            "A set: any of them, or none." if entry.is_set else "",
            table(
                ("value", "means", "profiles"),
                (
                    (code(value), prose(text), codes(users.get(value, ())) or "none")
                    for value, text in entry.values.items()
                ),
            ),
        ]
    return paragraphs(*parts)
