"""The order of checks beside the model: each check has a test, and each test a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codemode_spec.failures import Problem
from codemode_spec.model import calls, results, server, values, worker

if TYPE_CHECKING:
    from codemode_spec.tables import Tables

_FILE: Final = "order.json"
PLACES: Final = {
    "parent": (server.TOOL_CALL, calls.CALL, values.VALUE, results.RESULT),
    "worker": (worker.CALL, worker.RESULT),
}
"""What the model walks through, by the end that decides there."""


def problems(tables: Tables) -> list[Problem]:
    """Places and checks of the table that the model does not know, and those that it misses."""
    known = {tests.place: (end, tests) for end, places in PLACES.items() for tests in places}
    found = [
        Problem(_FILE, f"/places/{name}", "the model knows no such place; remove it")
        for name in tables.places
        if name not in known
    ]
    for name, (end, procedure) in known.items():
        path = f"/places/{name}"
        place = tables.places.get(name)
        if place is None:
            found.append(Problem(_FILE, path, "the place is missing"))
            continue
        if place.end != end:
            found.append(Problem(_FILE, f"{path}/end", f"the {end} decides here"))
        listed = [check.check for check in place.checks]
        found += [
            Problem(_FILE, f"{path}/{check}", "the model has no test for this check; remove it")
            for check in listed
            if check not in procedure.tests
        ]
        found += [
            Problem(_FILE, f"{path}/{check}", "the check is missing")
            for check in procedure.tests
            if check not in listed
        ]
    return found
