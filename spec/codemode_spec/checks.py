"""What a schema cannot say: names that must exist, tables that must be whole, ids used once."""

from __future__ import annotations

from itertools import product
from string import Formatter
from typing import TYPE_CHECKING, Any

from codemode_spec import templates
from codemode_spec.cases import WRAPPER
from codemode_spec.coverage import sides_of
from codemode_spec.expansion import blocks_of, expected_layers
from codemode_spec.failures import NotApplicable, Problem, TemplateError
from codemode_spec.revisions import age

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec.cases import Case
    from codemode_spec.requirements import Requirement
    from codemode_spec.tables import Endpoint, Place, Profile, Row, Tables


def check_tables(tables: Tables, profiles: Mapping[str, Any]) -> list[Problem]:
    """Faults of the policy, error, protocol and alternatives tables and of the profiles."""
    found = []
    for row in tables.rows.values():
        found += _check_row(row, tables.rows, "policy.json", row.error, tables)
    for code in tables.errors.values():
        path = f"/errors/{code.code}"
        if (code.category == "by_reason") != bool(code.category_by_reason):
            found.append(Problem("errors.json", path, "by_reason and category_by_reason differ"))
        for name in _names(code.message) - {
            n for n, kind in code.fields.items() if kind == "required"
        }:
            found.append(
                Problem("errors.json", path, f"the message uses {name}, no required field")
            )
    for endpoint in tables.endpoints.values():
        found += _check_endpoint(endpoint, tables)
    for place in tables.places.values():
        found += _check_place(place, tables)
    for (file, data), profile in zip(profiles.items(), tables.profiles.values(), strict=True):
        found += _check_profile(file, data, profile, tables)
    return found


def _names(message: str) -> set[str]:
    """What stands in the braces of a message; the message itself where they do not pair."""
    try:
        parts = list(Formatter().parse(message))
    except ValueError:
        return {message}
    return {
        f"{name}{f'!{conversion}' if conversion else ''}{f':{form}' if form else ''}"
        for _, name, form, conversion in parts
        if name is not None
    }


def _check_row(
    row: Row, rows: Mapping[str, Row], file: str, error: str | None, tables: Tables
) -> list[Problem]:
    path = f"/rows/{row.name}"
    minimum = row.minimum
    if isinstance(minimum, str):
        if minimum not in rows:
            return [Problem(file, path, f"the minimum names {minimum}, which is no row")]
        minimum = rows[minimum].minimum
    found = []
    if isinstance(minimum, int) and not minimum <= row.default <= row.absolute_maximum:
        found.append(Problem(file, path, "minimum <= default <= absolute_maximum does not hold"))
    if row.fixed and not row.default == minimum == row.absolute_maximum:
        found.append(Problem(file, path, "a fixed row has one value: minimum, default and maximum"))
    if row.zero_allowed != (minimum == 0):
        found.append(Problem(file, path, "zero_allowed and a minimum of 0 go together"))
    if error is not None and error not in tables.errors:
        found.append(Problem(file, path, f"the error {error} is not in errors.json"))
    return found


def _check_endpoint(endpoint: Endpoint, tables: Tables) -> list[Problem]:
    path = f"/endpoints/{endpoint.name}/transitions"
    found = []
    for state, event in product(endpoint.states, endpoint.events):
        entry = endpoint.transitions.get(state, {}).get(event)
        where = f"{path}/{state}/{event}"
        if entry is None:
            found.append(Problem("protocol.json", where, "there is no answer"))
        elif entry.next is not None and entry.next not in endpoint.states:
            found.append(Problem("protocol.json", where, f"{entry.next} is no state"))
        elif entry.error is not None and entry.error not in tables.errors:
            found.append(Problem("protocol.json", where, f"{entry.error} is not in errors.json"))
    found += [
        Problem("protocol.json", f"{path}/{state}/{event}", "no such state or event is declared")
        for state, row in endpoint.transitions.items()
        for event in row
        if state not in endpoint.states or event not in endpoint.events
    ]
    for state in (endpoint.initial, endpoint.final):
        if state not in endpoint.states:
            found.append(Problem("protocol.json", path, f"{state} is no state"))
    if not found:
        found += _check_ways(endpoint, path)
    return found


def _check_ways(endpoint: Endpoint, path: str) -> list[Problem]:
    """Every state is reached from the initial one, and the final one is never left."""
    reached = [endpoint.initial]
    for state in reached:
        for entry in endpoint.transitions[state].values():
            ends = entry.error is not None or entry.exit is not None
            after = endpoint.final if ends else entry.next or state
            if after not in reached:
                reached.append(after)
    return [
        *(
            Problem("protocol.json", f"{path}/{state}", "no event leads to this state")
            for state in endpoint.states
            if state not in reached
        ),
        *(
            Problem("protocol.json", f"{path}/{endpoint.final}/{event}", "the end is left again")
            for event, entry in endpoint.transitions[endpoint.final].items()
            if entry.next not in (None, endpoint.final) or entry.error is not None
        ),
    ]


