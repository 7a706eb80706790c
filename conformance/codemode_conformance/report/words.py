"""What reports say in words, once for all kinds. A report is the JSON value that was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.verdicts import LOOK_AT, WORST_FIRST, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONCLUSIONS: Final = {
    0: "conforming",
    1: "not conforming",
    4: "the baseline is stale",
    130: "interrupted",
}
NO_CONCLUSION: Final = "no verdict on the whole"
MEANING: Final = {
    Verdict.PASS: "the requirement holds",
    Verdict.FAIL: "it does not hold; seen twice",
    Verdict.FLAKY: "it failed in some runs and not in others",
    Verdict.ERROR: "adapter, suite or surroundings are at fault; no word on the target",
    Verdict.XFAIL: "known to fail, by the baseline",
    Verdict.XPASS: "known to fail, and passes",
    Verdict.UNTESTABLE: "it cannot be seen, or is disputed",
    Verdict.UNSUPPORTED: "not asked: the target does not declare what it needs",
}


LEFT: Final = "Processes that ran on when the target had been closed (not judged)"
MOST_LEFT: Final = 10
"""So many command lines are told where there is little room."""


def left(one: Mapping[str, Any]) -> str:
    """A command line with the number of processes that had it."""
    return f"{one['number']}: {one['command'] or 'command line unknown'}"


COLUMNS: Final = (
    *(Verdict.PASS, Verdict.FAIL, Verdict.FLAKY, Verdict.ERROR, Verdict.XFAIL),
    *(Verdict.XPASS, Verdict.UNTESTABLE, Verdict.UNSUPPORTED),
)
"""The order in which verdicts stand beside each other."""


def conclusion(report: Mapping[str, Any]) -> str:
    """The conclusion in a few words."""
    return CONCLUSIONS.get(report["exit_code"], NO_CONCLUSION)


def extent(report: Mapping[str, Any]) -> str:
    """How much of the suite was run, where it was not all of it."""
    chosen = report["selection"]
    shard = chosen.get("shard")
    parts = [] if shard is None else [f"shard {shard['number']} of {shard['of']}"]
    if not chosen["complete"]:
        parts.append(f"part of the suite: {chosen['cases']} of {chosen['of']} cases")
    if report.get("stopped"):
        parts.append(report["stopped"])
    return "; ".join(parts)


def counted(counts: Mapping[str, int]) -> str:
    """Counts by verdict in words, the worst first."""
    told = [f"{counts[verdict]} {verdict}" for verdict in WORST_FIRST if counts.get(verdict)]
    return ", ".join(told) or "nothing was judged"


def troubled(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cases that a person has to look at, the worst first."""
    found = [case for case in report["cases"] if case["verdict"] in LOOK_AT]
    return sorted(found, key=lambda case: WORST_FIRST.index(case["verdict"]))


def telling(case: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The layers for which the case is to be looked at."""
    return (layer for layer in case["layers"] if layer["verdict"] in LOOK_AT)


def advice(layer: Mapping[str, Any]) -> bool:
    """Whether a failure of this layer is advice, and does not change the exit code."""
    return layer["level"] != "MUST" and layer["verdict"] in (Verdict.FAIL, Verdict.FLAKY)


def not_asked(report: Mapping[str, Any]) -> dict[str, int]:
    """Cases that were not asked, counted by reason, the commonest first."""
    found: dict[str, int] = {}
    for case in report["cases"]:
        if case["verdict"] == Verdict.UNSUPPORTED and case["layers"]:
            reason = case["layers"][0].get("reason", "")
            found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def measured(one: Mapping[str, Any]) -> str:
    """What a probe of a limit found, in words."""
    claimed, observed, note = one["claimed"], one["observed"], one["note"]
    number = isinstance(claimed, int | float)
    said = f"claimed {claimed:,.0f}" if number else f"claimed: {claimed}"
    if observed is None:
        return f"{said} {one['unit']}; {note}"
    told = f"{said}, observed {observed:,.0f}"
    if number and claimed:
        told += f" ({(observed - claimed) / claimed:+.1%})"
    return f"{told} {one['unit']}" + (f"; {note}" if note else "")


def evidence_level(name: str, why: str | None) -> str:
    """A level of evidence in words."""
    return f"{name} ({why})" if why else name


def pins(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What pins a report, as (name, text)."""
    target, place, chosen = report["target"], report["platform"], report["selection"]
    seed = report.get("seed", 0)
    return [
        ("suite", report["suite_version"]),
        ("specification", report["spec_revision"]),
        ("digest of cases", report["cases_digest"]),
        ("target", f"{target['name']} {target['version']}"),
        ("digest of the target file", target.get("file_digest", "")),
        ("role", chosen["role"]),
        ("cases", f"{chosen['cases']} of {chosen['of']}"),
        ("chosen by", " ".join(chosen.get("filters", ())) or "all"),
        ("order", f"seed {seed}" if seed else "by id"),
        ("runs of each case", str(report.get("repeat", 1))),
        ("platform", f"{place['system']} {place['machine']}, Python {place['python']}"),
        ("evidence level", evidence_level(place["evidence_level"], place.get("evidence_reason"))),
        ("started", report["started"]),
        ("seconds", f"{report['seconds']:.1f}"),
    ]
