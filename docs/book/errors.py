"""The closed list of error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from book.markdown import code, codes, facts, link, paragraphs, prose, table, words

if TYPE_CHECKING:
    from codemode_spec import Specification
    from codemode_spec.tables import ErrorCode

_SEEN: Final = {
    "open": "whoever opens the parent",
    "client": "the client",
    "script": "the program",
}
_ENDS: Final = {
    "always": "yes",
    "catchable": "only if the program does not catch it",
    "exhaustion": "by the alternative `exhaustion`: catchable, or at once",
}
_OWN: Final = {
    "always": "always",
    "longer_than_a_frame": "if it has no numbers, or `measured` is above `ipc_frame_bytes`, "
    "which is its `limit`",
    "calls_at_limit": "if the parent has counted `host_calls` calls",
    "in_flight_at_limit": "if `concurrent_host_calls` calls can have been in flight",
    "elapsed_at_limit": "if as much time as its limit has passed on the parent's clock",
    "worked_at_limit": "if the worker can have used as much processor time as its limit",
    "measured_above_limit": "if `measured` is above `limit`",
}


def page(specification: Specification) -> str:
    """The page of error codes."""
    tables = specification.tables
    overview = table(
        ("code", "category", "seen by", "ends the invocation"),
        (
            (
                link(code(entry.code), f"error-{entry.code}"),
                entry.category.replace("_", " "),
                ", ".join(entry.seen_by),
                {"exhaustion": "by `exhaustion`"}.get(entry.ends, entry.ends),
            )
            for entry in tables.errors.values()
        ),
    )
    boundary = link("Errors", "boundary-errors")
    return paragraphs(
        words(
            "errors",
            boundary=boundary,
            categories=codes(tables.categories),
            detail=tables.detail_characters,
        ),
        overview,
        "## Codes",
        *(_error(entry, specification) for entry in tables.errors.values()),
    )


def _error(entry: ErrorCode, specification: Specification) -> str:
    reasons = "; ".join(
        f"{code(reason)}: {category}" for reason, category in entry.category_by_reason.items()
    )
    required = [name for name, kind in entry.fields.items() if kind == "required"]
    optional = [name for name, kind in entry.fields.items() if kind != "required"]
    rows = [row.name for row in specification.tables.rows.values() if row.error == entry.code]
    return paragraphs(
        f"(error-{entry.code})=\n### {code(entry.code)}",
        facts(
            (
                (
                    "Message",
                    code(entry.message) + (f"; {prose(entry.advice)}" if entry.advice else ""),
                ),
                ("Category", f"by reason: {reasons}" if reasons else entry.category),
                ("Seen by", ", ".join(_SEEN.get(who, who) for who in entry.seen_by)),
                ("Ends the invocation", _ENDS.get(entry.ends, entry.ends)),
                ("Fields", codes(required) or ("none required" if optional else "none")),
                ("Optional fields", codes(optional)),
                ("May stand in", codes(entry.frames) or "no frame"),
                (
                    "Believed from a worker",
                    _OWN.get(entry.worker_own, entry.worker_own)
                    if entry.worker_own
                    else "only where the parent sent it in this invocation"
                    if "result" in entry.frames
                    else "never",
                ),
                ("Rows", ", ".join(link(code(row), f"row-{row}") for row in rows)),
            )
        ),
    )
