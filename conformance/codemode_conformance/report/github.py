"""Workflow commands of GitHub Actions: one annotation for each case to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_workflow
from codemode_conformance.report import words
from codemode_conformance.report.parts import parts, role_of
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST: Final = 50
"""GitHub shows no more of one step."""


def text(report: Mapping[str, Any]) -> str:
    """The commands, a line each; print them in a step of a workflow."""
    return "".join(line + "\n" for line in _lines(report))


def whole(report: Mapping[str, Any]) -> str:
    """The commands of all roles, which share what GitHub shows of one step."""
    failed = [
        _command("error", f"cmconf {one['role']} role", one["reason"])
        for one in report["not_started"]
    ]
    most = MOST // max(len(parts(report)), 1)
    lines = [line for part in parts(report) for line in _lines(part, most, role_of(part))]
    return "".join(line + "\n" for line in (*failed, *lines))


def _lines(report: Mapping[str, Any], most: int = MOST, role: str = "") -> Iterator[str]:
    cases = words.troubled(report)
    for case in cases[:most]:
        layers = list(words.telling(case))
        decides = case["verdict"] == Verdict.ERROR or not all(map(words.advice, layers))
        yield _command(
            "error" if decides else "warning",
            f"{case['verdict']} {case['id']}",
            f"{case['title']}: {_told(layers)}; {case.get('reproduce', '')}",
        )
    if len(cases) > most:
        yield _command("notice", "cmconf", f"{len(cases) - most} more cases are to be looked at")
    for one in report.get("baseline", {}).get("problems", ()):
        told = f"{one['problem']}: {one['text']}"
        yield _command("warning", f"baseline {one['case']}", told)
    powers = report.get("capabilities", {})
    for title, name in (("undeclared power", "undeclared"), ("false claim", "false_claims")):
        for power in powers.get(name, ()):
            yield _command("warning", title, f"{power['name']}: {power['text']}")
    for one in report.get("left", ())[: words.MOST_LEFT]:
        yield _command("warning", words.LEFT, words.left(one))
    told = f"{words.conclusion(report)}; {words.counted(report['totals'])}"
    name = f"cmconf {report['target']['name']} {role}".rstrip()
    yield _command("notice", name, told)


def _told(layers: list[dict[str, Any]]) -> str:
    parts = []
    for layer in layers:
        told = [layer[name] for name in ("reason", "observed") if layer.get(name)]
        parts.append(f"{layer['layer']} ({layer['requirement']}): {', '.join(told)}")
    return "; ".join(parts)


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={for_workflow(title, of_property=True)}::{for_workflow(message)}"
