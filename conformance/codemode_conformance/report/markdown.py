"""The Markdown summary, for the page of a CI job. All text of a target stands in code spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_markdown
from codemode_conformance.report import words
from codemode_conformance.report.parts import parts, role_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST: Final = 40
"""Cases that are told at length: a job's page holds 1 MiB."""

TEXT_CHARACTERS: Final = 600


def text(report: Mapping[str, Any]) -> str:
    """The summary."""
    return "\n".join(_lines(report)) + "\n"


def whole(report: Mapping[str, Any]) -> str:
    """The summary of all roles: a table of them, then that of each."""
    lines = [
        f"**{words.conclusion(report)}** in all roles",
        "",
        "| role | | cases |",
        "|---|---|---|",
    ]
    for part in parts(report):
        told = f"{words.conclusion(part)} | {words.counted(part['totals'])}"
        lines.append(f"| {_span(role_of(part))} | {told} |")
    lines += [
        f"| {_span(one['role'])} | did not start | {_span(one['reason'])} |"
        for one in report["not_started"]
    ]
    return "\n".join([*lines, "", *map(text, parts(report))])


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    target = report["target"]
    yield f"# Code Mode Conformance: {_span(target['name'] + ' ' + target['version'])}"
    yield ""
    extent = words.extent(report)
    part = f" ({_span(extent)})" if extent else ""
    yield f"**{words.conclusion(report)}**{part}: {words.counted(report['totals'])}"
    yield f"in {report['seconds']:.1f} s, {report['selection']['role']} role, suite"
    yield f"{_span(report['suite_version'])}, specification {_span(report['spec_revision'])}."
    yield ""
    yield from _classes(report)
    yield from _cases(report)
    yield from _beside(report)
    yield from _not_asked(report)
    yield "<details><summary>What is pinned</summary>"
    yield ""
    for name, told in words.pins(report):
        yield f"- {name}: {_span(told)}"
    yield ""
    yield "</details>"


def _classes(report: Mapping[str, Any]) -> Iterator[str]:
    there = [
        v for v in words.COLUMNS if any(counts.get(v) for counts in report["classes"].values())
    ]
    yield f"| class | {' | '.join(there)} |"
    yield f"|---|{'---:|' * len(there)}"
    for name, counts in report["classes"].items():
        yield f"| {name} | {' | '.join(str(counts.get(v) or '') for v in there)} |"
    yield ""
    yield "Layers of cases: a case counts once for each thing that it judges."
    yield ""


def _cases(report: Mapping[str, Any]) -> Iterator[str]:
    cases = words.troubled(report)
    if not cases:
        return
    yield f"## To look at: {len(cases)}"
    yield ""
    for case in cases[:MOST]:
        yield f"- **{case['verdict']}** `{case['id']}` {_span(case['title'])}"
        for layer in words.telling(case):
            advice = ", advice" if words.advice(layer) else ""
            yield f"  - {layer['layer']}: {layer['verdict']}{advice}, {layer['requirement']}"
            for name in ("reason", "expected", "observed"):
                if layer.get(name):
                    yield f"    - {name}: {_span(layer[name])}"
        yield f"  - run it: {_span(case.get('reproduce', ''))}"
    if len(cases) > MOST:
        yield f"- and {len(cases) - MOST} more; the other reports have them all"
    yield ""


def _beside(report: Mapping[str, Any]) -> Iterator[str]:
    powers = report.get("capabilities", {})
    lists = {
        "The baseline does not hold": [
            f"{_span(one['case'])}: {one['problem']}: {_span(one['text'])}"
            for one in report.get("baseline", {}).get("problems", ())
        ],
        "Undeclared powers": [_power(power) for power in powers.get("undeclared", ())],
        "False claims": [_power(power) for power in powers.get("false_claims", ())],
        "Disputed cases, not judged": [
            f"{_span(one['case'])}: {_span(one['reason'])}, {_span(one['link'])}"
            for one in report.get("disputed", ())
        ],
        words.LEFT: [_span(words.left(one)) for one in report.get("left", ())],
        "Where limits stop a program (measured, not judged)": [
            f"{_span(one['row'])}: {_span(words.measured(one))}"
            for one in report.get("accuracy", ())
        ],
    }
    for heading, entries in lists.items():
        if entries:
            yield f"## {heading}"
            yield ""
            yield from (f"- {entry}" for entry in entries[:MOST])
            yield ""


def _not_asked(report: Mapping[str, Any]) -> Iterator[str]:
    reasons = words.not_asked(report)
    if not reasons:
        return
    yield "<details><summary>Not asked</summary>"
    yield ""
    for reason, number in list(reasons.items())[:MOST]:
        yield f"- {number}: {_span(reason)}"
    yield ""
    yield "</details>"
    yield ""


def _power(power: Mapping[str, str]) -> str:
    return f"{_span(power['name'])}: {_span(power['text'])}"


def _span(told: str) -> str:
    return for_markdown(told if len(told) <= TEXT_CHARACTERS else f"{told[:TEXT_CHARACTERS]}…")
