"""Why no mutant of the reference can break some cases: `doctored.yaml`, read and checked."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from codemode_spec.documents import read_document
from codemode_spec.failures import Problem
from codemode_spec.tables import load_tables

from codemode_conformance.applicability import other_choice

if TYPE_CHECKING:
    from pathlib import Path

    from codemode_spec import Case, Specification

DOCTORED: Final = "doctored.yaml"

KINDS: Final = ("engine", "undeclared", "adapter")
"""`engine`: a fault of the engine of the guest, which is no part of the reference. `undeclared`: no
profile of the reference declares what the case is for. `adapter`: what is judged is told by the
adapter alone, which no change of the reference makes lie."""


@dataclass(slots=True)
class Reasons:
    """`why` by case; `at_most` so many cases may have neither a mutant nor a reason."""

    at_most: int
    why: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read(specification: Specification, path: Path) -> Reasons:
    """All reasons, with what is wrong with them. A trailing `*` of a case is any variant."""
    data = read_document(path, path.name)
    found = Reasons(data["at_most"])
    for group in data["groups"]:
        kind = group.get("kind")
        if kind not in KINDS:
            reason = f"the kind is {kind!r}; it must be one of {', '.join(KINDS)}"
            found.problems.append(Problem(path.name, str(group["why"]), reason))
        for pattern in group["cases"]:
            matching = fnmatch.filter(specification.cases, pattern)
            if not matching:
                found.problems.append(Problem(path.name, pattern, "there is no such case"))
            for case in matching:
                if case in found.why:
                    found.problems.append(Problem(path.name, case, "it stands twice"))
                if kind == "undeclared" and (profile := _declaring(case, specification)):
                    reason = f"the profile {profile} declares what it is for; add a mutant"
                    found.problems.append(Problem(path.name, case, reason))
                found.why[case] = group["why"]
    return found


def _declaring(name: str, specification: Specification) -> str | None:
    """The first profile that has all alternatives which the case asks for."""
    case: Case = specification.cases[name]
    for profile in load_tables().profiles.values():
        if other_choice(case, profile.alternatives) is None:
            return profile.name
    return None
