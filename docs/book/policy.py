"""The policy table: one page with every row under every profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from book.markdown import code, facts, link, number, paragraphs, prose, short, table, words

if TYPE_CHECKING:
    from codemode_spec import Specification
    from codemode_spec.tables import Profile, Row, Tables

BESIDE_HEAP: Final = 64 << 20
"""Bytes that a worker may take beside its engine's heap."""

_REACTIONS: Final = {
    "reject_call": "the call is refused, the program goes on",
    "terminate": "the invocation ends",
    "refuse_start": "the program is not started",
    "queue": "it waits; refused only when its invocation cannot wait for it",
    "count": "it is counted, nothing is refused",
    "engine_error": "the engine throws; the program may catch it",
}
_SCOPES: Final = {
    "invocation": "one invocation",
    "server": "the whole server",
    "client": "one client",
}


def page(specification: Specification) -> str:
    """The page of the policy table."""
    tables = specification.tables
    invalid = link(code("invalid_policy"), "error-invalid_policy")
    parts = [words("policy", invalid=invalid)]
    for name, profile in sorted(
        tables.profiles.items(), key=lambda item: (item[0] != "process-async", item[0])
    ):
        parts += [f"## Profile {name}", prose(profile.title) + ".", _values(profile)]
    parts += [_sum(list(tables.profiles.values())), "## Rows"]
    parts += [_row(row, list(tables.profiles.values())) for row in tables.rows.values()]
    parts += ["## Beside the rows", _beside(tables)]
    return paragraphs(*parts)


def _beside(tables: Tables) -> str:
    turns, shown = tables.turns, tables.shown
    return (
        "Numbers that no policy changes: an operation that waits for its turn is refused with "
        f"less than {turns.least_left_ms:,} ms of its deadline left, or after "
        f"{turns.longest_wait_ms:,} ms where waiting is not counted; a record of evidence shows "
        f"{shown.warnings} warnings and counts all."
    )


def minimum(row: Row) -> str:
    """The smallest legal value: a number, or the row that gives it."""
    if isinstance(row.minimum, str):
        return f"that of {link(code(row.minimum), f'row-{row.minimum}')}"
    return short(row.minimum, row.unit)


def _values(profile: Profile) -> str:
    return table(
        ("row", "default", "minimum", "absolute maximum", "error"),
        (
            (
                link(code(row.name), f"row-{row.name}"),
                short(row.default, row.unit) + (", fixed" if row.fixed else ""),
                minimum(row),
                short(row.absolute_maximum, row.unit),
                link(code(row.error), f"error-{row.error}") if row.error else "none",
            )
            for row in profile.rows.values()
        ),
    )


def _sum(profiles: list[Profile]) -> str:
    rows = []
    for profile in profiles:
        heap, workers = profile.rows["memory_bytes"], profile.rows["server_workers"]
        sums = [
            f"{count} x ({size >> 20} MiB + {BESIDE_HEAP >> 20} MiB) = "
            f"{count * (size + BESIDE_HEAP) >> 20:,} MiB"
            for count, size in (
                (workers.default, heap.default),
                (workers.absolute_maximum, heap.absolute_maximum),
            )
        ]
        rows.append((code(profile.name), *sums))
    text = words("memory", beside=f"{BESIDE_HEAP:,}")
    head = ("profile", "with the defaults", "with the absolute maxima")
    return paragraphs(text, table(head, rows))


def _row(row: Row, profiles: list[Profile]) -> str:
    enforcers = "; ".join(
        f"{entry.order}. {entry.end}: {_REACTIONS.get(entry.on_exceed, entry.on_exceed)}"
        for entry in sorted(row.enforcers, key=lambda entry: entry.order)
    )
    values = "; ".join(
        f"{code(profile.name)} {number(profile.rows[row.name].default, row.unit)}"
        for profile in profiles
        if row.name in profile.rows
    )
    return paragraphs(
        f"(row-{row.name})=\n### {code(row.name)}",
        f"{prose(row.title)}, in {row.unit}.",
        facts(
            (
                ("Charged", prose(row.charged)),
                ("When", prose(row.when_charged)),
                ("Enforced by", enforcers),
                ("Error", link(code(row.error), f"error-{row.error}") if row.error else "none"),
                ("Counted for", _SCOPES.get(row.scope, row.scope)),
                ("Default", values),
                ("Smallest value", minimum(row)),
                ("Zero", "legal" if row.zero_allowed else "never legal"),
                ("Fixed", "yes: no other value is legal" if row.fixed else ""),
                ("In `execute`", "yes" if row.in_execute else "no"),
            )
        ),
    )
