"""`cmconf run`: put the cases to a target, print what holds, and write reports."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import codemode_spec

from codemode_conformance.commands.selection import add_selection, select
from codemode_conformance.failures import UsageError
from codemode_conformance.install import install
from codemode_conformance.report import json_report
from codemode_conformance.report.terminal import Terminal
from codemode_conformance.roles import add_role, role_name, role_of
from codemode_conformance.running import run_cases
from codemode_conformance.summary import Summary
from codemode_conformance.target import REFERENCE, find_target, reference_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.target import Target

MOST_JOBS: Final = 64
REPORTS: Final[dict[str, Callable[[Summary], str]]] = {"json": json_report.text}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf run`."""
    parser = commands.add_parser(
        "run",
        help="test a target",
        description="Put the cases to a target and say what holds. Exit: 0 conforming, 1 failures, "
        "2 usage, 3 the target could not start, 5 nothing was tested or the suite failed, "
        "130 interrupted.",
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
    add_role(parser)
    add_selection(parser)
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=1,
        metavar="N",
        help="run N cases at once, in processes of their own (default: 1; a busy machine makes "
        "deadlines late)",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        type=_report,
        metavar="KIND=PATH",
        help=f"write a report (kinds: {', '.join(REPORTS)}); may be given more than once",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every case with its program and evidence"
    )
    parser.set_defaults(execute=execute)


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_JOBS}")
    return int(text)


def _report(text: str) -> tuple[str, Path]:
    kind, _, path = text.partition("=")
    if kind not in REPORTS or not path:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not KIND=PATH with one of: {', '.join(REPORTS)}"
        )
    return kind, Path(path)


def execute(arguments: argparse.Namespace) -> int:
    """Run, print, write; the exit code says what came of it."""
    specification = codemode_spec.shipped()
    cases = select(specification, arguments)
    for _, path in arguments.report:
        _try(path)
    target = target_of(arguments.target, arguments.profile)
    name = role_name(target, arguments.role)
    installed = install(target, _say)
    with contextlib.ExitStack() as open_roles:
        roles = [open_roles.enter_context(role_of(installed, name)) for _ in range(arguments.jobs)]
        identity = roles[0].start()
        summary = Summary(
            specification,
            target,
            identity,
            roles[0].effective,
            datetime.now(UTC).isoformat(timespec="seconds"),
            of=len(specification.cases),
            role=name,
        )
        terminal = Terminal(summary)
        terminal.begin()
        started = time.monotonic()
        try:
            for verdict in run_cases(roles, identity, specification, cases, name):
                summary.verdicts.append(verdict)
                terminal.case(verdict)
        except KeyboardInterrupt:
            summary.interrupted = True
        summary.seconds = time.monotonic() - started
    single = len(cases) == 1
    terminal.end(details=arguments.verbose or single)
    for kind, path in arguments.report:
        _write(path, REPORTS[kind](summary))
    return summary.exit_code


def target_of(name: str | None, profile: str | None) -> Target:
    """The target of `--target` and `--profile`; UsageError where they do not fit."""
    known = codemode_spec.shipped().tables.profiles
    if profile is not None and profile not in known:
        raise UsageError(f"--profile {profile}: it is one of {', '.join(sorted(known))}")
    if name is None:
        return find_target(REFERENCE if profile is None else reference_of(profile))
    target = find_target(name)
    if profile not in (None, target.profile):
        has = f"the profile {target.profile}" if target.profile else "no profile"
        raise UsageError(f"--profile {profile}: {target.file} declares {has}")
    return target


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _try(path: Path) -> None:
    """Find out before a long run that a report cannot be written."""
    if not path.parent.is_dir():
        raise UsageError(f"--report {path}: there is no folder {path.parent}; make it first")
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"--report {path}: no file can be written there; choose another place")


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a reader never sees half a report."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UsageError(f"--report {path}: {error.strerror}; choose another place") from None
