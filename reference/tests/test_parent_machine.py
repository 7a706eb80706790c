"""A parent as a worker sees it: any steps in any order, and what holds after each of them.

Two invocations run side by side, so that nothing of one is ever seen by the other. The expected
state is that of `protocol.json`; the account is kept by the test from what the parent does.
"""

import json
from functools import cache
from types import SimpleNamespace
from typing import ClassVar

import pytest
from codemode_conformance.strategies import broken_frames, broken_lines, json_values, values_of_size
from codemode_reference import Operation, default_policy
from codemode_reference.actions import Closed, Dispatch, End, Settled, Write
from codemode_reference.ledger import Ledger
from codemode_reference.operations import Catalogue
from codemode_reference.rules import frame_rules
from codemode_reference.session import Session
from codemode_reference.values import measure
from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

TABLES = load_tables()
PARENT = TABLES.endpoints["parent"]
RULES = frame_rules(TABLES, TABLES.profiles[DEFAULT_PROFILE])
SMALL = {
    "host_calls": 3,
    "concurrent_host_calls": 2,
    "host_result_bytes": 64,
    "cumulative_host_result_bytes": 96,
}
POLICY = {**default_policy(), **SMALL}
EVENTS = sorted({event for row in PARENT.transitions.values() for event in row})
FRAMES = {
    "execute": {"v": 1, "source": "", "limits": {}, "alternatives": {}, "operations": []},
    "host_batch": {"call_id": 1, "calls": [{"operation": "get", "arguments": {}}]},
    "progress": {"current": 1},
    "host_result": {"call_id": 1, "ok": True, "value_present": True, "value": 1},
    "unknown": {},
}
ELAPSED = 1.0
HOSTILE = st.sampled_from((1, 1, 1, 1, 1, 0))
"""Mostly the second of the two breaks the rules, so that the first gets anywhere."""

DEPTH = POLICY["value_depth"]


async def unused(arguments):
    """What an operation does is a step of the machine."""
    raise AssertionError(arguments)


CATALOGUE = Catalogue([Operation("get", unused, "read", {})])


class Watched:
    """One invocation with the books that the test keeps of it."""

    def __init__(self, number):
        self.number = number
        self.session = Session(number, POLICY, CATALOGUE, PARENT, RULES)
        self.state = PARENT.initial
        self.calls = 0
        self.open = set()
        self.dispatched = set()
        self.delivered = 0
        self.ends = []

    def line(self, kind, **fields):
        """A frame of this invocation as bytes."""
        return json.dumps({"type": kind, "invocation_id": self.number, **fields}).encode() + b"\n"

    def took(self, actions):
        """Enter what the parent did into the books."""
        for action in actions:
            assert not self.ends, "nothing happens after the end"
            if isinstance(action, End):
                self.ends.append(action.outcome)
                self.open.clear()
            elif isinstance(action, Settled):
                self.open.clear()
            elif isinstance(action, Dispatch):
                assert self.state == "running"
                assert action.call_id == self.calls
                self.open.add(action.call_id)
                self.dispatched.add(action.call_id)
            elif isinstance(action, Write):
                # A large double is written with fewer digits than the integer that it is.
                self._wrote(json.loads(action.data, parse_int=float))
            else:
                assert isinstance(action, Closed)

    def _wrote(self, frame):
        assert frame["invocation_id"] == self.number, "no reply crosses into another invocation"
        assert self.state in ("running", "draining"), "no reply is written after the result"
        assert 1 <= frame["call_id"] <= self.calls
        self.open.discard(frame["call_id"])
        if frame["ok"]:
            self.delivered += measure(frame["value"], DEPTH)

    def moves(self, event):
        """What the table says of an event here, and the state after it."""
        # The frames of modules that this profile does not have are frames of an unknown kind.
        event = "unknown" if event in ("host_batch", "progress") else event
        return PARENT.transitions[self.state][event]


