"""What a schema cannot say of requirements and cases: names that must exist, ids used once."""

from __future__ import annotations

import json
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import schemas, templates
from codemode_spec.cases import WRAPPER
from codemode_spec.coverage import sides_of
from codemode_spec.expansion import blocks_of, expected_layers
from codemode_spec.failures import NotApplicable, Problem, TemplateError
from codemode_spec.revisions import age
from codemode_spec.seen import once, text_of, text_of_rows
from codemode_spec.table_checks import check_alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec.cases import Case, ReadyCase
    from codemode_spec.requirements import Requirement
    from codemode_spec.tables import Tables

POLICY_AREA: Final = "POL"


def check_requirements(
    entries: Iterable[tuple[str, Requirement]], tables: Tables, revision: str
) -> list[Problem]:
    """Ids in their area and used once, and alternatives, codes, rows and revisions that exist."""
    found = []
    seen: dict[str, str] = {}
    for file, item in entries:
        path = f"/{item.id}"
        if item.id in seen:
            found.append(Problem(file, path, f"the id stands in {seen[item.id]} already"))
        seen[item.id] = file
        if item.id.split("-")[1] != item.area:
            found.append(Problem(file, path, f"the id does not belong to area {item.area}"))
        if age(item.since) > age(revision):
            reason = f"{item.since} is later than this revision, {revision}"
            found.append(Problem(file, f"{path}/since", reason))
        found += check_alternatives(file, f"{path}/alternatives", item.alternatives, tables)
        found += [
            Problem(file, f"{path}/{key}", f"there is no {what} {name}")
            for key, what, names, known in (
                ("codes", "error code", item.codes, tables.errors),
                ("rows", "policy row", item.rows, tables.rows),
            )
            for name in names
            if name not in known
        ]
    return found


def check_cases(
    entries: Iterable[tuple[str, Case]], requirements: Mapping[str, Requirement], tables: Tables
) -> list[Problem]:
    """Ids, requirements, layers, alternatives, rows, and templates that resolve."""
    found = []
    seen: dict[str, str] = {}
    groups: dict[tuple[str, str], list[Case]] = {}
    beside = _known_to_templates(tables)
    for file, case in entries:
        path = f"/{case.id}"
        if case.id in seen:
            found.append(Problem(file, path, f"the id stands in {seen[case.id]} already"))
        seen[case.id] = file
        if case.id[:3] != case.area.lower():
            found.append(Problem(file, path, f"the id does not belong to area {case.area}"))
        for layer, name in case.requirements.items():
            where = f"{path}/requirements/{layer}"
            if name not in requirements:
                found.append(Problem(file, where, f"there is no requirement {name}"))
            elif not set(case.roles) & set(requirements[name].roles):
                found.append(Problem(file, where, f"{name} is not judged in these roles"))
        found += check_alternatives(file, f"{path}/alternatives", case.alternatives, tables)
        # A case of raw policies may be about a row that there is not.
        named = {} if ("policy.raw",) in case.needs and case.area == POLICY_AREA else case.set
        for name in (*case.effective, *named, *case.prefer, *case.data.get("least", {})):
            if name not in tables.rows:
                found.append(Problem(file, path, f"{name} is no row of the policy table"))
        found += [
            Problem(file, f"{path}/needs", f"there is no policy row {name.removeprefix('policy.')}")
            for name in dict.fromkeys(name for need in case.needs for name in need)
            if name.startswith("policy.") and name != "policy.raw" and name[7:] not in tables.rows
        ]
        found += _check_edges(file, case, requirements, tables)
        found += _check_blocks(file, case, tables)
        found += once(
            f"templates of {file}",
            text_of(case, beside=beside),
            partial(_check_templates, file, case, tables),
        )
        groups.setdefault((file, ".".join(case.id.split(".")[:2])), []).append(case)
    for (file, _), variants in groups.items():
        found += _check_layers(file, variants)
    return found


def _check_edges(
    file: str, case: Case, requirements: Mapping[str, Requirement], tables: Tables
) -> list[Problem]:
    """Edges of rows that exist, that the case knows, and of which it judges a requirement."""
    found = []
    known = {*case.effective, *case.set, *case.prefer, *case.data.get("least", {})}
    stated = {
        row
        for name in case.requirements.values()
        if name in requirements
        for row in requirements[name].rows
    }
    for name, sides in case.edges.items():
        row = tables.rows.get(name)
        where = f"/{case.id}/edges/{name}"
        if row is None:
            found.append(Problem(file, where, f"{name} is no row of the policy table"))
            continue
        if not row.fixed and name not in known:
            reason = "its number is not known: name it in effective, set, prefer or least"
            found.append(Problem(file, where, reason))
        if name not in stated:
            reason = f"no requirement of the case has {name} in its `rows`; judge one, or remove it"
            found.append(Problem(file, where, reason))
        found += [
            Problem(file, where, f"no case can stand exactly {side} this limit; remove it")
            for side in sides
            if side not in sides_of(row)
        ]
    return found


