"""A refusal by what a case has set, or is about, is its verdict; any other says nothing of it."""

from __future__ import annotations

from typing import Any

import pytest
from codemode_conformance.observation import End, Fault
from codemode_conformance.refusals import is_verdict


@pytest.mark.parametrize(
    ("parts", "code", "kind", "expected"),
    [
        ({"set": {"executions_per_minute": 1}}, "rate_limited", "rate", True),
        ({"set": {"server_workers": 1}}, "server_workers_limit", "", True),
        ({"set": {"server_workers": 1}}, "server_invocations_limit", "", False),
        ({}, "rate_limited", "rate", False),
        ({"set": {"value_depth": 1}}, None, "", False),
        ({"needs": ["admission"]}, "pattern_blocked", "filter", True),
        ({"needs": ["admission"]}, "rate_limited", "rate", False),
        ({}, "pattern_blocked", "filter", False),
    ],
)
def test_a_refusal_is_a_verdict_where_it_is_asked_for(
    case_of: Any, parts: dict[str, Any], code: str | None, kind: str, expected: object
) -> None:
    """By the code of a row that is set, or by the filter that the case is about."""
    rate, filtered = kind == "rate", kind == "filter"
    assert is_verdict(case_of(**parts), code, rate=rate, filtered=filtered) is expected


def test_a_server_is_judged_by_the_limit_that_the_case_has_set(server: Any) -> None:
    """The same refusal in a case that sets nothing is a fault of the surroundings."""
    answer = {
        "success": {"pointer": "/structured/success", "equals": True},
        "value": {"pointer": "/structured/result"},
        "message": {"pointer": "/structured/error"},
        "code": {"pointer": "/structured/code"},
        "failure": [{"code": "deadline_exceeded", "category": "capacity", "refusal": "rate"}],
    }
    role = server(answer=answer)
    seen = role.see("fail deadline_exceeded late", set={"wall_time_ms": 900})
    assert seen.fault is None
    assert seen.runs[0].end is End.FAILURE
    seen = role.see("fail deadline_exceeded late")
    assert seen.fault == Fault("surroundings", "the target refused for its rate")
