"""What the programs of the cases do, in the model's words: the documents in `steps/`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from codemode_spec import schemas, templates
from codemode_spec.documents import read_document
from codemode_spec.failures import NotApplicable, Problem, SpecificationError
from codemode_spec.model.steps import Program, program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from codemode_spec.cases import Case

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
        return [program(steps) for steps in ready["runs"]], [program(s) for s in ready["then"]]


def _base(case: Case) -> str:
    return ".".join(case.id.split(".")[:2])


def load_readings(cases: Mapping[str, Case], root: Traversable | None = None) -> Readings:
    """All readings. SpecificationError lists what is wrong, with file, path and reason."""
    folder = (root or files("codemode_spec")) / FOLDER
    known = {_base(case) for case in cases.values()}
    variants: dict[str, set[str]] = {}
    for case in cases.values():
        variants.setdefault(_base(case), set()).add(case.variant or "")
    found: list[Problem] = []
    entries: dict[str, Any] = {}
    for name in sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".yaml")):
        file = f"{FOLDER}/{name}"
        data = read_document(folder / name, file)
        wrong = schemas.problems("steps", data, file)
        found += wrong
        for case, entry in {} if wrong else data["programs"].items():
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
