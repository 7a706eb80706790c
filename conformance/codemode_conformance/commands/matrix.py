"""`cmconf matrix`: several JSON reports side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.commands.writing import write_whole
from codemode_conformance.failures import UsageError
from codemode_conformance.matrix import (
    badge,
    changes,
    html_page,
    joining,
    page,
    reading,
    result,
)
from codemode_conformance.target import shipped_targets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

MOST_REPORTS: Final = 40
FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "json": lambda matrix: json.dumps(matrix, ensure_ascii=True, indent=1) + "\n",
    "html": html_page.text,
    "markdown": page.text,
}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "matrix",
        help="put several JSON reports side by side",
        description="Joins JSON reports of several targets into one matrix. Nothing of a report is "
        "run or believed beyond its verdicts.",
    )
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="a JSON report")
    parser.add_argument(
        "--lead",
        type=Path,
        metavar="TEXT",
        help="paragraphs for the head of the pages",
    )
    for form in FORMS:
        parser.add_argument(f"--{form}", type=Path, metavar="PATH", help=f"write it as {form}")
    parser.add_argument(
        "--since", type=Path, metavar="JSON", help="an earlier matrix, to tell what changed since"
    )
    parser.add_argument("--badges", type=Path, metavar="DIR", help="write a badge for each target")
    parser.add_argument(
        "--readmes",
        type=Path,
        metavar="DIR",
        help="write the section Result of DIR/TARGET/README.md, where there is one",
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read, join, write; without a place to write to, print."""
    if len(arguments.reports) > MOST_REPORTS:
        raise UsageError(f"at most {MOST_REPORTS} reports stand side by side")
    earlier = None if arguments.since is None else changes.earlier(arguments.since)
    lead = [] if arguments.lead is None else reading.paragraphs(arguments.lead)
    reports = [report for path in arguments.reports for report in reading.read_all(path)]
    if not reports:
        raise UsageError("none of the reports is of a role that was run")
    found = joining.matrix(reports, lead)
    written = _pages(arguments, found)
    if arguments.badges is not None:
        written += _badges(arguments.badges, found)
    if arguments.readmes is not None:
        written += _readmes(arguments.readmes, found)
    if earlier is not None:
        sys.stdout.write(changes.changes(earlier, found))
    elif not written:
        sys.stdout.write(page.text(found))
    return 0


def _pages(arguments: argparse.Namespace, found: Mapping[str, Any]) -> int:
    chosen = {form: getattr(arguments, form) for form in FORMS}
    paths = {form: path for form, path in chosen.items() if path is not None}
    for form, path in paths.items():
        write_whole(path, FORMS[form](found), f"--{form}")
    return len(paths)


def _badges(folder: Path, found: Mapping[str, Any]) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--badges {folder}: {error.strerror}") from None
    for target in found["targets"]:
        name = f"{target['key'].replace(' (', '-').rstrip(')')}.svg"
        write_whole(folder / name, badge.badge(found, target), "--badges")
    return len(found["targets"])


def _readmes(folder: Path, found: Mapping[str, Any]) -> int:
    written = 0
    # A report is untrusted, and the name that it tells is the name of a folder here.
    for target in (one for one in found["targets"] if one["name"] in shipped_targets()):
        path = folder / target["name"] / "README.md"
        text = result.readme(path, result.section(found, target))
        if text is not None:
            write_whole(path, text, "--readmes")
            written += 1
    return written
