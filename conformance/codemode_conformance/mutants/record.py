"""What the mutants have shown: recorded, so that it can be checked without running any.

`caught.json` has for each mutant the layers of the cases that it turned red. A result counts only
as long as neither the mutant nor the case has changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.documents import read_document
from codemode_spec.failures import Problem

from codemode_conformance.mutants import reasons
from codemode_conformance.mutants.mutant import DIGITS, shown_by, shows
from codemode_conformance.mutants.trial import LEAST_PASSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codemode_spec import Case, Specification

    from codemode_conformance.mutants.mutant import Mutant
    from codemode_conformance.mutants.trial import Result

CLASSES: Final = ("containment", "budgets", "contract")
"""The classes whose every case must have been red."""

RECORD: Final = "caught.json"
AGAIN: Final = "run `cmconf mutants --whole --write --mutant {}`"


@dataclass(frozen=True, slots=True)
class Shown:
    """What one mutant turned red, the layers by case; `passing` of `unrelated` others held."""

    digest: str
    red: Mapping[str, Sequence[str]]
    passing: int
    unrelated: int

    @property
    def is_ruin(self) -> bool:
        """Whether too many unrelated cases fail for a mutant with one fault."""
        return self.passing < LEAST_PASSING * self.unrelated


@dataclass(frozen=True, slots=True)
class Record:
    """All that was shown. `cases` has the digests of the cases as they were then."""

    mutants: Mapping[str, Shown]
    cases: Mapping[str, str]

    def current(self, mutant: Mutant, specification: Specification) -> dict[str, list[str]]:
        """What this mutant turned red, as far as it still says something."""
        shown = self.mutants.get(mutant.name)
        if shown is None or shown.digest != mutant.digest:
            return {}
        return {
            case: list(layers)
            for case, layers in shown.red.items()
            if specification.digests.get(case, "")[:DIGITS] == self.cases[case]
        }

    def missing(self, mutant: Mutant, specification: Specification) -> list[tuple[str, str]]:
        """The pairs of requirement and layer for which nothing current is recorded."""
        red = self.current(mutant, specification)
        cases = specification.cases
        return [
            pair
            for pair in mutant.pairs
            if not any(shows(cases[case], red[case], *pair) for case in red)
        ]


def place() -> Path:
    """The folder of the data."""
    return Path(str(files(__package__)))


def read(path: Path | None = None) -> Record:
    """The shipped record, or that of another file; an empty one where there is none."""
    path = path or place() / RECORD
    if not path.is_file():
        return Record({}, {})
    data = read_document(path, path.name)
    mutants = {
        name: Shown(entry["digest"], entry["red"], *entry["unrelated"])
        for name, entry in data["mutants"].items()
    }
    return Record(mutants, data["cases"])


def text(
    record: Record,
    results: Iterable[Result],
    mutants: Mapping[str, Mutant],
    specification: Specification,
) -> str:
    """The record with these results. Mutants that are gone go, and so does what was withdrawn.

    What was red stays so as long as neither the mutant nor the case has changed: one run in which a
    case passed, or could not be judged, does not undo what another has shown.
    """
    fresh = {result.mutant.name: result for result in results}
    entries: dict[str, Any] = {}
    for name, mutant in sorted(mutants.items()):
        red = record.current(mutant, specification)
        if name in fresh:
            one = fresh[name]
            for case in one.withdrawn:
                red.pop(case, None)
            for case, layers in one.red.items():
                red[case] = list(dict.fromkeys([*red.get(case, ()), *layers]))
            passing, unrelated = _sample(one, record.mutants.get(name))
        elif red:
            passing, unrelated = record.mutants[name].passing, record.mutants[name].unrelated
        else:
            continue
        entries[name] = {
            "digest": mutant.digest,
            "unrelated": [passing, unrelated],
            "red": {case: red[case] for case in sorted(red)},
        }
    cases = sorted({case for entry in entries.values() for case in entry["red"]})
    digests = {case: specification.digests[case][:DIGITS] for case in cases}
    return _lines({"format": 1, "cases": digests, "mutants": entries})


def _sample(result: Result, before: Shown | None) -> tuple[int, int]:
    """The unrelated cases that passed and that were asked: of the larger sample of this version."""
    asked = len(result.passed) + len(result.others)
    if before is not None and before.digest == result.mutant.digest and before.unrelated > asked:
        return before.passing, before.unrelated
    return len(result.passed), asked


def _lines(data: Mapping[str, Any]) -> str:
    """JSON with a line for each case and mutant, so that changes can be read."""

    def entries(found: Mapping[str, Any]) -> str:
        return ",\n".join(f"{json.dumps(key)}: {json.dumps(found[key])}" for key in found)

    return (
        f'{{"format": {data["format"]},\n"cases": {{\n{entries(data["cases"])}\n}},\n'
        f'"mutants": {{\n{entries(data["mutants"])}\n}}}}\n'
    )


@dataclass(frozen=True, slots=True)
class Coverage:
    """Cases of the three classes: red by a mutant, or in the selftest alone, with the reason.

    `missing` are those of the selftest without a reason, so that a mutant could be found.
    """

    by_mutant: tuple[str, ...]
    by_doctor: Mapping[str, str]
    missing: tuple[str, ...]


def coverage(
    record: Record,
    mutants: Mapping[str, Mutant],
    specification: Specification,
) -> tuple[Coverage, list[Problem]]:
    """Which case was shown red by what, and everything that is stale or missing."""
    found: list[Problem] = []
    red: set[str] = set()
    for mutant in mutants.values():
        red |= shown_by(mutant, record.current(mutant, specification), specification.cases)
        for requirement, layer in record.missing(mutant, specification):
            reason = f"no case is recorded that fails in {layer}; {AGAIN.format(mutant.name)}"
            found.append(Problem(RECORD, f"{mutant.name}/{requirement}", reason))
        shown = record.mutants.get(mutant.name)
        if shown is not None and shown.digest == mutant.digest and shown.is_ruin:
            reason = f"only {shown.passing} of {shown.unrelated} unrelated cases pass: it is a ruin"
            found.append(Problem(RECORD, mutant.name, reason))
    known = reasons.read(specification, place() / reasons.DOCTORED)
    found += known.problems
    ids = [case.id for case in specification.cases.values() if _is_of(case, specification)]
    covered = Coverage(
        by_mutant=tuple(case for case in ids if case in red),
        by_doctor={case: known.why[case] for case in ids if case not in red and case in known.why},
        missing=tuple(case for case in ids if case not in red and case not in known.why),
    )
    for case in sorted(red & known.why.keys()):
        found.append(Problem(reasons.DOCTORED, case, "a mutant turns it red; take it out"))
    if len(covered.missing) > known.at_most:
        reason = (
            f"{len(covered.missing)} cases were turned red by doctored outcomes alone, and have no "
            f"reason; at most {known.at_most} may be: add mutants, or say why there can be none"
        )
        found.append(Problem(reasons.DOCTORED, "at_most", reason))
    return covered, found


def _is_of(case: Case, specification: Specification) -> bool:
    requirements = specification.requirements
    return any(requirements[name].klass in CLASSES for name in case.requirements.values())
