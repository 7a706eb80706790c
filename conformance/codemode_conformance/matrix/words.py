"""What the matrix says, once for its HTML page and its page of the book."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.matrix.joining import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
version, and has a line that reproduces it. Its cause tells whether it is a fault, a design \
choice, true only of the place where it was run, or a mistake of the suite.""",
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
    "suite": "mistake of the suite",
}
COUNTED: Final = {
    "fault": ("fault", "faults"),
    "design": ("design choice", "design choices"),
    "place": ("matter of the place", "matters of the place"),
    "suite": ("mistake of the suite", "mistakes of the suite"),
}
KIND_MEANING: Final = {
    "fault": "it contradicts what was promised or breaks the host",
    "design": "done knowingly, and documented",
    "place": "true of the place where it was run, not of every place",
    "suite": "the case was wrong, and was corrected after this run",
}
UNCONFIRMED: Final = "Not looked at by hand yet"


def lead(matrix: Mapping[str, Any]) -> list[str]:
    """The paragraphs that are about these runs, the last one about what was confirmed."""
    failures = [(t, entry) for t in matrix["targets"] for entry in t["failures"]]
    return [*matrix.get("lead", ()), confirmed(failures)] if failures else [*matrix.get("lead", ())]


def confirmed(failures: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """How many of the failing cases have a cause that somebody confirmed by hand, and when."""
    cases = {(target["key"], entry["case"]) for target, entry in failures}
    bare = {(t["key"], entry["case"]) for t, entry in failures if entry["finding"] is None}
    found = sorted({t.get("confirmed", "") for t, e in failures if e["finding"] is not None} - {""})
    told = "on a run of the suite's authors, as is told beside it"
    by_hand = f"was confirmed by hand by {found[-1]}, {told}" if found else ""
    total = f"Failing cases on this page: {len(cases)}. "
    if not bare:
        return f"{total}The cause of each {by_hand}."
    if not found:
        return f"{total}The cause of none was confirmed by hand."
    most = len(cases) - len(bare)
    return f"{total}The cause of {most} {by_hand}; {len(bare)} more were not looked at by hand."


def causes(target: Mapping[str, Any]) -> str:
    """The causes of a target's failures, counted by kind, and its failing cases."""
    numbers = {entry["finding"] for entry in target["failures"]}
    parts = []
    for kind, (one, more) in COUNTED.items():
        count = sum(
            number in numbers and finding["kind"] == kind
            for number, finding in enumerate(target["findings"])
        )
        if count:
            parts.append(f"{count} {one if count == 1 else more}")
    bare = len({entry["case"] for entry in target["failures"] if entry["finding"] is None})
    if bare:
        parts.append(f"{bare} not looked at")
    return ", ".join(parts) or "none"


def failing(target: Mapping[str, Any]) -> int:
    """How many of its cases failed."""
    return len({entry["case"] for entry in target["failures"]})


def judged(counts: Mapping[str, int]) -> tuple[int, int]:
    """How many layers hold, of how many that were judged."""
    held = counts.get("pass", 0)
    return held, held + sum(counts.get(name, 0) for name in ("fail", "flaky"))


def programs(target: Mapping[str, Any]) -> str:
    """The languages of its programs, and the role in which they are given to it, unless engine.

    Another role has other cases, and so other numbers.
    """
    where = "" if target["role"] == "engine" else f" ({target['role']} role)"
    return ", ".join(target["language"]) + where


def breadth(matrix: Mapping[str, Any], target: Mapping[str, Any]) -> Counter[str]:
    """How many requirements of each class were judged for a target."""
    return Counter(
        entry["class"]
        for entry in matrix["requirements"]
        if entry["verdicts"].get(target["key"]) in ("pass", "fail", "flaky")
    )


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
