"""What a target is asked follows from what it declares."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import codemode_spec
import pytest
from codemode_conformance.applicability import obstacle
from codemode_conformance.identity import Identity

SPECIFICATION = codemode_spec.load()
EVERYTHING = Identity(
    target="t",
    version="1",
    languages=("javascript",),
    settable=("wall_time_ms", "host_calls"),
    alternatives={**SPECIFICATION.tables.profiles["process-async"].alternatives},
    capabilities=frozenset(
        {
            *("contract", "op.value", "op.fail", "op.delay", "op.never", "op.native", "op.ledger"),
            *("op.many", "raw", "cancel.native", "parallel.2", "policy.wall_time_ms"),
            *("policy.host_calls", "policy.host_result_bytes"),
            *("policy.cumulative_host_result_bytes", "policy.stack_bytes", "policy.raw"),
        }
    ),
    mapping="typed",
    host_values=(
        *("NaN", "Infinity", "-0", "bigint", "undefined", "hole", "function", "symbol", "cycle"),
        *("symbol_key", "Date", "RegExp", "Map", "Set", "WeakMap", "Error", "ArrayBuffer"),
        *("typed_array", "lone_surrogate"),
    ),
)


def test_a_target_that_declares_everything_is_asked_everything() -> None:
    """No shipped case needs what cannot be declared."""
    tables = SPECIFICATION.tables
    schema = json.loads((files("codemode_spec") / "schema" / "adapter.schema.json").read_text())
    named = schema["$defs"]["capability"]["anyOf"][0]["enum"]
    everything = {*named, *(f"policy.{name}" for name in tables.rows), "parallel.3"}
    for case in SPECIFICATION.cases.values():
        chosen = {
            name: values if tables.alternatives[name].is_set else values[0]
            for name, values in case.alternatives.items()
        }
        target = replace(
            EVERYTHING,
            capabilities=EVERYTHING.capabilities | everything,
            alternatives={**EVERYTHING.alternatives, **chosen},
            languages=("javascript", "python"),
        )
        for role in case.roles:
            assert obstacle(case, target, role) is None, case.id


@pytest.mark.parametrize(
    ("case", "change", "reason"),
    [
        ("cal.total", {"capabilities": frozenset()}, "needs op.value"),
        (
            "tim.no-way-on.catch",
            {"capabilities": frozenset()},
            "needs policy.wall_time_ms or options.timeout",
        ),
        ("tim.no-way-on.catch", {"capabilities": frozenset({"options.timeout"})}, None),
        ("tim.job-chain.await", {"alternatives": {"script_style": "sync"}}, "script_style is sync"),
        (
            "val.absent-host-result",
            {"host_values": (), "alternatives": {"values": "json", "operation_failure": "throw"}},
            "the adapter builds no undefined",
        ),
        ("tim.job-chain.await", {"alternatives": {}}, "script_style is not declared"),
        ("iso.replace-everything", {"languages": ("python",)}, "no program in python"),
        ("val.odd-host-result.bigint", {"host_values": ("NaN",)}, "the adapter builds no bigint"),
        ("val.odd-host-result.nan", {"host_values": ("NaN",)}, None),
        ("ret.value.zero", {"capabilities": frozenset(), "settable": ()}, None),
    ],
)
def test_a_case_is_not_put_to_a_target_that_lacks_what_it_needs(case, change, reason) -> None:
    """The reason is short, so that a report can count by it."""
    identity = replace(EVERYTHING, **change)
    assert obstacle(SPECIFICATION.cases[case], identity, "engine") == reason


def test_a_case_of_another_role_is_not_asked() -> None:
    """Cases name the roles in which they make sense."""
    assert (
        obstacle(SPECIFICATION.cases["cal.reply-order"], EVERYTHING, "server")
        == "not for the server role"
    )
