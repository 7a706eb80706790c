"""The profiles side by side, and the alternatives one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from book.markdown import code, codes, link, number, paragraphs, prose, table, words

if TYPE_CHECKING:
    from codemode_spec import Specification


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
        "## Alternatives side by side",
        table(("", "alternative", *heads), alternatives),
        "## Defaults side by side",
        "A dash: the row does not apply. See the [policy table](policy.md) for the bounds.",
        table(("", "row", *heads), rows),
    )


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
