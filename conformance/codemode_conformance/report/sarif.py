"""The SARIF 2.1.0 report, for code scanning: what failed, each result under its requirement."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_json, for_xml
from codemode_conformance.report import words
from codemode_conformance.report.parts import parts
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
HOME: Final = "https://codemode-conformance.example/"
_TOLD: Final = (Verdict.FAIL, Verdict.FLAKY, Verdict.XFAIL, Verdict.XPASS)
_RULE: Final = {
    "baseline": "Each entry of a baseline holds for the failure that it names.",
    "undeclared-power": "A program has no power that the target does not declare.",
    "false-claim": "What the target declares is there.",
}


def text(report: Mapping[str, Any]) -> str:
    """The report as JSON."""
    return _written([_run(report)])


def whole(report: Mapping[str, Any]) -> str:
    """The report of all roles: a run for each, apart by its `automationDetails`."""
    runs = [_run(part) for part in parts(report)]
    return _written([*runs, *(_not_started(report, one) for one in report["not_started"])])


def _written(runs: list[dict[str, Any]]) -> str:
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}
    return for_json(json.dumps(log, ensure_ascii=True, indent=1)) + "\n"


def _not_started(report: Mapping[str, Any], one: Mapping[str, str]) -> dict[str, Any]:
    fault = {"level": "error", "message": _message(f"{one['role']} role: {one['reason']}")}
    return {
        "tool": {"driver": _driver(report, [])},
        "automationDetails": {"id": f"cmconf/{report['target']['name']}/{one['role']}/"},
        "invocations": [{"executionSuccessful": False, "toolExecutionNotifications": [fault]}],
        "results": [],
    }


def _driver(report: Mapping[str, Any], rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": "Code Mode Conformance",
        "version": report["suite_version"],
        "informationUri": HOME,
        "rules": rules,
    }


def _run(report: Mapping[str, Any]) -> dict[str, Any]:
    rules = _rules(report)
    number = {rule["id"]: index for index, rule in enumerate(rules)}
    results = [*_results(report), *_beside(report)]
    for result in results:
        result["ruleIndex"] = number[result["ruleId"]]
    notes = [
        {"level": "error", "message": _message(f"{case['id']}: {layer.get('reason', '')}")}
        for case in report["cases"]
        for layer in case["layers"]
        if layer["verdict"] == Verdict.ERROR
    ] + [
        {"level": "warning", "message": _message(f"{words.LEFT}: {words.left(one)}")}
        for one in report.get("left", ())
    ]
    return {
        "tool": {"driver": _driver(report, rules)},
        "automationDetails": {
            "id": f"cmconf/{report['target']['name']}/{report['selection']['role']}/"
        },
        "invocations": [
            {
                "executionSuccessful": report["exit_code"] in (0, 1, 4),
                "exitCode": report["exit_code"],
                "toolExecutionNotifications": notes,
            }
        ],
        "properties": {name: for_xml(told) for name, told in words.pins(report)}
        | {"conclusion": words.conclusion(report)},
        "results": results,
    }


def _rules(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    requirements = [
        {
            "id": name,
            "shortDescription": _message(item["text"]),
            "fullDescription": _message(f"{item['text']} {item['why']}"),
            "defaultConfiguration": {"level": "error" if item["level"] == "MUST" else "warning"},
            "properties": {"tags": [item["class"], item["area"]]},
        }
        for name, item in report.get("requirements", {}).items()
    ]
    return requirements + [
        {"id": name, "shortDescription": _message(told)} for name, told in _RULE.items()
    ]


def _results(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for case in report["cases"]:
        for layer in case["layers"]:
            if layer["verdict"] not in _TOLD:
                continue
            told = [
                f"{name}: {layer[name]}"
                for name in ("reason", "expected", "observed")
                if layer.get(name)
            ]
            message = f"{case['title']} ({case['id']}, {layer['layer']}). {'; '.join(told)}"
            decides = layer["level"] == "MUST" and layer["verdict"] != Verdict.XPASS
            result = _result(report, layer["requirement"], message, case["id"], layer["layer"])
            result["level"] = "error" if decides else "warning"
            if layer["verdict"] == Verdict.XFAIL:
                accepted = _message(layer.get("reason", ""))["text"]
                result["suppressions"] = [{"kind": "external", "justification": accepted}]
            result["properties"] = {
                "verdict": layer["verdict"],
                "reproduce": for_xml(case.get("reproduce", "")),
            }
            found.append(result)
    return found


def _beside(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for one in report.get("baseline", {}).get("problems", ()):
        message = f"{one['case']}: {one['problem']}: {one['text']}"
        found.append(_result(report, "baseline", message, one["case"], one.get("layer", "")))
    powers = report.get("capabilities", {})
    for rule, name in (("undeclared-power", "undeclared"), ("false-claim", "false_claims")):
        for power in powers.get(name, ()):
            message = f"{power['name']}: {power['text']}"
            found.append(_result(report, rule, message, power["name"]))
    return [{**result, "level": "warning"} for result in found]


def _result(report: Mapping[str, Any], rule: str, message: str, *about: str) -> dict[str, Any]:
    target = report["target"]
    key = json.dumps([rule, target["name"], report["selection"]["role"], *about])
    place = {"artifactLocation": {"uri": _uri(target.get("file") or "target.toml")}}
    return {
        "ruleId": rule,
        "message": _message(message),
        "locations": [{"physicalLocation": {**place, "region": {"startLine": 1}}}],
        "partialFingerprints": {"cmconf/v1": hashlib.sha256(key.encode()).hexdigest()},
    }


def _uri(path: str) -> str:
    """A relative URI: GitHub takes no other, and a target must not point elsewhere by it."""
    plain = "-._~/"
    safe = "".join(
        c if c.isascii() and (c.isalnum() or c in plain) else _percent(c) for c in path
    ).lstrip("/")
    return safe or "target.toml"


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="replace"))


def _message(told: str) -> dict[str, str]:
    # A message is plain text, but `[text](link)` and `{0}` in it mean something.
    safe = for_xml(told)
    for character in "\\[]{}":
        replacement = {"{": "{{", "}": "}}"}.get(character, f"\\{character}")
        safe = safe.replace(character, replacement)
    return {"text": safe or "-"}