def check_named(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Problem]:
    """Every case names a requirement; told here by its id, the schema knows only its place."""
    advice = "it names no requirement; say in `requirements` which one each layer judges"
    return [
        Problem(file, f"/{entry['id']}", advice)
        for file, entry in entries
        if "id" in entry and not entry.get("requirements")
    ]


def _check_layers(file: str, variants: list[Case]) -> list[Problem]:
    """Every layer named is judged in some variant, and nothing is judged without a requirement."""
    data = variants[0].data
    judged = set().union(*(expected_layers(case.data, case.variant) for case in variants))
    named = set(data["requirements"])
    where = f"/{variants[0].id}/requirements"
    return [
        *(
            Problem(file, f"{where}/{name}", "nothing is expected")
            for name in sorted(named - judged)
        ),
        *(
            Problem(file, where, f"{name} is expected, but no requirement is named")
            for name in sorted(judged - named)
        ),
    ]


def _check_blocks(file: str, case: Case, tables: Tables) -> list[Problem]:
    found = []
    for path, block in blocks_of(case.data):
        when = {name: value for name, value in block.get("when", {}).items() if name != "variant"}
        chosen = {n: (v,) if isinstance(v, str) else tuple(v) for n, v in when.items()}
        found += check_alternatives(file, f"/{case.id}{path}/when", chosen, tables)
        for part in (block, *block.get("any_of", ())):
            code = part.get("error", {}).get("code")
            if code is not None and code not in tables.errors:
                found.append(Problem(file, f"/{case.id}{path}", f"there is no code {code}"))
    return found


def _declared(case: Case) -> set[str]:
    return {*case.effective, *case.set, *case.prefer, WRAPPER}


def _known_to_templates(tables: Tables) -> str:
    """What the check of templates asks of the tables."""
    rows = {name: row.default for name, row in tables.rows.items()}
    return text_of_rows(rows | {name: list(a.values) for name, a in tables.alternatives.items()})


def _check_templates(file: str, case: Case, tables: Tables) -> list[Problem]:
    """Templates use declared rows and `let` names, and resolve for every choice of alternatives."""
    path = f"/{case.id}"
    lets = set(case.data.get("let", {}))
    try:
        used = templates.names_in({k: v for k, v in case.data.items() if k != "let"})
        used |= templates.names_in(list(case.data.get("let", {}).values()))
    except TemplateError as error:
        return [Problem(file, path, str(error))]
    found = [
        Problem(file, path, f"a template uses {name}: name it in effective, set, prefer or let")
        for name in sorted(used - lets - _declared(case))
    ]
    if found:
        return found
    names = {name for _, block in blocks_of(case.data) for name in block.get("when", {})} - {
        "variant"
    }
    names |= set(case.alternatives) | {"script_style"}
    if not names <= set(tables.alternatives):
        return []  # told already
    rows = {name: row.default for name, row in tables.rows.items()} | {WRAPPER: 0}
    ordered = sorted(names)
    tried = failed = 0
    reasons: list[str] = []
    scripts: set[str] = set()
    for values in product(*(tables.alternatives[name].values for name in ordered)):
        alternatives: dict[str, str | tuple[str, ...]] = dict(zip(ordered, values, strict=True))
        if any(alternatives[n] not in allowed for n, allowed in case.alternatives.items()):
            continue
        for language in case.languages:
            tried += 1
            try:
                ready = case.resolve(rows, alternatives, language)
            except NotApplicable as reason:
                failed += 1
                reasons.append(str(reason))
            else:
                scripts |= _scripts(ready)
    if tried == failed:
        found.append(Problem(file, path, reasons[0] if reasons else "it fits no alternatives"))
    found += [Problem(file, path, r) for r in dict.fromkeys(reasons) if "blocks of the" in r]
    return found + _check_scripts(file, case, scripts)


def _scripts(ready: ReadyCase) -> set[str]:
    runs = (*ready.runs, *ready.then)
    return {json.dumps(run.script) for run in runs if isinstance(run.script, list)}


def _check_scripts(file: str, case: Case, scripts: set[str]) -> list[Problem]:
    """The steps of a scripted end, with their templates filled."""
    kinds = {"parent": "exchange", "client": "client"}
    kind = next((kinds[name] for name in kinds if name in case.data), "scenario")
    return [
        Problem(file, f"/{case.id}/steps/{number}{path}", reason)
        for script in sorted(scripts)
        for number, step in enumerate(json.loads(script))
        for path, reason in _step_faults(kind, json.dumps(step))
    ]


@cache
def _step_faults(kind: str, text: str) -> list[tuple[str, str]]:
    """What is wrong with one step, as path and reason; most cases have the same ones."""
    step = json.loads(text)
    known = schemas.schema(kind)["$defs"]["step"]["oneOf"]
    names = [entry["$ref"].rpartition("/")[2] for entry in known]
    named = [name for name in names if name in step]
    if len(named) != 1:
        return [("", f"a step has one of: {', '.join(names)}")]
    found = schemas.problems(kind, step, "", named[0], strict=True)
    return [(one.path, one.reason) for one in found]
