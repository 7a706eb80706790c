"""What people found out about failures of shipped targets: `findings.toml` beside each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from codemode_spec.schemas import problems

from codemode_conformance.failures import TargetError
from codemode_conformance.target import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "findings.toml"


@dataclass(frozen=True, slots=True)
class Finding:
    """A confirmed cause of failures.

    `kind` is `fault`, `design` (done on purpose, and documented) or `place` (true of the place
    where it was run, not of every place). `cases` are patterns of case ids.
    """

    kind: str
    text: str
    cases: tuple[str, ...]
    link: str | None = None

    def covers(self, case: str) -> bool:
        """Whether the failure of this case has this cause."""
        return any(fnmatchcase(case, pattern) for pattern in self.cases)


def findings_of(name: str, version: str) -> tuple[Finding, ...]:
    """The findings of a shipped target at this version; none for any other target or version."""
    path = SHIPPED / name / FILE_NAME
    return load(path, version) if path.is_file() else ()


def load(path: Path, version: str) -> tuple[Finding, ...]:
    """The findings of a file; TargetError says what is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TargetError(str(path), "", f"no TOML: {error}", "correct that line") from None
    for problem in problems("findings", data, str(path)):
        where = problem.path.lstrip("/").replace("/", ".")
        advice = "the schema `findings` lists the keys and their forms"
        raise TargetError(str(path), where, problem.reason, advice)
    if data["version"] != version:
        return ()
    return tuple(
        Finding(one["kind"], one["text"], tuple(one["cases"]), one.get("link"))
        for one in data["finding"]
    )
