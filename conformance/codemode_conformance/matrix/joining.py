"""Joining reports to the JSON value from which every other form of the matrix is made."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_shell
from codemode_conformance.failures import ConformanceError, UsageError
from codemode_conformance.matrix.findings import Confirmation, confirmation_of
from codemode_conformance.outcomes import suite_version
from codemode_conformance.target import FILE_NAME, SHIPPED, load_target
from codemode_conformance.verdicts import WORST_FIRST, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codemode_conformance.matrix.findings import Finding
    from codemode_conformance.matrix.reading import Layer, Report
    from codemode_conformance.target import Target

FORMAT: Final = 1
LEVELS: Final = ("containment", "budgets", "contract")
"""Classes in the order in which a badge names them: each stands on those before it."""

FAILED: Final = (Verdict.FAIL, Verdict.FLAKY)
_JUDGED: Final = (Verdict.PASS, *FAILED)
_PLACE: Final = re.compile(
    r"(?:file://)?/(?:home|root|tmp|var|opt|srv|work|private|Users)/[^\s'\")…]*"
)
_PINS: Final = ("suite_version", "spec_revision", "cases_digest")


def matrix(reports: Sequence[Report], lead: Sequence[str] = ()) -> dict[str, Any]:
    """The matrix of these reports, in the order in which they are given.

    `lead` are paragraphs about the runs, from who made them.

    UsageError where two are of the same target and role, or not of the same cases.
    """
    _check(reports)
    shown = [_target(report, _name(report, reports)) for report in reports]
    first = reports[0]
    titles: dict[str, str] = {}
    for report in reports:
        areas = report.table("areas")
        titles |= {key: text[:80] for key, text in areas.items() if isinstance(text, str)}
    return {
        "format": FORMAT,
        "suite_version": suite_version(),
        "spec_revision": first.text("spec_revision"),
        "cases_digest": first.text("cases_digest"),
        "lead": list(lead),
        "areas": {area: titles.get(area, "") for area in sorted(_areas(reports))},
        "targets": shown,
        "requirements": _requirements(reports, [target["key"] for target in shown]),
    }


def _check(reports: Sequence[Report]) -> None:
    seen: set[tuple[str, str]] = set()
    for report in reports:
        who = (report.name, report.role)
        if who in seen:
            raise UsageError(
                f"two reports are of {report.name}, {report.role} role; give one of them"
            )
        seen.add(who)
        for pin in _PINS[1:]:
            here, there = reports[0].text(pin), report.text(pin)
            if here != there:
                raise UsageError(
                    f"the report of {report.name} has the {pin} {there!r}, that of "
                    f"{reports[0].name} {here!r}; only reports of the same cases stand side by side"
                )


def _name(report: Report, reports: Iterable[Report]) -> str:
    """The name of a column: the target's, with the role where it is there in more than one."""
    many = sum(other.name == report.name for other in reports) > 1
    return f"{report.name} ({report.role})" if many else report.name


def _areas(reports: Iterable[Report]) -> set[str]:
    return {layer.case.split(".")[0].upper() for report in reports for layer in report.layers}


def _target(report: Report, key: str) -> dict[str, Any]:
    shipped = _shipped(report)
    known = confirmation_of(report.name, report.version) if shipped else Confirmation()
    findings = known.findings
    identity = report.table("target", "identity")
    failures = [_failure(report, layer, findings, shipped) for layer in report.layers]
    platform = report.table("platform")
    return {
        "key": key,
        "name": report.name,
        "title": (shipped.title if shipped else report.text("target", "title")) or report.name,
        "version": report.version,
        "homepage": shipped.homepage if shipped and shipped.homepage else "",
        "role": report.role,
        "language": _texts(identity.get("language")),
        "mapping": report.text("target", "identity", "mapping"),
        "level": level(report),
        "complete": report.complete,
        "started": report.text("started"),
        "seconds": _number(report.data.get("seconds")),
        "platform": {name: str(value)[:80] for name, value in sorted(platform.items())},
        "alternatives": _alternatives(identity.get("alternatives")),
        "limits": _limits(report.table("effective")),
        "capabilities": _texts(identity.get("capabilities")),
        "classes": _counted(report.layers, lambda layer: layer.klass),
        "areas": _counted(report.layers, lambda layer: layer.case.split(".")[0].upper()),
        "cases": _cases(report.layers),
        "confirmed": known.confirmed,
        "note": known.note,
        "passes_read": list(known.passes),
        "passes_how": known.passes_how,
        "findings": [
            {
                "kind": one.kind,
                "text": one.text,
                "how": one.how,
                **({"link": one.link} if one.link else {}),
            }
            for one in findings
        ],
        "failures": [entry for entry in failures if entry],
    }


