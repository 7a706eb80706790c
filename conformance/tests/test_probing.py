"""Probes beside the verdicts: powers, false claims, and where limits stop a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import codemode_spec
import pytest
from codemode_conformance import probing
from codemode_conformance.identity import Identity
from codemode_conformance.observation import End, Fault, Observation, Run, Value
from codemode_conformance.report.html_parts import chart
from codemode_conformance.report.words import measured
from codemode_conformance.summary import Summary
from codemode_conformance.trial import Attempt
from codemode_conformance.verdicts import CaseVerdict, Finding, LayerVerdict, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

SPECIFICATION = codemode_spec.shipped()
POWERS = [power["name"] for power in probing._data()["powers"]]


class Machine:
    """A role with some powers, which stops each limit where it is told to."""

    def __init__(self, powers: tuple[str, ...] = (), stops: Mapping[str, float] = {}) -> None:
        self.powers = powers
        self.stops = stops
        self.asked: list[tuple[str, int]] = []
        self.fault: Fault | None = None

    def run(self, case: codemode_spec.Case) -> Attempt:
        """What it does with one probe."""
        name = case.id.removeprefix("dia.probe-")
        if self.fault is not None:
            return Attempt(Observation(case.id, fault=self.fault), None, spoiled=True)
        if name == "powers":
            value = {power: power in self.powers for power in POWERS}
            run = Run("", End.VALUE, 1.0, Value(present=True, value=value))
        elif name == "limit-wall-time-ms":
            run = Run("", End.FAILURE, self.stops["wall_time_ms"], category="time")
        else:
            row = name.removeprefix("limit-").replace("-", "_")
            number = case.data["let"]["n"]
            self.asked.append((row, number))
            passes = number <= self.stops.get(row, float("inf"))
            run = Run("", End.VALUE if passes else End.FAILURE, 1.0, Value(present=True))
        return Attempt(Observation(case.id, runs=(run,)), None, spoiled=False)


def probed(
    machine: Machine,
    effective: Mapping[str, Any] = {},
    alternatives: Mapping[str, Any] = {},
    capabilities: tuple[str, ...] = ("op.value",),
    languages: tuple[str, ...] = ("javascript",),
) -> Summary:
    """What probes find of this machine."""
    identity = Identity(
        "t",
        "1",
        languages,
        (),
        {"script_style": "async", **alternatives},
        frozenset(capabilities),
        "typed",
    )
    policy = {row: {"value": value, "from": "documented"} for row, value in effective.items()}
    target: Any = None
    summary = Summary(SPECIFICATION, target, identity, policy, "", of=1)
    role: Any = machine
    probing.probe(role, summary)
    return summary


def test_powers_that_are_not_declared_are_told() -> None:
    """One that is declared is not."""
    found = probed(Machine(("process", "timers", "console")), alternatives={"timers": "present"})
    assert [power.name for power in found.powers.undeclared] == ["console", "process"]
    assert found.powers.false_claims == []
    assert found.powers.probed == POWERS
    found = probed(Machine(("timers",)), alternatives={"timers": "none"})
    assert found.powers.undeclared[0].text.endswith("; timers is declared as none")


def test_what_is_declared_and_missing_is_a_false_claim() -> None:
    """Told by name."""
    found = probed(Machine(), alternatives={"timers": "present"})
    assert [power.name for power in found.powers.false_claims] == ["timers = present"]


def test_what_a_target_refuses_although_it_declares_it_is_a_false_claim() -> None:
    """A case that needs only what is declared was evaded; one that needs more was not asked."""
    identity = Identity(
        "t", "1", ("javascript",), ("wall_time_ms",), {}, frozenset({"policy.wall_time_ms"}), "text"
    )
    target: Any = None
    summary = Summary(SPECIFICATION, target, identity, {}, "", of=1)
    for name, reason in (
        ("tim.deadline-kept", "the target cannot set wall_time_ms"),
        ("cal.total", "the target cannot set host_calls"),
        ("tim.sync-loop", "the target refuses wall_time_ms = 1"),
    ):
        case = SPECIFICATION.cases[name]
        layers = tuple(
            LayerVerdict(
                layer, SPECIFICATION.requirements[id_], Finding(Verdict.UNSUPPORTED, reason)
            )
            for layer, id_ in case.requirements.items()
        )
        summary.add(CaseVerdict(case, layers, Observation(case.id, unsupported=reason)))
    (claim,) = probing._evasions(summary)
    assert claim.name == "the target cannot set wall_time_ms"
    assert claim.text.startswith("asked by tim.deadline-kept")


@pytest.mark.parametrize("stop", [1, 90, 127, 128, 129, 200, 511])
def test_the_stop_of_a_limit_is_found_exactly(stop: int) -> None:
    """Below, at and above the claim, in a bounded number of runs."""
    machine = Machine(stops={"value_depth": stop})
    (found,) = probed(machine, {"value_depth": 128}).accuracy
    assert (found.row, found.claimed, found.observed) == ("value_depth", 128, stop)
    assert len(machine.asked) <= probing.MOST_STEPS


def test_a_limit_that_is_right_takes_two_runs() -> None:
    """At the claim and one above it."""
    machine = Machine(stops={"final_result_bytes": 49152})
    probed(machine, {"final_result_bytes": 49152})
    assert [number for _, number in machine.asked] == [49152, 49153]


def test_what_cannot_be_measured_says_why() -> None:
    """No stop, no number, too large, not asked, a fault: never an invented figure."""
    assert (
        probed(Machine(), {"value_depth": 8}).accuracy[0].note == "no stop up to 4 times the claim"
    )
    assert probed(Machine(), {"value_depth": "unknown"}).accuracy[0].note == "no number is claimed"
    big = probed(Machine(), {"memory_bytes": 1 << 40}).accuracy[0]
    assert (big.observed, big.note) == (None, "too large to be probed")
    none = probed(Machine(), {"host_calls": 16}, capabilities=()).accuracy[0]
    assert (none.observed, none.note) == (None, "not asked: needs op.value")
    machine = Machine()
    machine.fault = Fault("adapter", "it stumbled")
    broken = probed(machine, {"value_depth": 8}).accuracy[0]
    assert (broken.observed, broken.note) == (None, "it stumbled")
    assert probed(Machine(("process",)), languages=("python",)).powers.probed == []


def test_time_is_measured_where_it_can_be_set_or_is_short() -> None:
    """By the clock of the suite."""
    machine = Machine(stops={"wall_time_ms": 512.0})
    settable = ("policy.wall_time_ms",)
    (found,) = probed(machine, {"wall_time_ms": 30_000}, capabilities=settable).accuracy
    assert (found.claimed, found.observed, found.note) == (500, 512.0, "set for this probe")
    (found,) = probed(machine, {"wall_time_ms": 1_000}).accuracy
    assert (found.claimed, found.observed) == (1_000, 512.0)
    (found,) = probed(machine, {"wall_time_ms": 30_000}).accuracy
    assert (found.observed, found.note) == (None, "too long to be probed, and it cannot be set")


def test_what_was_measured_is_told_and_drawn() -> None:
    """The claim is the middle of the scale; what lies beyond it stays on it."""
    one: dict[str, Any] = {"row": "r", "unit": "ms", "claimed": 500, "observed": 550.0, "note": ""}
    assert measured(one) == "claimed 500, observed 550 (+10.0%) ms"
    assert measured({**one, "observed": None, "note": "why"}) == "claimed 500 ms; why"
    assert measured({**one, "claimed": "none"}) == "claimed: none, observed 550 ms"
    assert "cx='120.0'" in chart(100, 100)
    assert "cx='232.0'" in chart(100, 10_000)
    assert "cx='8.0'" in chart(100, 1)
    assert "circle" not in chart("unknown", 5) + chart(100, None)
