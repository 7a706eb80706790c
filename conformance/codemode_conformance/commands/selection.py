"""Choosing cases on the command line."""

from __future__ import annotations

import difflib
import json
from importlib.resources import files
from typing import TYPE_CHECKING

from codemode_spec.revisions import FOLDER, age

from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from codemode_spec import Case, Specification


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The arguments that choose cases; what is given of each kind must hold together."""
    chosen = parser.add_argument_group("choose cases (default: all)")
    chosen.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="ID",
        help="this case, or all variants of it; may be given more than once",
    )
    chosen.add_argument(
        "-k",
        dest="words",
        action="append",
        default=[],
        metavar="WORD",
        help="cases with this word in id or title; given more than once, all of them",
    )
    chosen.add_argument(
        "--area",
        action="append",
        default=[],
        type=str.upper,
        metavar="AREA",
        help="cases of this area, as TIM; may be given more than once",
    )
    chosen.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="CLASS",
        help="cases that judge a requirement of this class, as containment",
    )
    chosen.add_argument(
        "--requirement",
        action="append",
        default=[],
        type=str.upper,
        metavar="ID",
        help="cases that judge this requirement; may be given more than once",
    )
    chosen.add_argument(
        "--since-revision",
        metavar="REVISION",
        help="cases that are new or changed since this frozen revision of the specification",
    )


def select(specification: Specification, arguments: argparse.Namespace) -> list[Case]:
    """The chosen cases in the order of ids; UsageError where nothing can be meant."""
    cases = specification.cases
    wanted_ids = _ids(cases, arguments.case)
    areas = {case.area for case in cases.values()}
    classes = {item.klass for item in specification.requirements.values()}
    _known("--area", arguments.area, areas)
    _known("--class", arguments.classes, classes)
    for name in arguments.requirement:
        if name not in specification.requirements:
            near = nearest(name, specification.requirements)
            raise UsageError(f"--requirement {name}: there is no such requirement{near}")
    older = _older(arguments.since_revision)
    chosen = [
        case
        for name, case in cases.items()
        if (not arguments.case or name in wanted_ids)
        and (not arguments.area or case.area in arguments.area)
        and (not arguments.classes or _classes(case, specification) & set(arguments.classes))
        and (
            not arguments.requirement
            or set(case.requirements.values()) & set(arguments.requirement)
        )
        and older.get(name) != specification.digests[name]
        and all(word.lower() in f"{name} {case.title}".lower() for word in arguments.words)
    ]
    if not chosen:
        raise UsageError("no case is chosen by all of that; `cmconf list` shows them all")
    return chosen


def _older(revision: str | None) -> dict[str, str]:
    """The digests that cases had in this frozen revision; none are older than no revision."""
    if revision is None:
        return {}
    entries = list((files("codemode_spec") / FOLDER).iterdir())
    known = {e.name.removesuffix(".json"): e for e in entries if e.name != "index.json"}
    if revision not in known:
        there = ", ".join(sorted(known, key=age))
        raise UsageError(f"--since-revision {revision}: it is not frozen; known: {there}")
    digests: dict[str, str] = json.loads(known[revision].read_text(encoding="utf-8"))["cases"]
    return digests


def _classes(case: Case, specification: Specification) -> set[str]:
    return {specification.requirements[name].klass for name in case.requirements.values()}


def _known(option: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"{option} {name}: there is none; known: {', '.join(sorted(known))}")


def _ids(cases: Mapping[str, Case], given: Iterable[str]) -> set[str]:
    return {case.id for wanted in given for case in variants_of(wanted, cases, "--case ")}


def variants_of(wanted: str, cases: Mapping[str, Case], option: str = "") -> list[Case]:
    """The case of this id, or all variants of it; UsageError where there is none."""
    if wanted in cases:
        return [cases[wanted]]
    found = [case for name, case in cases.items() if name == f"{wanted}.{case.variant}"]
    if found:
        return found
    told = f"{option}{wanted}" if wanted else f"{option}''"
    if wanted.rstrip(".").upper() in {case.area for case in cases.values()}:
        raise UsageError(f"{told}: it is an area, not a case; `cmconf list` shows its cases")
    raise UsageError(f"{told}: there is no such case{nearest(wanted, cases)}")


def nearest(wanted: str, known: Iterable[str]) -> str:
    """A hint to the name that was probably meant, as the rest of a message."""
    near = difflib.get_close_matches(wanted, known, n=1)
    return f"; did you mean {near[0]}?" if near else "; `cmconf list` shows them all"
