"""The JUnit report: a test suite for each area, a test case for each case, layers as properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from codemode_conformance.escape import for_xml
from codemode_conformance.report import words
from codemode_conformance.report.parts import parts, role_of
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAILED: Final = (Verdict.FAIL, Verdict.FLAKY, Verdict.XPASS)
_SKIPPED: Final = (Verdict.UNSUPPORTED, Verdict.UNTESTABLE, Verdict.XFAIL)


def text(report: Mapping[str, Any]) -> str:
    """The report as XML."""
    root = _root(report)
    _add(root, report, "cmconf")
    return _written(root)


def whole(report: Mapping[str, Any]) -> str:
    """The report of all roles: the suites of each, with the role before their names."""
    root = _root(report)
    for part in parts(report):
        _add(root, part, f"cmconf.{role_of(part)}", f"{role_of(part)} ")
    if report["not_started"]:
        suite = _element(root, "testsuite", name="roles")
        for one in report["not_started"]:
            case = _element(suite, "testcase", classname="cmconf.roles", name=one["role"])
            _element(case, "error", type="start", message=one["reason"])
        _total(suite)
    return _written(root)


def _root(report: Mapping[str, Any]) -> ET.Element:
    target = report["target"]
    return _element(None, "testsuites", name=f"cmconf {target['name']} {target['version']}")


def _written(root: ET.Element) -> str:
    _total(root, "testsuite/testcase")
    ET.indent(root, " ")
    return "<?xml version='1.0' encoding='UTF-8'?>\n" + ET.tostring(root, "unicode") + "\n"


def _add(root: ET.Element, report: Mapping[str, Any], place: str, before: str = "") -> None:
    areas: dict[str, list[dict[str, Any]]] = {}
    for case in report["cases"]:
        areas.setdefault(case.get("area", ""), []).append(case)
    for area, cases in areas.items():
        suite = _element(root, "testsuite", name=f"{before}{area}", timestamp=report["started"])
        _suite(suite, report, f"{place}.{area}", cases)
    if problems := _beside(report):
        suite = _element(root, "testsuite", name=f"{before}baseline")
        for name, told in problems:
            case = _element(suite, "testcase", classname=f"{place}.baseline", name=name)
            _element(case, "failure", message=told, type="baseline")
        _total(suite)


def _suite(
    suite: ET.Element, report: Mapping[str, Any], place: str, cases: list[dict[str, Any]]
) -> None:
    properties = _element(suite, "properties")
    for name, told in words.pins(report):
        _element(properties, "property", name=name, value=told)
    _element(properties, "property", name="conclusion", value=words.conclusion(report))
    powers = report.get("capabilities", {})
    for name in ("undeclared", "false_claims"):
        for power in powers.get(name, ()):
            value = f"{power['name']}: {power['text']}"
            _element(properties, "property", name=name, value=value)
    for dispute in report.get("disputed", ()):
        value = f"{dispute['case']}: {dispute['reason']} ({dispute['link']})"
        _element(properties, "property", name="disputed", value=value)
    for one in report.get("left", ()):
        _element(properties, "property", name=words.LEFT, value=words.left(one))
    for case in cases:
        _case(suite, place, case)
    _total(suite)


def _case(suite: ET.Element, place: str, case: Mapping[str, Any]) -> None:
    element = _element(
        suite,
        "testcase",
        classname=place,
        name=case["id"],
        time=f"{case['seconds']:.3f}",
    )
    properties = _element(element, "properties")
    for layer in case["layers"]:
        name = f"{layer['layer']} {layer['requirement']}"
        _element(properties, "property", name=name, value=layer["verdict"])
    told = [layer for layer in case["layers"] if layer["verdict"] == case["verdict"]]
    reason = told[0].get("reason", "") if told else ""
    verdict = case["verdict"]
    if verdict in _FAILED:
        said = [layer for layer in case["layers"] if layer["verdict"] in _FAILED]
        advice = all(words.advice(layer) for layer in said)
        if advice and verdict != Verdict.XPASS:
            # Advice changes no exit code: a job that reads this file must not fail by it either.
            _element(element, "skipped", message=f"advice: {reason or verdict}")
        else:
            failure = _element(element, "failure", type=verdict, message=_head(case, said))
            failure.text = for_xml(_details(case, said), lines=True)
    elif verdict == Verdict.ERROR:
        _element(element, "error", type="error", message=reason)
    elif verdict in _SKIPPED:
        _element(element, "skipped", message=f"{verdict}: {reason}")


def _head(case: Mapping[str, Any], said: list[dict[str, Any]]) -> str:
    first = said[0]
    told = first.get("observed") or first.get("reason", "")
    return f"{case['title']}: {first['layer']}: {told}"


def _details(case: Mapping[str, Any], said: list[dict[str, Any]]) -> str:
    lines = []
    for layer in said:
        lines.append(f"{layer['layer']}: {layer['verdict']}, {layer['requirement']}")
        lines += [f"  {name}: {layer[name]}" for name in _TOLD if layer.get(name)]
    return "\n".join([*lines, f"run it: {case.get('reproduce', '')}"])


_TOLD: Final = ("reason", "expected", "observed")


def _beside(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    problems = report.get("baseline", {}).get("problems", ())
    # One that passes is the failure of its case already.
    return [
        (f"{one['case']} {one.get('layer', '')}".strip(), f"{one['problem']}: {one['text']}")
        for one in problems
        if one["problem"] != "passes"
    ]


def _total(element: ET.Element, path: str = "testcase") -> None:
    cases = element.findall(path)
    element.set("tests", str(len(cases)))
    element.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))


def _element(parent: ET.Element | None, tag: str, /, **attributes: str) -> ET.Element:
    safe = {name: for_xml(str(value)) for name, value in attributes.items()}
    return ET.Element(tag, safe) if parent is None else ET.SubElement(parent, tag, safe)
