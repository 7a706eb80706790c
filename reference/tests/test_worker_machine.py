"""A worker as a parent sees it: a real process, any steps in any order.

Whatever a parent does, the worker says nothing but legal frames of its own invocation, in order,
and leaves with the status of `protocol.json`.
"""

import contextlib
import json
import subprocess
import sys
from functools import cache
from typing import ClassVar

import pytest
from codemode_conformance.strategies import broken_frames, broken_lines
from codemode_reference import default_policy
from codemode_reference.bundle import worker_program
from codemode_reference.protocol import Machine
from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

TABLES = load_tables()
PROFILE = TABLES.profiles[DEFAULT_PROFILE]
WORKER = TABLES.endpoints["worker"]
POLICY = default_policy()
ID, OTHER = 7, 8
SECONDS = 20
SOURCE = "return await Promise.all([1, 2].map((n) => codemode.echo({ n })));"
EXECUTE = {
    "type": "execute",
    "v": 1,
    "invocation_id": ID,
    "source": SOURCE,
    "limits": {name: POLICY[name] for name, row in PROFILE.rows.items() if row.in_execute},
    "alternatives": {"script_style": "async"},
    "operations": [{"name": "echo", "method": "echo", "effect": "read"}],
}
REPLY = {"type": "host_result", "ok": True, "value_present": True}
FRAMES = {
    "execute": EXECUTE,
    "host_call": {"type": "host_call", "call_id": 1, "operation": "echo", "arguments": {}},
    "host_batch": {
        "type": "host_batch",
        "call_id": 1,
        "calls": [{"operation": "echo", "arguments": {}}],
    },
    "progress": {"type": "progress", "current": 1},
    "host_result": {**REPLY, "call_id": 1, "value": 1},
    "result": {"type": "result", "ok": True, "value_present": True, "value": 1},
    "unknown": {"type": "mystery"},
}
SENT = [event for event in WORKER.transitions[WORKER.initial] if event.endswith("_sent")]
RECEIVED = [event for event in WORKER.transitions[WORKER.initial] if event not in SENT]
PARTS: dict[str, str] = {}


def line(frame, **fields):
    """A frame as bytes."""
    return json.dumps({"invocation_id": ID, **frame, **fields}).encode() + b"\n"


class WorkerMachine(RuleBasedStateMachine):
    """The steps of a parent towards one worker process."""

    exercised: ClassVar[set[tuple[str, str]]] = set()

    @initialize()
    def start(self):
        """A fresh process, as its parent starts it."""
        self.worker = subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", PARTS["program"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            start_new_session=True,
        )
        self.state = WORKER.initial
        self.open = set()
        self.replies = {}
        self.gone = False

    def teardown(self):
        """Nothing is left behind."""
        if hasattr(self, "worker"):
            self.worker.kill()
            self.worker.wait(SECONDS)
            for pipe in (self.worker.stdin, self.worker.stdout, self.worker.stderr):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _write(self, data):
        # One that has ended may have closed its input.
        try:
            self.worker.stdin.write(data)
            self.worker.stdin.flush()
        except BrokenPipeError:
            assert self.state == WORKER.final

    def _read(self):
        frame = json.loads(self.worker.stdout.readline())
        assert frame["invocation_id"] == ID, "no frame of another invocation"
        return frame

    @rule()
    @precondition(lambda self: not self.gone and self.state == "waiting")
    def execute(self):
        """The program starts and makes its calls, with ids from 1 on."""
        self.exercised.add((self.state, "execute"))
        self._write(line(EXECUTE))
        for number in (1, 2):
            frame = self._read()
            assert frame == {
                "type": "host_call",
                "invocation_id": ID,
                "call_id": number,
                "operation": "echo",
                "arguments": {"n": number},
            }
            self.open.add(number)
            self.exercised.add(("running", "host_call_sent"))
        self.state = "running"

    @rule(number=st.integers(1, 2), value=st.sampled_from((None, 0, "é", [{}], "\u2028")))
    @precondition(lambda self: not self.gone and self.state == "running")
    def reply(self, number, value):
        """A call in flight gets its reply; after the last one there is a result, and no more."""
        if number not in self.open:
            return
        self.exercised.add((self.state, "host_result"))
        self.open.discard(number)
        self.replies[number] = value
        self._write(line(REPLY, call_id=number, value=value))
        if not self.open:
            self._result({"ok": True, "value": [self.replies[1], self.replies[2]]})

    @rule(number=st.integers(1, 2))
    @precondition(lambda self: not self.gone and self.state == "running")
    def refuse(self, number):
        """A call that fails ends this program, whose other call may still be open."""
        if number not in self.open:
            return
        self.exercised.add((self.state, "host_result"))
        error = {"code": "operation_failed", "operation": "echo"}
        failed = {"type": "host_result", "ok": False, "value_present": False, "error": error}
        self._write(line(failed, call_id=number))
        self._result({"ok": False, "error": error})

    def _result(self, expected):
        frame = self._read()
        assert frame["type"] == "result"
        assert frame["value_present"] == frame["ok"]
        assert {name: frame[name] for name in expected} == expected
        self.exercised.add((self.state, "result_sent"))
        self.state = WORKER.final

    @rule(event=st.sampled_from(RECEIVED), data=st.data())
    @precondition(lambda self: not self.gone)
    def intrude(self, event, data):
        """Whatever the table has for the event: the worker leaves with that status, in silence."""
        if WORKER.transitions[self.state][event].next is None:  # what is legal, others do
            self.perform(event, data.draw)

    def perform(self, event, draw):
        """One event that ends the worker; `draw` chooses among lines that are malformed."""
        step = WORKER.transitions[self.state][event]
        self.exercised.add((self.state, event))
        if event == "stdin_eof":
            self.worker.stdin.close()
        elif event == "malformed":
            self._write(draw(self._malformed()))
        elif event == "oversized":
            self._write(b"x" * (POLICY["ipc_frame_bytes"] + 1))
        else:
            self._write(line(FRAMES[event]))
        assert self.worker.stdout.read() == b""
        assert self.worker.wait(SECONDS) == (step.exit or 0)
        assert self.worker.stderr.read() == b""
        self.gone = True

    @rule()
    @precondition(lambda self: self.gone)
    def renew(self):
        """Where one has left, another is started."""
        self.teardown()
        self.start()

    def _malformed(self):
        """A line with one fault: in its text or shape, or a reply to nothing that is open."""
        return STRANGE if self.state == "running" else FAULTY


