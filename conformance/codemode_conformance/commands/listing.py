"""`cmconf list`: cases, requirements and targets, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import codemode_spec

from codemode_conformance.target import find_target, shipped_targets

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf list`."""
    parser = commands.add_parser("list", help="list cases, requirements or targets")
    parser.add_argument(
        "what", nargs="?", choices=("cases", "requirements", "targets"), default="cases"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print the list."""
    if arguments.what == "targets":
        rows = [
            (t.name, t.version, ", ".join(t.roles)) for t in map(find_target, shipped_targets())
        ]
    elif arguments.what == "requirements":
        requirements = codemode_spec.shipped().requirements.values()
        rows = [(r.id, f"{r.klass}, {r.level}", r.text) for r in requirements]
    else:
        cases = codemode_spec.shipped().cases.values()
        rows = [(c.id, " ".join(sorted(set(c.requirements.values()))), c.title) for c in cases]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for first, second, third in rows:
        print(f"{first:<{widths[0]}}  {second:<{widths[1]}}  {third}")
    return 0