class ParentMachine(RuleBasedStateMachine):
    """Steps of two workers, and of the host of their parents."""

    exercised: ClassVar[set[tuple[str, str]]] = set()

    def __init__(self):
        super().__init__()
        self.runs = [Watched(7), Watched(8)]
        self.next_number = 9

    def _event(self, run, event, actions):
        """The table foretells what an event does; `actions` is what it did."""
        self.exercised.add((run.state, event))
        step = run.moves(event)
        if step.error is not None:
            run.took(actions)
            assert [end.code for end in run.ends] == [step.error]
            run.state = PARENT.final
        elif step.ignore:
            assert actions == []
        elif step.next == PARENT.final:
            run.took(actions)
            assert len(run.ends) == 1
            run.state = PARENT.final
        else:
            was, run.state = run.state, step.next
            expected = {"stdout_eof": [Closed()], "result": [Settled()]}
            assert actions == (expected.get(event, []) if was != step.next else []), event
            run.took(actions)

    @rule()
    @precondition(lambda self: any(run.state == "starting" for run in self.runs))
    def begin(self):
        """The execute frame is handed over."""
        for run in self.runs:
            if run.state == "starting":
                self._event(run, "execute_sent", run.session.event("execute_sent"))

    @rule(which=HOSTILE, ends=st.booleans())
    @precondition(lambda self: any(run.state == "running" for run in self.runs))
    def go_on(self, which, ends):
        """A running worker closes its output, or writes its result."""
        run = self.runs[which]
        if run.state == "running" and ends:
            frame = {"ok": True, "value_present": True, "value": None}
            self._event(run, "result", run.session.receive(run.line("result", **frame), ELAPSED))
        elif run.state == "running":
            self._event(run, "stdout_eof", run.session.event("stdout_eof"))

    @rule(which=HOSTILE, event=st.sampled_from(EVENTS), data=st.data())
    def anything(self, which, event, data):
        """Any event of the table, legal here or not."""
        self.perform(self.runs[which], event, data.draw)

    def perform(self, run, event, draw):
        """One event of the table; `draw` chooses among lines that are malformed, and results."""
        if event == "host_call":
            self._call(run, run.line("host_call", call_id=run.calls + 1, **CALL))
            return
        if event == "malformed":
            line = draw(MALFORMED).line
        elif event == "oversized":
            line = b"x" * (POLICY["ipc_frame_bytes"] + 1)
        elif event == "result":
            line = run.line("result", **draw(RESULTS))
        elif event in FRAMES:
            line = run.line(event, **FRAMES[event])
        else:
            self._event(run, event, run.session.event(event))
            return
        self._event(run, event, run.session.receive(line, ELAPSED))

    def _call(self, run, line):
        self.exercised.add((run.state, "host_call"))
        if run.state != "running":
            self._event(run, "host_call", run.session.receive(line, ELAPSED))
            return
        over = run.calls == POLICY["host_calls"]
        run.calls += not over
        full = len(run.open) == POLICY["concurrent_host_calls"]
        actions = run.session.receive(line, ELAPSED)
        run.took(actions)
        if over:
            assert [end.code for end in run.ends] == ["host_calls_limit"]
            run.state = PARENT.final
        elif full:
            (write,) = actions
            assert json.loads(write.data)["error"]["code"] == "host_concurrency_limit"
        else:
            assert isinstance(actions[0], Dispatch)

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: any(run.state == "running" for run in self.runs))
    def call(self, which):
        """A worker makes a legal call, or one too many."""
        run = self.runs[which] if self.runs[which].state == "running" else self.runs[1 - which]
        self._call(run, run.line("host_call", call_id=run.calls + 1, **CALL))

    @rule(which=HOSTILE, by=st.sampled_from((-1, 0, 1)))
    def call_of_none(self, which, by):
        """A gap or a repetition in the ids, or the id of the other invocation, is malformed.

        It does nothing in the other.
        """
        run, other = self.runs[which], self.runs[1 - which]
        call_id = max(run.calls + 1 + by, 1)
        sender = run if call_id != run.calls + 1 else other
        line = sender.line("host_call", call_id=call_id, **CALL)
        self._event(run, "malformed", run.session.receive(line, ELAPSED))

    @rule(
        which=st.integers(0, 1),
        pick=st.integers(0, 5),
        size=st.sampled_from((0, -1, 0, 1, 2)),
        data=st.data(),
    )
    @precondition(lambda self: any(run.dispatched for run in self.runs))
    def answer(self, which, pick, size, data):
        """An operation answers: in time, late, or a second time; often at the edge of a limit."""
        run = self.runs[which] if self.runs[which].dispatched else self.runs[1 - which]
        edge = SMALL["host_result_bytes"] + size
        value = data.draw(json_values(3) if size > 1 else values_of_size(edge))
        call = sorted(run.dispatched)[pick % len(run.dispatched)]
        was_open = call in run.open
        before = run.delivered
        actions = run.session.answer(call, value, ELAPSED)
        run.open.discard(call)
        if not was_open:
            assert actions == []
            return
        run.took(actions)
        (write,) = actions
        frame = json.loads(write.data)
        if not frame["ok"]:
            assert run.delivered == before, "what is refused is not charged"

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: any(run.open for run in self.runs))
    def fail(self, which):
        """The oldest open operation fails."""
        run = self.runs[which]
        if run.open:
            (write,) = run.session.fail(min(run.open), ELAPSED)
            assert json.loads(write.data)["error"] == {
                "code": "operation_failed",
                "operation": "get",
            }
            run.took([write])

    @rule(every=st.booleans())
    @precondition(lambda self: any(run.state == PARENT.final for run in self.runs))
    def renew(self, every):
        """Where one has ended another begins, with everything anew."""
        for which, run in enumerate(self.runs):
            if run.state == PARENT.final and (every or which == 0):
                self.runs[which] = Watched(self.next_number)
                self.next_number += 1

    @invariant()
    def budgets_are_kept(self):
        """No budget is negative, none exceeded, and the parent's account is that of the test."""
        for run in self.runs:
            ledger = run.session._calls.ledger
            assert ledger.calls == run.calls <= POLICY["host_calls"]
            assert 0 <= len(run.open) <= POLICY["concurrent_host_calls"]
            assert 0 <= ledger.delivered_bytes == run.delivered
            assert run.delivered <= POLICY["cumulative_host_result_bytes"]
            if run.state == "running":
                assert set(ledger.in_flight) == run.open

    @invariant()
    def there_is_one_end(self):
        """An invocation has its one outcome when it is in its final state, and never another."""
        for run in self.runs:
            assert len(run.ends) == (run.state == PARENT.final) == run.session.ended


