"""What the matrix says, once for its HTML page and its page of the book."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.matrix.joining import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Implementations side by side"
READING: Final = (
    """\
Every implementation is asked for containment and budgets, and for the contract and the modules \
only where it claims them. It is never failed for what it does not declare: who declares more is \
asked more, so counts of different columns do not compare.""",
    """\
There is no score. What counts is which requirements matter to you, and whether they hold.""",
    """\
A failure names a promise of the specification that was seen broken, twice, in one place and one \
version. Some are design choices that an author made knowingly and documents; they are marked. \
Every failure has a line that reproduces it.""",
    """\
An implementation is run in one process on one machine, as its documentation shows it, with the \
limits that it has by default or that a case sets. A platform around it may add protection that is \
not seen here.""",
)
SYMBOLS: Final = {
    "pass": "✓",
    "fail": "✗",
    "flaky": "~",
    "error": "!",
    "xfail": "✗",
    "xpass": "✓",
    "untestable": "?",
    "unsupported": "-",
}
MEANING: Final = {
    "✓": "holds",
    "✗": "seen broken",
    "~": "failed in some runs",
    "!": "no verdict: adapter or surroundings",
    "?": "cannot be seen",
    "-": "not asked: not declared",
}
KINDS: Final = {
    "fault": "fault",
    "design": "design choice",
    "place": "where it was run",
}
KIND_MEANING: Final = {
    "fault": "it contradicts what was promised or breaks the host",
    "design": "done knowingly, and documented",
    "place": "true of the place where it was run, not of every place",
}
UNCONFIRMED: Final = "Not looked at by hand yet"


def judged(counts: Mapping[str, int]) -> tuple[int, int]:
    """How many layers hold, of how many that were judged."""
    held = counts.get("pass", 0)
    return held, held + sum(counts.get(name, 0) for name in ("fail", "flaky"))


def differs(verdicts: Mapping[str, str]) -> bool:
    """Whether a requirement tells implementations apart: it was seen broken somewhere."""
    return any(verdict in ("fail", "flaky") for verdict in verdicts.values())


def place(target: Mapping[str, Any]) -> str:
    """Where a target was run."""
    parts = target["platform"]
    return f"{parts.get('system', '')} {parts.get('machine', '')}".strip()


def places(matrix: Mapping[str, Any]) -> str:
    """Where all of them were run."""
    return ", ".join(sorted({place(target) for target in matrix["targets"]} - {""}))


def area_judged(matrix: Mapping[str, Any], area: str) -> bool:
    """Whether anything in an area was judged."""
    return any(judged(target["areas"].get(area, {}))[1] for target in matrix["targets"])


def days(matrix: Mapping[str, Any]) -> str:
    """The day, or the first and the last day, of the runs."""
    found = sorted({target["started"][:10] for target in matrix["targets"]} - {""})
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}" if found else ""


def classes(matrix: Mapping[str, Any]) -> list[str]:
    """The classes in which anything was judged, those of LEVELS first."""
    there = {
        name
        for target in matrix["targets"]
        for name, counts in target["classes"].items()
        if judged(counts)[1]
    }
    return [*(name for name in LEVELS if name in there), *sorted(there - set(LEVELS))]
