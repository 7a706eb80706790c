"""The mutants as data: reading and checking them. Nothing is copied or started here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.documents import read_document
from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.schemas import problems

from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from codemode_spec import Case, Specification

PACKAGE: Final = "codemode_reference"
FOLDER: Final = "faults"
DIGITS: Final = 16
"""How many digits of a digest are kept: enough to tell versions apart."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One change: `old` stands exactly once in `file`, a path below the package."""

    file: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The text with the change; ValueError unless `old` stands in it exactly once."""
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.file}: the old text stands there {count} times, not once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Mutant:
    """The reference with one fault. `breaks` has the layers in which each requirement fails.

    It shows in the role `role` of the shipped target `target`, one of the reference's own.
    """

    name: str
    area: str
    fault: str
    breaks: Mapping[str, tuple[str, ...]]
    role: str
    target: str
    patches: tuple[Patch, ...]
    digest: str

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each requirement with each layer in which a case of it must fail."""
        return [(name, layer) for name, layers in self.breaks.items() for layer in layers]

    def claiming(self, cases: Mapping[str, Case]) -> list[Case]:
        """The cases that judge one of its requirements, in any layer, in its role."""
        return [
            case
            for case in cases.values()
            if self.role in case.roles and set(case.requirements.values()) & self.breaks.keys()
        ]


def shows(case: Case, failed: Collection[str], requirement: str, layer: str) -> bool:
    """Whether a case that failed in these layers shows that the requirement is broken in `layer`.

    The layer must judge it. An outcome that is wrong hides the layers after it, so there a case
    shows what any of its layers would have judged.
    """
    if layer not in failed:
        return False
    if layer == "outcome":
        return requirement in case.requirements.values()
    return case.requirements.get(layer) == requirement


def shown_by(
    mutant: Mutant, red: Mapping[str, Collection[str]], cases: Mapping[str, Case]
) -> set[str]:
    """Which of the `red` cases, by their failed layers, were so for what the mutant breaks."""
    return {
        name
        for name, failed in red.items()
        if any(shows(cases[name], failed, *pair) for pair in mutant.pairs)
    }


def reference() -> Path:
    """The folder of the reference package, which is found and never imported."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise UsageError(f"there is no package {PACKAGE} to make mutants of; install it")
    return Path(found.origin).parent


def contents(package: Path) -> int:
    """A number that stands for all sources in the folder: another one after each change."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".js"):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return int.from_bytes(digest.digest()[:8])


def load(specification: Specification, folder: Path | None = None) -> dict[str, Mutant]:
    """The mutants by name, checked. SpecificationError lists everything that is wrong."""
    root = folder or Path(str(files(__package__) / FOLDER))
    found: list[Problem] = []
    mutants: dict[str, Mutant] = {}
    for path in sorted(root.glob("*.yaml")):
        data = read_document(path, path.name)
        wrong = problems("mutants", data, path.name, strict=True)
        found += wrong
        for mutant in [] if wrong else _mutants(data):
            found += _faults(mutant, path, specification)
            if mutant.name in mutants:
                found.append(Problem(path.name, mutant.name, "the name stands twice"))
            mutants[mutant.name] = mutant
    if not found and not mutants:
        found.append(Problem(str(root), "", "there are no mutants"))
    if found:
        raise SpecificationError(found)
    return mutants


def misfits(mutant: Mutant, package: Path) -> list[str]:
    """Why its changes cannot be made to the package at this path; empty if they can."""
    texts: dict[str, str] = {}
    wrong = []
    for patch in mutant.patches:
        try:
            text = texts.get(patch.file) or (package / patch.file).read_text(encoding="utf-8")
            texts[patch.file] = patch.applied(text)
        except OSError as error:
            wrong.append(f"{patch.file}: {error.strerror}")
        except ValueError as error:
            wrong.append(str(error))
    return wrong


def _mutants(data: Mapping[str, Any]) -> Iterator[Mutant]:
    for entry in data["mutants"]:
        text = json.dumps(entry, sort_keys=True).encode()
        yield Mutant(
            name=entry["name"],
            area=data["area"],
            fault=entry["fault"],
            breaks={name: tuple(layers) for name, layers in entry["breaks"].items()},
            role=entry.get("role", "engine"),
            target=entry.get("target", "reference"),
            patches=tuple(Patch(**patch) for patch in entry["patches"]),
            digest=hashlib.sha256(text).hexdigest()[:DIGITS],
        )


def _faults(mutant: Mutant, path: Path, specification: Specification) -> Iterator[Problem]:
    """What no schema can say: names that exist, and cases that can see it."""
    area = mutant.area.lower()
    if path.stem != area or not mutant.name.startswith(f"{area}."):
        reason = f"it stands in {path.name} for area {mutant.area}; all three must agree"
        yield Problem(path.name, mutant.name, reason)
    if all(patch.old == patch.new for patch in mutant.patches):
        yield Problem(path.name, mutant.name, "nothing is changed")
    for requirement, layer in mutant.pairs:
        where = f"{mutant.name}/{requirement}"
        if requirement not in specification.requirements:
            yield Problem(path.name, where, "there is no such requirement")
        elif not any(
            shows(case, case.requirements, requirement, layer)
            for case in mutant.claiming(specification.cases)
        ):
            reason = f"no case judges it in the layer {layer} in the role {mutant.role}"
            yield Problem(path.name, where, reason)
