"""What people found out about a run of a shipped target: `findings.toml` beside each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
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

    `kind` is `fault`, `design` (done on purpose, and documented), `place` (true of the place where
    it was run, not of every place) or `suite` (the case was wrong, and has been corrected). `how`
    is how it was confirmed without the suite; `cases` are ids, each of which was looked at.
    """

    kind: str
    text: str
    how: str
    cases: tuple[str, ...]
    link: str | None = None

    def covers(self, case: str) -> bool:
        """Whether the failure of this case has this cause."""
        return case in self.cases


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What was looked at by hand, and when.

    `note` is what the author says of the use that the target is meant for; `passes` are cases of
    which the messages of a PASS were read, in the way that `passes_how` tells.
    """

    confirmed: str = ""
    findings: tuple[Finding, ...] = ()
    note: str = ""
    passes: tuple[str, ...] = ()
    passes_how: str = ""


def confirmation_of(name: str, version: str) -> Confirmation:
    """That of a shipped target at this version; an empty one for any other target or version."""
    path = SHIPPED / name / FILE_NAME
    return load(path, version) if path.is_file() else Confirmation()


def load(path: Path, version: str) -> Confirmation:
    """The content of a file; TargetError says what is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TargetError(str(path), "", f"no TOML: {error}", "correct that line") from None
    for problem in problems("findings", data, str(path)):
        where = problem.path.lstrip("/").replace("/", ".")
        advice = "the schema `findings` lists the keys and their forms"
        raise TargetError(str(path), where, problem.reason, advice)
    if data["version"] != version:
        return Confirmation()
    passes = data.get("passes", {})
    return Confirmation(
        data["confirmed"],
        tuple(
            Finding(one["kind"], one["text"], one["how"], tuple(one["cases"]), one.get("link"))
            for one in data["finding"]
        ),
        data.get("note", ""),
        tuple(passes.get("cases", ())),
        passes.get("how", ""),
    )
