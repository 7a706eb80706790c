"""The order of checks, one table a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from book.markdown import code, link, paragraphs, prose, table, words

if TYPE_CHECKING:
    from codemode_spec import Specification
    from codemode_spec.tables import Check, Place

_ANSWERS = {
    "refuse_start": "refuse the start",
    "reject_call": "reject",
    "terminate": "end",
    "drop": "drop it",
}


def page(specification: Specification) -> str:
    """The page of all places."""
    tables = specification.tables
    ends = ", ".join(name.replace("_", " ") for name in tables.simultaneous)
    return paragraphs(
        "(order)=\n" + words("order", simultaneous=ends),
        *(_place(place) for place in tables.places.values()),
    )


def _place(place: Place) -> str:
    rows = (
        (str(number), code(check.check), prose(check.text), _failure(check), _takes(check))
        for number, check in enumerate(place.checks, 1)
    )
    return paragraphs(
        f"(order-{place.name})=\n## {prose(place.title)}",
        f"At the {place.end}: {code(place.name)}.",
        table(("", "check", "holds when", "else", "takes"), rows),
    )


def _failure(check: Check) -> str:
    if check.answer is None:
        return ""
    told = _ANSWERS[check.answer]
    if check.code is not None:
        told += f": {link(code(check.code), f'error-{check.code}')}"
    return told if check.event is None else f"{told} (event {code(check.event)})"


def _takes(check: Check) -> str:
    return ", ".join(name.replace("_", " ") for name in check.takes)