FAULTY = st.one_of(broken_lines("host_result"), broken_frames("host_result")).map(
    lambda broken: broken.line
)
STRANGE = st.one_of(
    st.sampled_from(
        [
            line(REPLY, value=1, call_id=3),
            line(REPLY, value=1, call_id=1, invocation_id=OTHER),
        ]
    ),
    FAULTY,
)
SHORT = settings(
    max_examples=8,
    stateful_step_count=15,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def _program(tmp_path):
    path = tmp_path / "worker.pyc"
    path.write_bytes(worker_program(DEFAULT_PROFILE))
    PARTS["program"] = str(path)


def test_a_worker_keeps_its_rules_whatever_a_parent_does():
    """Any steps in any order, towards one process after the other."""
    run_state_machine_as_test(WorkerMachine, settings=SHORT)


def test_every_pair_that_a_parent_can_bring_about_is_exercised():
    """Every input in every state, and what the worker sends of itself."""
    WorkerMachine.exercised.clear()
    received = {(state, event) for state in WORKER.transitions for event in RECEIVED}
    assert len(received) == 30
    for state, event in sorted(received):
        machine = WorkerMachine()
        machine.start()
        try:
            _bring(machine, state)
            assert machine.state == state
            if WORKER.transitions[state][event].next is None:
                machine.perform(event, minimal)
            elif state == WORKER.initial:
                machine.execute()
            else:
                machine.reply(number=1, value=0)
        finally:
            machine.teardown()
    sent = {("running", "host_call_sent"), ("running", "result_sent")}
    assert WorkerMachine.exercised == received | sent


def _bring(machine, state):
    if state != WORKER.initial:
        machine.execute()
    if state == WORKER.final:
        machine.reply(number=2, value=None)
        machine.reply(number=1, value=None)


@cache
def minimal(strategy):
    """The simplest of what a strategy gives."""
    return find(strategy, lambda _: True)


@pytest.mark.parametrize("state", WORKER.transitions)
@pytest.mark.parametrize("event", SENT)
def test_what_a_worker_sends_moves_it_as_the_table_says(state, event):
    """The other pairs: no parent brings them about, since an honest worker sends in its turn."""
    machine = Machine(WORKER)
    machine.state = state
    step = machine.on(event)
    expected = WORKER.transitions[state][event]
    assert step == expected
    left = WORKER.final if expected.exit is not None else (expected.next or state)
    assert machine.state == left
    assert machine.ended == (left == WORKER.final)
