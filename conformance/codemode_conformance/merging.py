"""Reports of shards joined into the report of the whole. The reports are untrusted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import cut
from codemode_conformance.failures import UsageError
from codemode_conformance.report.reading import restore
from codemode_conformance.summary import exit_code
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from codemode_spec import Specification

Report = dict[str, Any]
_SAME: Final[dict[str, Callable[[Report], Any]]] = {
    "suite version": lambda r: r["suite_version"],
    "specification": lambda r: r["spec_revision"],
    "digest of cases": lambda r: r["cases_digest"],
    "target": lambda r: r["target"],
    "policy": lambda r: r.get("effective"),
    "role": lambda r: r["selection"]["role"],
    "choice of cases": lambda r: (r["selection"].get("filters"), r["selection"].get("chosen")),
    "number of cases": lambda r: r["selection"]["of"],
    "number of shards": lambda r: r["selection"]["shard"]["of"],
    "seed": lambda r: r.get("seed"),
    "number of runs of each case": lambda r: r.get("repeat"),
    "platform": lambda r: {k: v for k, v in r["platform"].items() if not k.startswith("evidence_")},
    "baseline": lambda r: r.get("baseline", {}).get("digest"),
}
"""What all shards of one run have in common."""


def merged(reports: Sequence[tuple[Path, Report]], specification: Specification) -> Report:
    """The report of the whole; UsageError where the reports are not the shards of one run."""
    for path, report in reports:
        if "shard" not in report["selection"]:
            raise UsageError(f"{path}: it is of no shard; run with --shard I/N")
        restore(report, specification, path)
    first_path, first = reports[0]
    for path, report in reports[1:]:
        for what, value in _SAME.items():
            if value(report) != value(first):
                raise UsageError(f"{path}: its {what} is not that of {first_path}")
    _all_there(reports)
    cases = _cases(reports)
    whole = [report for _, report in reports]
    interrupted = any(report.get("interrupted") for report in whole)
    chosen = first["selection"].get("chosen", 0)
    if len(cases) != chosen and not interrupted and not any(map(_stopped, whole)):
        raise UsageError(f"{chosen} cases were chosen, and the shards have {len(cases)}")
    return _joined(whole, cases, interrupted=interrupted)


def _stopped(report: Report) -> str:
    return str(report.get("stopped", ""))


def _all_there(reports: Sequence[tuple[Path, Report]]) -> None:
    of = reports[0][1]["selection"]["shard"]["of"]
    seen: dict[int, Path] = {}
    for path, report in reports:
        number = report["selection"]["shard"]["number"]
        if number > of:
            raise UsageError(f"{path}: it is shard {number} of {of}")
        if number in seen:
            raise UsageError(f"{path}: shard {number} is there already, in {seen[number]}")
        seen[number] = path
    if len(seen) != of:
        missing = [str(number) for number in range(1, min(of, 1_000) + 1) if number not in seen]
        raise UsageError(f"of {of} shards these are missing: {', '.join(missing[:20])}")


def _cases(reports: Sequence[tuple[Path, Report]]) -> list[dict[str, Any]]:
    seen: dict[str, Path] = {}
    cases = []
    for path, report in reports:
        for case in report["cases"]:
            if case["id"] in seen:
                raise UsageError(f"{path}: {case['id']} stands also in {seen[case['id']]}")
            seen[case["id"]] = path
            cases.append(case)
    return sorted(cases, key=lambda case: str(case["id"]))


def _joined(whole: list[Report], cases: list[dict[str, Any]], *, interrupted: bool) -> Report:
    first = whole[0]
    layers = [layer for case in cases for layer in case["layers"]]
    selection = {key: value for key, value in first["selection"].items() if key != "shard"}
    of = selection["of"]
    complete = len(cases) == of and not interrupted
    problems = _unlike(p for r in whole for p in r.get("baseline", {}).get("problems", ()))
    classes: dict[str, Counter[str]] = {}
    for layer in layers:
        counts = classes.setdefault(layer["class"], Counter())
        counts.update(() if layer["verdict"] == Verdict.NOT_REACHED else (layer["verdict"],))
    found = ((Verdict(x["verdict"]), x["level"] == "MUST") for x in layers)
    stopped = "; ".join(cut(told) for told in map(_stopped, whole) if told)
    baseline = (
        {"baseline": {**first["baseline"], "problems": problems}} if "baseline" in first else {}
    )
    left: Counter[str] = Counter()
    for report in whole:
        for one in report.get("left", ()):
            left[one["command"]] += one["number"]
    return {
        **{key: v for key, v in first.items() if key not in ("stopped", "baseline", "left")},
        **({"left": [{"command": c, "number": n} for c, n in left.most_common()]} if left else {}),
        **({"stopped": stopped} if stopped else {}),
        **baseline,
        # As good as that of the worst of them.
        "platform": max((r["platform"] for r in whole), key=lambda place: place["evidence_level"]),
        "started": min(r["started"] for r in whole),
        "seconds": round(sum(r["seconds"] for r in whole), 3),
        "selection": {**selection, "cases": len(cases), "complete": complete},
        "interrupted": interrupted,
        "exit_code": exit_code(found, interrupted=interrupted, stale=bool(problems)),
        "totals": dict(sorted(Counter(case["verdict"] for case in cases).items())),
        "classes": {name: dict(sorted(counts.items())) for name, counts in sorted(classes.items())},
        "not_judged": sorted(set.intersection(*(set(r["not_judged"]) for r in whole))),
        "disputed": _unlike(d for r in whole for d in r.get("disputed", ())),
        "capabilities": _powers(whole),
        "accuracy": next((r["accuracy"] for r in whole if r.get("accuracy")), []),
        "areas": {area: title for r in whole for area, title in r.get("areas", {}).items()},
        "requirements": {
            name: item for r in whole for name, item in sorted(r.get("requirements", {}).items())
        },
        "cases": cases,
    }


def _powers(whole: list[Report]) -> dict[str, list[Any]]:
    names = ("declared", "undeclared", "false_claims", "probed")
    return {
        name: _unlike(one for r in whole for one in r.get("capabilities", {}).get(name, ()))
        for name in names
    }


def _unlike(entries: Iterable[Any]) -> list[Any]:
    """The entries without those that are there already."""
    found: list[Any] = []
    for entry in entries:
        if entry not in found:
            found.append(entry)
    return found
