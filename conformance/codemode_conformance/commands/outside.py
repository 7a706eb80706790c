"""Cases of a file of one's own, in place of those of the specification."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from codemode_spec import SpecificationError

from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    import argparse

    from codemode_spec import Specification


def add_cases(parser: argparse.ArgumentParser) -> None:
    """The argument that names a file of cases."""
    parser.add_argument(
        "--cases",
        type=Path,
        metavar="FILE",
        help="the cases of this file instead of the suite's, as `cmconf property --save` writes it",
    )


def with_cases(specification: Specification, file: Path | None) -> Specification:
    """The specification with the cases of a file, checked like its own; UsageError says why not."""
    if file is None:
        return specification
    from codemode_spec.specification import load_cases  # noqa: PLC0415  most need it never

    try:
        return replace(specification, cases=load_cases(file, str(file), specification))
    except SpecificationError as error:
        told = "\n  ".join(str(problem) for problem in error.problems)
        raise UsageError(
            f"--cases {file}: it holds no cases as the suite has them:\n  {told}"
        ) from None
