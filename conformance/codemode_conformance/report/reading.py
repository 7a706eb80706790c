"""Reports read back. A report is untrusted: anybody may have written it.

What it says is text to show and verdicts to count. No command, path or address is taken from it,
and what the suite knows itself (titles, requirements, classes, lines to run) is taken from there.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.schemas import problems

from codemode_conformance import bounded, messages
from codemode_conformance.escape import cut, for_terminal
from codemode_conformance.failures import UsageError
from codemode_conformance.report import parts as whole
from codemode_conformance.target import shipped_targets
from codemode_conformance.verdicts import WORST_FIRST

if TYPE_CHECKING:
    from pathlib import Path

    from codemode_spec import Case, Specification

MOST_BYTES: Final = 256 << 20
KNOWN_ROLES: Final = ("engine", "server", "worker", "parent")


def read(path: Path) -> dict[str, Any]:
    """The report of one role in this file; UsageError says why it is none."""
    report = _read(path)
    if whole.ROLES in report:
        raise UsageError(f"{path}: it is of all roles; give the report of a run of one")
    return report


def read_parts(path: Path) -> list[dict[str, Any]]:
    """The reports in this file, one for each role that was run; UsageError says why it is none."""
    return whole.parts(_read(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = bounded.read(path, MOST_BYTES)
        if raw is None:
            raise UsageError(f"{path}: a report has at most {MOST_BYTES} bytes")
        data, deep = messages.parse(raw.decode("utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}; give a report written by --report json=PATH"
        ) from None
    except ValueError as error:
        raise UsageError(f"{path}: no strict JSON: {cut(str(error))}") from None
    if deep or not isinstance(data, dict):
        raise UsageError(f"{path}: it is no report, or nested too deeply")
    for problem in problems("roles" if whole.ROLES in data else "report", data, str(path)):
        reason = cut(problem.reason)
        raise UsageError(f"{path}: no report of this suite: {for_terminal(problem.path)}: {reason}")
    return data


def known_case(report: dict[str, Any], name: str, specification: Specification) -> Case:
    """The suite's own case of this name, if the report has it; UsageError."""
    entry = next((case for case in report["cases"] if case["id"] == name), None)
    if entry is None:
        raise UsageError(f"the report has no case {cut(name)}")
    if name not in specification.cases:
        raise UsageError(f"{cut(name)}: this suite has no such case; use the one of the report")
    return specification.cases[name]


def restore(report: dict[str, Any], specification: Specification, path: Path) -> None:
    """Put what the suite knows itself in the place of what the report says of it.

    UsageError where the two cannot be of the same cases.
    """
    if report["cases_digest"] != specification.cases_digest:
        raise UsageError(
            f"{path}: its cases have the digest {report['cases_digest'][:16]}, those of this suite "
            f"{specification.cases_digest[:16]}; use the suite that made it"
        )
    role = report["selection"]["role"]
    if role not in KNOWN_ROLES:
        raise UsageError(f"{path}: there is no role {cut(role)}")
    for name, times in Counter(entry["id"] for entry in report["cases"]).items():
        if name not in specification.cases:
            raise UsageError(f"{path}: {cut(name)} is no case of this suite")
        if times > 1:
            raise UsageError(f"{path}: {cut(name)} stands twice")
    for entry in report["cases"]:
        name = entry["id"]
        case = specification.cases[name]
        if {x["layer"]: x["requirement"] for x in entry["layers"]} != dict(case.requirements):
            raise UsageError(f"{path}: {name}: its layers are not those of the case")
        _restore_case(report, entry, case, specification)
    report["areas"] = {a: t for a, t in report.get("areas", {}).items() if a.isalpha()}
    report["requirements"] = {
        name: {
            "area": item.area,
            "class": item.klass,
            "level": item.level,
            "text": item.text,
            "why": item.why,
        }
        for name, item in specification.requirements.items()
        if name in report.get("requirements", {})
    }


def _restore_case(
    report: dict[str, Any], entry: dict[str, Any], case: Case, specification: Specification
) -> None:
    entry["title"], entry["area"] = case.title, case.area
    entry["digest"] = specification.digests[case.id]
    for layer in entry["layers"]:
        requirement = specification.requirements[layer["requirement"]]
        layer["class"], layer["level"] = requirement.klass, requirement.level
    there = {layer["verdict"] for layer in entry["layers"]}
    worst = next((verdict for verdict in WORST_FIRST if verdict in there), None)
    entry["verdict"] = str(worst or entry["verdict"])
    entry["reproduce"] = reproduction(report, case.id)


def reproduction(report: dict[str, Any], case: str) -> str:
    """The line that runs a case again; FILE stands for a target file, which only its user names."""
    name = report["target"]["name"]
    target = name if name in shipped_targets() else "FILE"
    return f"cmconf run --target {target} --role {report['selection']['role']} --case {case}"
