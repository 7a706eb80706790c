"""`cmconf run`: put the cases to a target, print what holds, and write reports."""

from __future__ import annotations

import contextlib
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import codemode_spec

from codemode_conformance.commands import baselining, writing
from codemode_conformance.commands.outside import add_cases, with_cases
from codemode_conformance.commands.planning import add_plan, planned
from codemode_conformance.commands.selection import add_selection, select
from codemode_conformance.commands.targeting import target_of
from codemode_conformance.failures import ClaimError, StartError, UsageError
from codemode_conformance.install import install
from codemode_conformance.probing import probe
from codemode_conformance.report import json_report, whole_report
from codemode_conformance.report.terminal import Terminal, say_whole
from codemode_conformance.roles import ALL, add_role, role_of, roles_for
from codemode_conformance.running import run_cases
from codemode_conformance.summary import Summary
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from codemode_spec import Case, Specification

    from codemode_conformance import baseline
    from codemode_conformance.install import Installed
    from codemode_conformance.roles import Role
    from codemode_conformance.verdicts import CaseVerdict


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf run`."""
    parser = commands.add_parser(
        "run",
        help="test a target",
        description="Put the cases to a target and say what holds. Exit: 0 conforming, 1 failures, "
        "2 usage, 3 the target could not start, 4 the baseline is stale, 5 nothing was tested or "
        "the suite failed, 130 interrupted.",
    )
    parser.add_argument(
        "--target",
        metavar="NAME|FILE",
        help="a shipped target, or a target file (default: reference)",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="the reference with this profile; with --target, the profile that it must declare",
    )
    add_role(parser, or_all=True)
    add_selection(parser)
    add_cases(parser)
    add_plan(parser)
    baselining.add_baseline(parser)
    writing.add_reports(parser)
    parser.add_argument(
        "--measure",
        action="store_true",
        help="also look for undeclared powers and measure where limits stop a program, which is "
        "told and not judged (done by itself where all cases are run)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every case with its program and evidence"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run, print, write; the exit code says what came of it."""
    specification = with_cases(codemode_spec.shipped(), arguments.cases)
    chosen = select(specification, arguments)
    writing.check(arguments.report)
    target = target_of(arguments.target, arguments.profile)
    # Before the shard is cut out: all shards of one run are of one role.
    names = roles_for(target, arguments.role, chosen)
    if arguments.role != ALL:
        performance = _Performance(arguments, specification, names[0], chosen)
        summary = performance.give(performance.prepared(target.name), install(target, _say))
        writing.write(arguments.report, json_report.report(summary))
        return summary.exit_code
    _check_for_all(arguments)
    installed = install(target, _say)
    summaries, failures = [], {}
    for name in names:
        performance = _Performance(arguments, specification, name, chosen)
        try:
            summary = performance.give(performance.prepared(target.name), installed)
        except (StartError, ClaimError) as error:
            # The other roles are others' programs: they may well start.
            failures[name] = str(error)
            _say(f"cmconf: {name} role: {error}")
            continue
        summaries.append(summary)
        if summary.interrupted:
            break
    whole = whole_report.report(target, summaries, failures)
    say_whole(whole)
    writing.write(arguments.report, whole)
    code: int = whole["exit_code"]
    return code


def _check_for_all(arguments: argparse.Namespace) -> None:
    """What belongs to one role does not go with all of them."""
    for option, given in (("--baseline", arguments.baseline), ("--shard", arguments.shard)):
        if given is not None:
            raise UsageError(f"{option} is of one role: run --role {ALL} without, or each by name")


class _Performance:
    """One role of a target, and the cases that are put to it."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        specification: Specification,
        name: str,
        chosen: Sequence[Case],
    ) -> None:
        self._arguments = arguments
        self._specification = specification
        self._name = name
        for_it = [case for case in chosen if name in case.roles]
        self._cases, self._plan = planned(for_it, arguments)

    def prepared(self, target: str) -> baseline.Comparison:
        """The baseline, read before anything is installed or started."""
        comparison = baselining.comparison(self._arguments, target, self._name)
        comparison.finish(self._specification.cases)
        return comparison

    def give(self, comparison: baseline.Comparison, installed: Installed) -> Summary:
        """Run and print; StartError, ClaimError."""
        arguments, name = self._arguments, self._name
        raw: list[CaseVerdict] = []
        with contextlib.ExitStack() as open_roles:
            roles = [
                open_roles.enter_context(role_of(installed, name)) for _ in range(arguments.jobs)
            ]
            identity = roles[0].start()
            summary = Summary(
                self._specification,
                installed.target,
                identity,
                roles[0].effective,
                datetime.now(UTC).isoformat(timespec="seconds"),
                of=sum(name in case.roles for case in self._specification.cases.values()),
                role=name,
                plan=self._plan,
                comparison=comparison,
            )
            terminal = Terminal(summary)
            terminal.begin()
            started = time.monotonic()
            try:
                self._run(roles, summary, terminal, raw)
                if arguments.measure or summary.complete:
                    probe(roles[0], summary)
            except KeyboardInterrupt:
                summary.interrupted = True
            summary.seconds = time.monotonic() - started
        # Each is closed now: what is left of it is known.
        for role in roles:
            summary.left += role.left
        if arguments.update_baseline and not summary.interrupted:
            _say(baselining.update(summary, raw, arguments.issue))
        terminal.end(details=arguments.verbose or len(self._cases) == 1)
        return summary

    def _run(
        self, roles: Sequence[Role], summary: Summary, terminal: Terminal, raw: list[CaseVerdict]
    ) -> None:
        repeat = self._plan.repeat
        verdicts = run_cases(
            roles, summary.identity, summary.specification, self._cases, summary.role, repeat
        )
        with contextlib.closing(verdicts):
            for verdict in verdicts:
                raw.append(verdict)
                counted = summary.add(verdict)
                terminal.case(counted)
                rest = len(summary.verdicts) < len(self._cases)
                if self._arguments.fail_fast and _decides(counted) and rest:
                    summary.stopped = f"stopped at the first failure, {counted.case.id}"
                    return


def _decides(entry: CaseVerdict) -> bool:
    """Whether the exit code cannot be 0 any more."""
    return entry.verdict is Verdict.ERROR or any(
        layer.verdict in (Verdict.FAIL, Verdict.FLAKY) and layer.decides for layer in entry.layers
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
