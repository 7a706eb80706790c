"""The whole specification from its sources: loaded, checked, and joined."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import checks, layout, schemas, table_checks
from codemode_spec.contents import Specification
from codemode_spec.documents import read_document
from codemode_spec.expansion import expand
from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.pending import FILE, pending, recorded_count
from codemode_spec.requirements import requirement
from codemode_spec.seen import once, text_of, text_of_rows
from codemode_spec.tables import DEFAULT_PROFILE, TABLES, build_tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from codemode_spec.cases import Case
    from codemode_spec.tables import Tables

__all__ = ["Specification", "load", "load_cases"]


def load(root: Traversable | None = None) -> Specification:
    """The specification below `root` (by default the one shipped with this package).

    SpecificationError lists every fault with file, path and reason.
    """
    root = root or files(__package__)
    found: list[Problem] = []
    read = {name: _document(root, f"{name}.json", name, found) for name in TABLES}
    profiles = _folder(root, "profiles", "profile", found, ".json")
    requirement_files = _folder(root, "requirements", "requirement", found)
    case_files = _folder(root, "cases", "case", found)
    revision = _document(root, "revision.json", "revision", found)
    uncovered = _document(root, FILE, "pending", found)
    found += checks.check_named(_entries(case_files))
    _stop_if(found)
    found += layout.check_areas(requirement_files) + layout.check_areas(case_files)
    found += layout.check_tables(read, profiles)
    _stop_if(found)

    tables = build_tables(read, list(profiles.values()))
    requirements = [
        (file, requirement(data["area"], entry))
        for file, data in requirement_files.items()
        for entry in data["requirements"]
    ]
    cases = [
        (file, case)
        for file, data in case_files.items()
        for entry in data["cases"]
        for case in expand(data["area"], entry)
    ]
    found += table_checks.check_tables(tables, profiles)
    found += checks.check_requirements(requirements, tables, revision["revision"])
    found += checks.check_cases(cases, {r.id: r for _, r in requirements}, tables)
    _stop_if(found)
    specification = Specification(
        revision=revision["revision"],
        tables=tables,
        requirements={r.id: r for r in sorted((r for _, r in requirements), key=lambda r: r.id)},
        cases={c.id: c for c in sorted((c for _, c in cases), key=lambda c: c.id)},
        pending=pending(uncovered, recorded_count(root)),
    )
    # What the property would compute, with the fault of a case that has no digest.
    vars(specification)["digests"] = _digests(cases, tables)
    return specification


def load_cases(entry: Traversable, file: str, specification: Specification) -> dict[str, Case]:
    """Cases of one document outside of the specification, checked like its own."""
    data = read_document(entry, file)
    found = schemas.problems("case", data, file, strict=True)
    _stop_if(found)
    cases = [(file, case) for item in data["cases"] for case in expand(data["area"], item)]
    _stop_if(checks.check_cases(cases, specification.requirements, specification.tables))
    return {case.id: case for _, case in cases}


def _entries(files: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The entries of case documents, as far as they have the shape of one."""
    return [
        (file, entry)
        for file, data in files.items()
        if isinstance(data, dict) and isinstance(data.get("cases"), list)
        for entry in data["cases"]
        if isinstance(entry, dict)
    ]


def _stop_if(found: list[Problem]) -> None:
    if found:
        raise SpecificationError(found)


def _digests(cases: list[tuple[str, Case]], tables: Tables) -> dict[str, str]:
    defaults = tables.profiles[DEFAULT_PROFILE].defaults()
    beside = text_of_rows(defaults)
    found: list[Problem] = []
    digests: dict[str, str] = {}
    for file, case in sorted(cases, key=lambda entry: entry[1].id):
        try:
            text = text_of(case, beside=beside)
            digests[case.id] = once("digest", text, partial(case.digest, defaults))
        except ValueError as error:  # of a number, a text or a template
            found.append(Problem(file, f"/{case.id}", f"it has no digest: {error}"))
        except RecursionError:
            found.append(Problem(file, f"/{case.id}", "it is nested too deeply"))
    _stop_if(found)
    return digests


# Texts that follow their schema. Most of a load is to see that again, and whoever loads copies with
# one change each, as tests do, has the other files unchanged.
_VALID: Final[set[tuple[str, bytes]]] = set()


def _document(root: Traversable, path: str, schema: str, found: list[Problem]) -> Any:
    place = root.joinpath(*path.split("/"))
    try:
        data = read_document(place, path)
    except SpecificationError as error:
        found += error.problems
        return None
    text = schema, sha256(place.read_bytes()).digest()
    if text not in _VALID:
        wrong = schemas.problems(schema, data, path, strict=True)
        found += wrong
        if not wrong:
            _VALID.add(text)
    return data


def _folder(
    root: Traversable, name: str, schema: str, found: list[Problem], ending: str = ".yaml"
) -> dict[str, Any]:
    names = layout.file_names(root, name, ending, found)
    return {f"{name}/{n}": _document(root, f"{name}/{n}", schema, found) for n in names}