def level(report: Report) -> str:
    """The last of LEVELS up to which no MUST is broken; `none`, or `incomplete` where it is open.

    A class counts as met if something in it was judged and no MUST of it failed.
    """
    if not report.complete or any(layer.verdict is Verdict.ERROR for layer in report.layers):
        return "incomplete"
    reached = "none"
    for klass in LEVELS:
        musts = [
            layer.verdict
            for layer in report.layers
            if layer.klass == klass and layer.level == "MUST" and layer.verdict in _JUDGED
        ]
        if not musts or any(verdict in FAILED for verdict in musts):
            break
        reached = klass
    return reached


def _shipped(report: Report) -> Target | None:
    """The shipped target of this name, if the report is of its version."""
    path = SHIPPED / report.name / FILE_NAME
    try:
        found = load_target(path) if path.is_file() else None
    except ConformanceError:
        return None
    return found if found is not None and found.version == report.version else None


def _failure(
    report: Report, layer: Layer, findings: Sequence[Finding], shipped: Target | None
) -> dict[str, Any]:
    if layer.verdict not in FAILED:
        return {}
    cause = next((i for i, one in enumerate(findings) if one.covers(layer.case)), None)
    # Made here, never taken from the report: somebody will paste it.
    name = report.name if shipped else f"path/to/{report.name}/{FILE_NAME}"
    roles = [] if shipped and shipped.roles == (report.role,) else ["--role", report.role]
    words = ["cmconf", "run", "--target", name, *roles, "--case", layer.case]
    return {
        "case": layer.case,
        "title": layer.title,
        "layer": layer.layer,
        "requirement": layer.requirement,
        "class": layer.klass,
        "level": layer.level,
        "verdict": layer.verdict.value,
        "reason": _without_places(layer.reason),
        "expected": _without_places(layer.expected),
        "observed": _without_places(layer.observed),
        "finding": cause,
        "reproduce": for_shell(words),
    }


def _without_places(text: str) -> str:
    """The text without paths of the machine that it was run on: the page is for others."""
    return _PLACE.sub("(path)", text)


def _counted(layers: Iterable[Layer], key: Any) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for layer in layers:
        found.setdefault(key(layer), Counter())[layer.verdict.value] += 1
    return {name: dict(sorted(counts.items())) for name, counts in sorted(found.items())}


def _cases(layers: Iterable[Layer]) -> dict[str, int]:
    """Cases by the worst of the verdicts of their layers."""
    worst: dict[str, Verdict] = {}
    for layer in layers:
        worst[layer.case] = _worst([layer.verdict, worst.get(layer.case, layer.verdict)])
    return dict(sorted(Counter(verdict.value for verdict in worst.values()).items()))


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    return min(verdicts, key=WORST_FIRST.index)


def _requirements(reports: Sequence[Report], keys: Sequence[str]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key, report in zip(keys, reports, strict=True):
        texts = report.table("requirements")
        for layer in report.layers:
            about = texts.get(layer.requirement)
            text = about.get("text") if isinstance(about, dict) else None
            entry = found.setdefault(
                layer.requirement,
                {
                    "id": layer.requirement,
                    "area": layer.requirement.split("-")[1],
                    "class": layer.klass,
                    "level": layer.level,
                    "text": text[:400] if isinstance(text, str) else "",
                    "verdicts": {},
                },
            )
            there = entry["verdicts"].get(key)
            both = [layer.verdict, *([Verdict(there)] if there else [])]
            entry["verdicts"][key] = _of_requirement(both).value
    return [found[name] for name in sorted(found)]


def _of_requirement(verdicts: Sequence[Verdict]) -> Verdict:
    """A requirement that one case judges is not `unsupported` because another was not asked."""
    open_ones = (Verdict.UNSUPPORTED, Verdict.UNTESTABLE)
    told = [verdict for verdict in verdicts if verdict not in open_ones]
    return _worst(told or verdicts)


def _alternatives(value: Any) -> dict[str, str]:
    table = value if isinstance(value, dict) else {}
    return {
        str(name)[:40]: ", ".join(_texts(chosen)) or "none"
        if isinstance(chosen, list)
        else str(chosen)[:40]
        for name, chosen in sorted(table.items())
    }


def _limits(table: dict[str, Any]) -> dict[str, Any]:
    return {
        str(row)[:60]: entry["value"]
        if isinstance(entry["value"], int)
        else str(entry["value"])[:20]
        for row, entry in sorted(table.items())
        if isinstance(entry, dict) and "value" in entry and entry["value"] != "unknown"
    }


def _texts(value: Any) -> list[str]:
    return [str(one)[:60] for one in value] if isinstance(value, list) else []


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