def _check_place(place: Place, tables: Tables) -> list[Problem]:
    """Codes and rows that exist, names used once, and answers that the policy table gives too."""
    found = []
    seen = set()
    for check in place.checks:
        path = f"/places/{place.name}/{check.check}"
        if check.check in seen:
            found.append(Problem("order.json", path, "the place has this check already"))
        seen.add(check.check)
        if check.code is not None and check.code not in tables.errors:
            found.append(Problem("order.json", path, f"{check.code} is not in errors.json"))
        coded = check.code is not None or check.row is not None
        if check.answer is not None and (check.answer == "drop") == coded:
            reason = "what is dropped has no code, and any other answer has one, or a row with one"
            found.append(Problem("order.json", path, reason))
        if check.event is not None and check.event not in tables.endpoints[place.end].events:
            found.append(Problem("order.json", path, f"{check.event} is no event of {place.end}"))
        if check.row is not None and check.row not in tables.rows:
            found.append(Problem("order.json", path, f"there is no row {check.row}"))
        elif check.row is not None:
            reactions = {
                enforcer.on_exceed
                for enforcer in tables.rows[check.row].enforcers
                if enforcer.end == place.end
            }
            # A queue refuses in the end, too.
            if check.answer not in reactions and not (
                check.answer == "reject_call" and "queue" in reactions
            ):
                found.append(
                    Problem(
                        "order.json",
                        path,
                        f"the answer is {check.answer}; {place.end} of {check.row} has "
                        f"{', '.join(sorted(reactions)) or 'no part in it'}",
                    )
                )
    return found


def _check_profile(
    file: str, data: Mapping[str, Any], profile: Profile, tables: Tables
) -> list[Problem]:
    found = _check_alternatives(file, "/alternatives", profile.alternatives, tables)
    for name, value in profile.alternatives.items():
        known = tables.alternatives.get(name)
        if known is not None and known.is_set == isinstance(value, str):
            reason = "several may be chosen: write a list" if known.is_set else "choose one value"
            found.append(Problem(file, f"/alternatives/{name}", reason))
    for name in sorted(set(tables.alternatives) - set(profile.alternatives)):
        found.append(Problem(file, "/alternatives", f"{name} is not chosen"))
    for name in data["rows"]:
        if name not in profile.rows:
            found.append(Problem(file, f"/rows/{name}", "the policy table has no such row for it"))
    for row in profile.rows.values():
        found += _check_row(row, profile.rows, file, row.error, tables)
    return found


def _check_alternatives(
    file: str, path: str, chosen: Mapping[str, str | tuple[str, ...]], tables: Tables
) -> list[Problem]:
    found = []
    for name, value in chosen.items():
        alternative = tables.alternatives.get(name)
        if alternative is None:
            found.append(Problem(file, f"{path}/{name}", "there is no such alternative"))
            continue
        values = (value,) if isinstance(value, str) else value
        found += [
            Problem(
                file, f"{path}/{name}", f"{item!r} is not one of: {', '.join(alternative.values)}"
            )
            for item in values
            if item not in alternative.values
        ]
    return found


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
        found += _check_alternatives(file, f"{path}/alternatives", item.alternatives, tables)
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
        found += _check_alternatives(file, f"{path}/alternatives", case.alternatives, tables)
        for name in (*case.effective, *case.set, *case.prefer, *case.data.get("least", {})):
            if name not in tables.rows:
                found.append(Problem(file, path, f"{name} is no row of the policy table"))
        found += [
            Problem(file, f"{path}/needs", f"there is no policy row {name.removeprefix('policy.')}")
            for name in dict.fromkeys(name for need in case.needs for name in need)
            if name.startswith("policy.") and name != "policy.raw" and name[7:] not in tables.rows
        ]
        found += _check_edges(file, case, requirements, tables)
        found += _check_blocks(file, case, tables)
        found += _check_templates(file, case, tables)
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
        found += _check_alternatives(file, f"/{case.id}{path}/when", chosen, tables)
        for part in (block, *block.get("any_of", ())):
            code = part.get("error", {}).get("code")
            if code is not None and code not in tables.errors:
                found.append(Problem(file, f"/{case.id}{path}", f"there is no code {code}"))
    return found


def _declared(case: Case) -> set[str]:
    return {*case.effective, *case.set, *case.prefer, WRAPPER}


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
    for values in product(*(tables.alternatives[name].values for name in ordered)):
        alternatives: dict[str, str | tuple[str, ...]] = dict(zip(ordered, values, strict=True))
        if any(alternatives[n] not in allowed for n, allowed in case.alternatives.items()):
            continue
        for language in sorted({language for p in case.programs for language in p}):
            tried += 1
            try:
                case.resolve(rows, alternatives, language)
            except NotApplicable as reason:
                failed += 1
                reasons.append(str(reason))
    if tried == failed:
        found.append(Problem(file, path, reasons[0] if reasons else "it fits no alternatives"))
    found += [Problem(file, path, r) for r in dict.fromkeys(reasons) if "blocks of the" in r]
    return found
