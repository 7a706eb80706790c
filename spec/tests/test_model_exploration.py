"""The searches: a sound space holds, planted faults are found by a shortest trace."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from codemode_spec.model.exploration import Move, Violation, expected, explore
from codemode_spec.model.faults import FAULTS
from codemode_spec.model.searches import spaces
from codemode_spec.model.spaces import Told
from codemode_spec.model.terms import HostBatch, HostCall, Refusal, Result
from codemode_spec.tables import load_tables

SPACES = {space.name: space for space in spaces()}


@pytest.mark.parametrize("name", ["batches", "any parent, excess queue"])
def test_a_small_space_is_searched_to_its_end(name: str) -> None:
    """Every invariant holds in every state, and every state can end."""
    found = explore(SPACES[name])
    assert found.violation is None
    assert (found.space, found.finals > 0) == (name, True)
    assert found.states > 1_000
    covered = {rule for trace in found.traces for move in trace for rule in move.covers}
    assert covered == found.covered
    for trace in found.traces:
        state = SPACES[name].initial()
        for move in trace:
            assert move.state in {other.state for other in SPACES[name].moves(state)}
            state = move.state


TRACES = {
    "refund": (
        "a call refused for its arguments does not pay for its units",
        ("execute_sent", "host_call call_id 1, operation read, valid False"),
    ),
    "slot-kept": (
        "a slot is lost",
        (
            "execute_sent",
            "host_call call_id 1, operation read",
            "host_call call_id 2, operation read",
        ),
    ),
    "high-water": (
        "an honest host_concurrency_limit is taken for uncaught",
        (
            "the program asks for open",
            "the program asks for read",
            "the program throws host_concurrency_limit",
            "the parent reads call 1",
            "the parent reads the result",
        ),
    ),
    "worker-lost": ("a slot of the server is lost", ("client 0 is admitted", "client 0 ends")),
}
"""A shortest trace of some faults."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_in_its_space(name: str) -> None:
    """By what it does, with a shortest way to it."""
    fault = FAULTS[name]
    space = next(s for s in spaces(fault.boundary, fault.shared) if s.name == fault.space)
    violation = explore(space).violation
    assert violation is not None
    assert violation.space == fault.space
    assert 2 <= len(violation.trace) <= 6
    if name in TRACES:
        assert (violation.invariant, violation.trace) == TRACES[name]


class Counting(NamedTuple):
    """A space that counts up to a number, where it ends or not."""

    last: int
    ends: bool = True
    name: str = "counting"

    def initial(self) -> int:
        """Nothing."""
        return 0

    def final(self, state: int) -> bool:
        """The last number, if there is an end."""
        return self.ends and state == self.last

    def moves(self, state: int):
        """One more, if there is one more."""
        if state < self.last:
            yield Move(f"count {state + 1}", state + 1, ("counted",))


def test_a_state_from_which_nothing_ends_is_a_violation() -> None:
    """The first one found, with the way to it."""
    violation = explore(Counting(2, ends=False)).violation
    assert violation == Violation("counting", "nothing ends from here", ())
    assert str(explore(Counting(2)).violation) == "None"


def test_a_space_without_bounds_is_an_error() -> None:
    """It is not silently searched in part."""
    with pytest.raises(OverflowError, match="counting: more than 5 states"):
        explore(Counting(10), most=5)


def test_a_violation_is_told_with_its_steps() -> None:
    """Numbered, one line each."""
    assert str(Violation("a space", "it is broken", ("first", "second"))) == (
        "a space: it is broken, after\n  1. first\n  2. second"
    )


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (Told("cancel", None), "cancel"),
        (Told("result", Result()), "result without a value"),
        (
            Told("result", Result(error=Refusal("pages_limit", "read", limit=1))),
            "result error pages_limit read 1",
        ),
        (
            Told("host_batch", HostBatch((HostCall(1, "read"), HostCall(2, "open", valid=False)))),
            "host_batch call_id 1, operation read, call_id 2, operation open, valid False",
        ),
    ],
)
def test_a_step_is_told_in_words(told: Told, text: str) -> None:
    """What is not said has its usual value."""
    assert str(told) == text


def test_every_cell_and_every_check_is_to_be_exercised() -> None:
    """Both tables of states by events, and each check that can fail, but for bytes and shapes."""
    wanted = expected(load_tables())
    assert len(set(wanted)) == len(wanted)
    assert "parent draining host_call" in wanted
    assert "parent_host_call pages failed" in wanted
    assert "parent_host_call json passed" in wanted
    assert "parent_host_call json failed" not in wanted
    assert "parent_host_call dispatch failed" not in wanted
