"""What a schema cannot say of tables: names that must exist, cells that must be there."""

from __future__ import annotations

from itertools import product
from string import Formatter
from typing import TYPE_CHECKING, Any

from codemode_spec.failures import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    found = check_alternatives(file, "/alternatives", profile.alternatives, tables)
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


def check_alternatives(
    file: str, path: str, chosen: Mapping[str, str | tuple[str, ...]], tables: Tables
) -> list[Problem]:
    """Alternatives that do not exist, or have no such value."""
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
