"""`cmconf spec export` and `cmconf spec freeze`: the specification for others, and for ever."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec
from codemode_spec import SpecificationError, export, revisions
from codemode_spec.model import places, readings
from codemode_spec.vectors import checking

from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    import argparse

    from codemode_spec import Problem, Specification


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of both."""
    export_ = actions.add_parser(
        "export",
        help="write everything as plain JSON, to vendor it",
        description="Write tables, profiles, requirements, cases, vectors and schemas as plain "
        "JSON into DIR, which is empty, new, or holds an earlier export.",
    )
    export_.add_argument("directory", type=Path, metavar="DIR")
    export_.set_defaults(execute=_export)
    freeze = actions.add_parser(
        "freeze",
        help="freeze the current revision (for maintainers)",
        description="Write the digests of all requirements and cases of the current revision to "
        "revisions/. A draft may be frozen again; a released revision never changes.",
    )
    freeze.add_argument("--root", type=Path, help="another folder with a specification")
    freeze.set_defaults(execute=_freeze)


def check(root: Path | None, specification: Specification) -> list[Problem]:
    """What is wrong with the steps, the vectors, and the frozen revisions."""
    place = root or files(codemode_spec)
    return [
        *places.problems(specification.tables),
        *readings.problems(place, specification),
        *checking.problems(place, specification.tables),
        *revisions.problems(place, specification),
    ]


def folder(root: Path | None) -> Path | None:
    """A folder named on the command line; UsageError where there is none."""
    if root is not None and not root.is_dir():
        raise UsageError(f"--root {root}: there is no such folder; name one with policy.json")
    return root


def _export(arguments: argparse.Namespace) -> int:
    specification = codemode_spec.load()
    try:
        written = export.export(arguments.directory, specification)
    except SpecificationError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        place = error.filename or arguments.directory
        raise UsageError(f"{place}: {reason}; choose another folder") from None
    print(f"revision {specification.revision}: {written} files in {arguments.directory}")
    return 0


def _freeze(arguments: argparse.Namespace) -> int:
    root = folder(arguments.root) or Path(str(files(codemode_spec)))
    specification = codemode_spec.load(root)
    try:
        path = revisions.freeze(root, specification)
    except SpecificationError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise UsageError(f"{root}: {reason}; freeze in a checkout of the sources") from None
    print(
        f"revision {specification.revision}: {len(specification.requirements)} requirements and "
        f"{len(specification.cases)} cases are frozen in {path}"
    )
    return 0
