"""`cmconf merge`: join the reports of shards into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec

from codemode_conformance.commands import writing
from codemode_conformance.escape import for_terminal
from codemode_conformance.failures import UsageError
from codemode_conformance.merging import merged
from codemode_conformance.report import words
from codemode_conformance.report.reading import read

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf merge`."""
    parser = commands.add_parser(
        "merge",
        help="join the reports of shards into one",
        description="Join the JSON reports of all shards of one run. They must be of the same "
        "cases, target and platform, with no case twice. The exit code is that of the whole.",
    )
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="a JSON report")
    writing.add_reports(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Join, write, and say what came of it."""
    if not arguments.report:
        raise UsageError("merge: say where the whole goes, as --report json=PATH")
    writing.check(arguments.report)
    given = {path.resolve() for path in arguments.reports}
    for _, path in arguments.report:
        if path.resolve() in given:
            raise UsageError(f"--report {path}: it is one of the shards; choose another place")
    reports = [(path, read(path)) for path in arguments.reports]
    whole = merged(reports, codemode_spec.shipped())
    writing.write(arguments.report, whole)
    for case in words.troubled(whole):
        print(f"{case['verdict']:<6} {case['id']}: {for_terminal(case['title'], backslash=False)}")
    extent = words.extent(whole)
    told = f"{words.conclusion(whole)}{f' ({extent})' if extent else ''}"
    target = whole["target"]
    print(
        for_terminal(
            f"{target['name']} {target['version']}: {told}; {words.counted(whole['totals'])} in "
            f"{len(reports)} shards",
            backslash=False,
        )
    )
    code: int = whole["exit_code"]
    return code