CALL = {"operation": "get", "arguments": {}}
RESULTS = st.sampled_from(
    (
        {"ok": True, "value_present": True, "value": {"a": [1]}},
        {
            "ok": False,
            "value_present": False,
            "error": {"code": "code_rejected", "reason": "uncaught"},
        },
        {
            "ok": False,
            "value_present": False,
            "error": {"code": "host_calls_limit", "limit": 1},
        },
    )
)
MALFORMED = st.one_of(broken_lines("host_call"), broken_frames("result"))
SHORT = settings(
    max_examples=100,
    stateful_step_count=40,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


PATHS = {
    "starting": (),
    "running": ("execute_sent",),
    "draining": ("execute_sent", "stdout_eof"),
    "finishing": ("execute_sent", "result"),
    "ended": ("cancel",),
}
"""A way to each state."""


def test_a_parent_keeps_its_rules_whatever_a_worker_does():
    """Two invocations side by side, and any steps in any order."""
    run_state_machine_as_test(ParentMachine, settings=SHORT)


def test_every_pair_of_the_table_is_exercised():
    """Every input in every state, with what holds afterwards."""
    ParentMachine.exercised.clear()
    pairs = {(state, event) for state, row in PARENT.transitions.items() for event in row}
    assert len(pairs) == 85
    for state, event in sorted(pairs):
        machine = ParentMachine()
        for step in PATHS[state]:
            machine.perform(machine.runs[0], step, minimal)
        assert machine.runs[0].state == state
        machine.perform(machine.runs[0], event, minimal)
        machine.budgets_are_kept()
        machine.there_is_one_end()
    assert ParentMachine.exercised == pairs


@cache
def minimal(strategy):
    """The simplest of what a strategy gives."""
    return find(strategy, lambda _: True)


@pytest.mark.parametrize("fault", ["kept", "charged"])
def test_the_machine_finds_a_fault(monkeypatch, fault):
    """A slot that is not given back, and a refused value that is charged."""
    if fault == "kept":
        monkeypatch.setattr(Ledger, "leave", lambda self, call_id: self.in_flight.get(call_id))
    else:
        deliver = Ledger.deliver

        def charged(self, operation, size):
            refused = deliver(self, operation, size)
            self.delivered_bytes += size if refused is not None else 0
            return refused

        monkeypatch.setattr(Ledger, "deliver", charged)
    machine = ParentMachine()
    machine.begin()
    machine.call(which=0)
    machine.answer(which=0, pick=0, size=1, data=SimpleNamespace(draw=minimal))
    with pytest.raises(AssertionError):
        machine.budgets_are_kept()
