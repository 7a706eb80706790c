"""Choosing cases on the command line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    import argparse

    from codemode_spec import Case, Specification


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The arguments that choose cases."""
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="ID",
        help="only this case, or all variants of it; may be given more than once",
    )


def select(specification: Specification, arguments: argparse.Namespace) -> list[Case]:
    """The chosen cases in the order of ids; UsageError for an id that does not exist."""
    cases = specification.cases
    if not arguments.case:
        return list(cases.values())
    chosen = set()
    for wanted in arguments.case:
        found = {name for name in cases if name == wanted or name.startswith(f"{wanted}.")}
        if not found:
            near = difflib.get_close_matches(wanted, cases, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; `cmconf list` shows them all"
            raise UsageError(f"--case {wanted}: there is no such case{hint}")
        chosen |= found
    return [cases[name] for name in sorted(chosen)]
