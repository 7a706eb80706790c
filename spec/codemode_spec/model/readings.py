"""What the programs of the cases do, in the model's words: the documents in `steps/`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from codemode_spec import layout, schemas, templates
from codemode_spec.cases import WRAPPER
from codemode_spec.documents import read_document
from codemode_spec.failures import NotApplicable, Problem, SpecificationError, TemplateError
from codemode_spec.model import forms
from codemode_spec.model.steps import Program, program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from codemode_spec.cases import Case
    from codemode_spec.contents import Specification

FOLDER = "steps"


@dataclass(frozen=True)
class Readings:
    """The programs of cases in the model's words, by the id of a case without its variant."""

    entries: Mapping[str, Mapping[str, Any]]

    def knows(self, case: Case) -> bool:
        """Whether somebody has put the programs of this case into steps."""
        entry = self.entries.get(_base(case))
        if entry is None:
            return False
        return "steps" in entry or "runs" in entry or case.variant in entry.get("variants", {})

    def programs(self, case: Case, rows: Mapping[str, int]) -> tuple[list[Program], list[Program]]:
        """The programs of the runs and of the follow-ups of a case, with these numbers of rows.

        NotApplicable for a case that nobody has put into steps.
        """
        runs, then = self.data(case, rows)
        return [program(steps) for steps in runs], [program(steps) for steps in then]

    def data(self, case: Case, rows: Mapping[str, int]) -> tuple[list[Any], list[Any]]:
        """The same as data, templates filled."""
        if not self.knows(case):
            raise NotApplicable(f"nobody has put the program of {case.id} into steps")
        entry = self.entries[_base(case)]
        names = case.names(rows)
        names |= templates.resolve(entry.get("let", {}).get(case.variant, {}), names)
        if case.variant in entry.get("variants", {}):
            runs = [entry["variants"][case.variant]]
        else:
            runs = entry.get("runs") or [entry["steps"]]
        ready = templates.resolve({"runs": runs, "then": entry.get("then", [])}, names)
        return ready["runs"], ready["then"]


def _base(case: Case) -> str:
    return ".".join(case.id.split(".")[:2])


def load_readings(cases: Mapping[str, Case], root: Traversable | None = None) -> Readings:
    """All readings. SpecificationError lists what is wrong, with file, path and reason."""
    root = root or files("codemode_spec")
    known = {_base(case) for case in cases.values()}
    variants: dict[str, set[str]] = {}
    for case in cases.values():
        variants.setdefault(_base(case), set()).add(case.variant or "")
    found: list[Problem] = []
    entries: dict[str, Any] = {}
    for name in layout.file_names(root, FOLDER, ".yaml", found):
        file = f"{FOLDER}/{name}"
        try:
            data = read_document(root / FOLDER / name, file)
        except SpecificationError as error:
            found += error.problems
            continue
        wrong = schemas.problems("steps", data, file, strict=True)
        found += wrong or layout.check_areas({file: data})
        for case, entry in {} if wrong else data["programs"].items():
            if not case.startswith(f"{data['area'].lower()}."):
                reason = f"the case does not belong to area {data['area']}"
                found.append(Problem(file, f"/programs/{case}", reason))
            if case not in known:
                found.append(Problem(file, f"/programs/{case}", "there is no such case"))
                continue
            named = {*entry.get("variants", {}), *entry.get("let", {})}
            found += [
                Problem(file, f"/programs/{case}", f"the case has no variant {variant}")
                for variant in sorted(named - variants[case])
            ]
            entries[case] = entry
    if found:
        raise SpecificationError(found)
    return Readings(entries)


def problems(root: Traversable, specification: Specification) -> list[Problem]:
    """What is wrong with the readings below `root`: also where one does not fit its case."""
    cases = specification.cases
    try:
        readings = load_readings(cases, root)
    except SpecificationError as error:
        return list(error.problems)
    rows = {name: row.default for name, row in specification.tables.rows.items()} | {WRAPPER: 0}
    found = []
    for case in cases.values():
        if not readings.knows(case):
            continue
        where = (f"{FOLDER}/{case.area.lower()}.yaml", f"/programs/{_base(case)}")
        try:
            runs, then = readings.data(case, {**rows, **case.prefer})
        except TemplateError as error:
            found.append(Problem(*where, f"{case.id}: {error}"))
            continue
        for what, steps, listed in (
            ("runs", runs, case.data.get("runs") or [case.data]),
            ("follow-ups", then, case.data.get("then", [])),
        ):
            found += [Problem(*where, f"{case.id}: {fault}") for fault in forms.faults(steps)]
            if len(steps) != len(listed):
                reason = f"{case.id} has {len(listed)} {what}, and {len(steps)} are put into steps"
                found.append(Problem(*where, reason))
    return found
