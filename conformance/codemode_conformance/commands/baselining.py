"""The baseline on the command line: held against a run, or written anew from a whole one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from codemode_conformance import baseline
from codemode_conformance.commands.planning import CHOOSING
from codemode_conformance.commands.writing import write_whole
from codemode_conformance.failures import UsageError
from codemode_conformance.quarantine import set_apart
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    import argparse

    from codemode_conformance.summary import Summary
    from codemode_conformance.verdicts import CaseVerdict


def add_baseline(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    known = parser.add_argument_group("known failures")
    known.add_argument(
        "--baseline", type=Path, metavar="FILE", help="failures that are known; any other is red"
    )
    known.add_argument(
        "--update-baseline",
        action="store_true",
        help="write the failures of this run, which must be a whole one, into the file",
    )
    known.add_argument("--issue", metavar="LINK", help="the issue of failures that are new in it")


def comparison(arguments: argparse.Namespace, target: str, role: str) -> baseline.Comparison:
    """What the run is held against; UsageError where the options do not go together."""
    today = datetime.now(UTC).date()
    path = arguments.baseline
    if arguments.update_baseline:
        _check_whole(arguments)
        if path is None:
            raise UsageError("--update-baseline needs --baseline FILE")
        issue = arguments.issue
        if issue is not None and not issue.startswith(("https://", "http://")):
            raise UsageError(f"--issue {issue}: it is no link; give one that starts with https://")
        if not path.exists():
            if not path.parent.is_dir():
                raise UsageError(f"--baseline {path}: there is no folder {path.parent}")
            return baseline.Comparison(baseline.Baseline(path, target, role, ()), today)
    elif arguments.issue is not None:
        raise UsageError("--issue goes with --update-baseline only")
    if path is None:
        return baseline.Comparison(None, today)
    return baseline.Comparison(baseline.load(path, target, role), today)


def _check_whole(arguments: argparse.Namespace) -> None:
    partial = [option for option, name in CHOOSING.items() if getattr(arguments, name)]
    partial += ["--shard"] if arguments.shard else []
    partial += ["--fail-fast"] if arguments.fail_fast else []
    if partial:
        raise UsageError(
            f"--update-baseline: {', '.join(partial)} makes it a part of the suite, from which no "
            "baseline can be made; run all of it"
        )


def update(summary: Summary, raw: list[CaseVerdict], issue: str | None) -> str:
    """Write the failures of a whole run, and hold the run against them; says what was done.

    `raw` are the verdicts before any baseline was held against them.
    """
    old = summary.comparison.baseline
    assert old is not None
    if not summary.complete:
        return f"{old.file} stays as it was: not every case was run"
    judged = [set_apart(entry, summary.disputed) for entry in raw]
    ill = [e.case.id for e in judged if e.verdict in (Verdict.ERROR, Verdict.FLAKY)]
    if ill:
        shown = ", ".join(ill[:5])
        return f"{old.file} stays as it was: {len(ill)} cases are errors or flaky, as {shown}"
    new = baseline.update(old, judged, issue, summary.comparison.today)
    write_whole(old.file, baseline.text(new), "--baseline")
    written = baseline.load(old.file, old.target, old.role)
    summary.comparison = replace(summary.comparison, baseline=written, complaints=[])
    summary.verdicts.clear()
    for entry in raw:
        summary.add(entry)
    dropped = len(old.entries) - sum(entry in old.entries for entry in written.entries)
    return f"{old.file}: {len(written.entries)} known failures, {max(dropped, 0)} entries replaced"
