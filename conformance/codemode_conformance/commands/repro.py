"""`cmconf repro`: run one case of a report again, and show every message of it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec

from codemode_conformance.baseline import Comparison
from codemode_conformance.escape import cut, for_terminal
from codemode_conformance.failures import UsageError
from codemode_conformance.install import install
from codemode_conformance.report.reading import KNOWN_ROLES, known_case, read_parts
from codemode_conformance.report.terminal import Terminal
from codemode_conformance.roles import BUILT, role_name, role_of
from codemode_conformance.running import run_cases
from codemode_conformance.summary import Summary
from codemode_conformance.target import find_target, shipped_targets
from codemode_conformance.transcript import Transcript
from codemode_conformance.verdicts import WORST_FIRST

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from codemode_spec import Case, Specification

    from codemode_conformance.target import Target


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf repro`."""
    parser = commands.add_parser(
        "repro",
        help="run one case of a report again, message by message",
        description="Run one case of a JSON report again and print every message both ways. The "
        "report is not trusted: a target that is not shipped has to be named with --target.",
    )
    parser.add_argument("report", type=Path, metavar="REPORT", help="a JSON report")
    parser.add_argument("case", metavar="CASE", help="the id of a case in it")
    parser.add_argument("--target", metavar="NAME|FILE", help="the target, if it is not shipped")
    parser.add_argument(
        "--role",
        choices=BUILT,
        help="which part of a report of all roles (default: the one in which the case went worst)",
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Say what differs from the report, run, and show."""
    specification = codemode_spec.shipped()
    report = _part(arguments)
    case = known_case(report, arguments.case, specification)
    target = _target(report, arguments.target)
    wanted = report["selection"]["role"]
    if wanted not in KNOWN_ROLES:
        raise UsageError(f"{arguments.report}: there is no role {cut(wanted)}")
    name = role_name(target, wanted)
    for line in _differences(report, target, case, specification):
        print(f"note: {line}")
    installed = install(target, _say)
    transcript = Transcript(lambda line: print(line, flush=True))
    with role_of(installed, name, transcript) as role:
        identity = role.start()
        summary = Summary(
            specification,
            target,
            identity,
            role.effective,
            datetime.now(UTC).isoformat(timespec="seconds"),
            of=sum(name in case.roles for case in specification.cases.values()),
            role=name,
            comparison=Comparison(),
        )
        for verdict in run_cases([role], identity, specification, [case], name):
            summary.add(verdict)
    print()
    Terminal(summary).end(details=True)
    then = next(entry["verdict"] for entry in report["cases"] if entry["id"] == case.id)
    now = summary.verdicts[0].verdict
    same = "the same as" if then == now else "not the same as"
    print(f"{case.id}: {now}, {same} in the report ({then})")
    return summary.exit_code


def _part(arguments: argparse.Namespace) -> dict[str, Any]:
    """The report of the role that is asked for, else of the one in which the case went worst."""
    found = read_parts(arguments.report)
    wanted = arguments.role
    if wanted is not None:
        found = [part for part in found if part["selection"]["role"] == wanted]
        if not found:
            raise UsageError(f"--role {wanted}: {arguments.report} has no report of that role")
    if not found:
        raise UsageError(f"{arguments.report}: no role was run")

    def rank(part: dict[str, Any]) -> int:
        verdicts = [case["verdict"] for case in part["cases"] if case["id"] == arguments.case]
        return min(map(WORST_FIRST.index, verdicts), default=len(WORST_FIRST))

    return min(found, key=rank)


def _target(report: dict[str, Any], given: str | None) -> Target:
    if given is not None:
        return find_target(given)
    name = report["target"]["name"]
    # No path of a report is followed, and no command of it is run.
    if name in shipped_targets():
        return find_target(name)
    raise UsageError(f"the report's target {cut(name)} is not shipped; name it with --target FILE")


def _differences(
    report: dict[str, Any], target: Target, case: Case, specification: Specification
) -> list[str]:
    entry = next(entry for entry in report["cases"] if entry["id"] == case.id)
    then, told = report["target"], []
    if then["name"] != target.name or then["version"] != target.version:
        told.append(
            f"the report is of {for_terminal(then['name'])} {for_terminal(then['version'])}, "
            f"this is {target.name} {for_terminal(target.version)}"
        )
    elif then.get("file_digest") != target.digest:
        told.append("the target file is not the one of the report")
    if entry["digest"] != specification.digests[case.id]:
        told.append("the case has changed since the report")
    return told


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
