"""`cmconf spec`: check the specification, and print its schemas."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec
from codemode_spec import SpecificationError, schemas, traceability
from codemode_spec.vectors import checking

from codemode_conformance.commands import spec_explore, spec_export
from codemode_conformance.escape import for_terminal

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf spec`."""
    parser = commands.add_parser("spec", help="check the specification, print its schemas")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="check all files of the specification")
    check.add_argument(
        "--root",
        type=Path,
        help="another folder with a specification, checked by the schemas of this one",
    )
    check.set_defaults(execute=_check)
    schema = actions.add_parser("schema", help="print one JSON Schema")
    schema.add_argument("name", choices=schemas.schema_names())
    schema.set_defaults(execute=_schema)
    spec_explore.add(actions)
    spec_export.add(actions)


def _check(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    root = spec_export.folder(arguments.root)
    specification = codemode_spec.load(root)
    found = spec_export.check(root, specification)
    gaps = traceability.gaps(specification)
    for gap in gaps:
        print(for_terminal(str(gap), backslash=False))
    if found:
        raise SpecificationError(found)
    tables = specification.tables
    pending = specification.pending
    groups = ", ".join(f"{len(entries)} {key}" for key, entries in pending.groups.items())
    print(
        f"specification {specification.revision}: {len(tables.rows)} policy rows, "
        f"{len(tables.errors)} error codes, {len(specification.requirements)} requirements, "
        f"{len(specification.cases)} cases {specification.cases_digest[:16]}, "
        f"{checking.count(root or files(codemode_spec))} vectors; {len(gaps)} gaps, "
        f"{pending.count} pending ({groups}) in {time.monotonic() - started:.1f} s"
    )
    return 1 if gaps else 0


def _schema(arguments: argparse.Namespace) -> int:
    print(json.dumps(schemas.schema(arguments.name), indent=2))
    return 0
