"""Reports on the command line: `--report KIND=PATH`, checked before a run, written after it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.failures import UsageError
from codemode_conformance.report.kinds import KINDS, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PRINTED: Final = Path("-")


def add_reports(parser: argparse.ArgumentParser) -> None:
    """The argument."""
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        type=_report,
        metavar="KIND=PATH",
        help=f"write a report (kinds: {', '.join(KINDS)}; the path - prints it); may be given more "
        "than once",
    )


def _report(text: str) -> tuple[str, Path]:
    kind, _, path = text.partition("=")
    if kind not in KINDS or not path:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not KIND=PATH with one of: {', '.join(KINDS)}"
        )
    return kind, Path(path)


def check(reports: Iterable[tuple[str, Path]]) -> None:
    """Find out before a long run that a report cannot be written."""
    seen: set[Path] = set()
    for _, path in reports:
        if path == PRINTED:
            continue
        if not path.parent.is_dir():
            raise UsageError(f"--report {path}: there is no folder {path.parent}; make it first")
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise UsageError(f"--report {path}: no file can be written there; choose another place")
        if path.resolve() in seen:
            raise UsageError(f"--report {path}: two reports have this path; choose another place")
        seen.add(path.resolve())


def write(reports: Iterable[tuple[str, Path]], report: Mapping[str, Any]) -> None:
    """Write or print all of them."""
    for kind, path in reports:
        text = render(kind, report)
        if path == PRINTED:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            write_whole(path, text, "--report")


def write_whole(path: Path, text: str, option: str) -> None:
    """Whole or not at all: a reader never sees half a file."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UsageError(f"{option} {path}: {error.strerror}; choose another place") from None
