"""What the model says of one program: outcome, calls and reasons. Equal inputs, equal answers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.model import parent as parents
from codemode_spec.model import server
from codemode_spec.model import worker as workers
from codemode_spec.model.expressions import PROMISE, Snapshot, snapshot
from codemode_spec.model.host import Host
from codemode_spec.model.running import Asks, Coroutine, Does, Forks, ProgramError, Returned, run
from codemode_spec.model.steps import parses
from codemode_spec.model.terms import (
    UNCAUGHT,
    Dispatch,
    End,
    HostCall,
    Note,
    Outcome,
    Refusal,
    Reply,
    Result,
    Rules,
)
from codemode_spec.model.turns import Turns, first
from codemode_spec.sizes import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codemode_spec.cases import OperationSpec
    from codemode_spec.model.ledger import Step
    from codemode_spec.model.server import Request
    from codemode_spec.model.steps import Program

VALUES_OF_FAILURE: Final = ("operation_failed", "read_only_violation", "host_result_invalid")
"""The errors that `operation_failure: value` turns into values."""


class Made(NamedTuple):
    """One dispatched call: the operation, and the arguments as they crossed the boundary."""

    operation: str
    arguments: Any
    odd: tuple[tuple[tuple[str | int, ...], str], ...] = ()


@dataclass(frozen=True)
class Prediction:
    """The outcome, the value's marks, the calls in order, the most open at once, and why.

    `elapsed_ms` is on the clock of the scripted operations; computing takes no time on it.
    """

    outcome: Outcome
    odd: tuple[tuple[tuple[str | int, ...], str], ...]
    calls: tuple[Made, ...]
    overlap: int
    elapsed_ms: int
    notes: tuple[Note, ...]


def predict(  # noqa: PLR0913  all that a prediction depends on
    rules: Rules,
    program: Program,
    operations: Mapping[str, OperationSpec],
    *,
    request: Request | None = None,
    cancel_after_call: int | None = None,
    host: Host | None = None,
    choose: Callable[[int], int] = first,
) -> Prediction:
    """What a conforming boundary answers to a program whose operations behave as scripted.

    `host` answers the calls, by default on the clock of the scripted delays; `choose` says which
    of several branches and replies has its turn, see `turns`.
    """
    host = host or Host(rules, operations)
    invocation = _Invocation(rules, host, cancel_after_call, Turns(choose))
    if request is not None:
        admitted = server.admit(rules, server.Admission(), request)
        invocation.notes += admitted.notes
        if admitted.error is not None:
            return invocation.predicted(Outcome(error=admitted.error))
    if not parses(program):
        return invocation.predicted(invocation.rejected("syntax"))
    return invocation.predicted(invocation.run(run(program, {})))


@dataclass(eq=False)
class _Task:
    """One branch under way, and the one that waits for it."""

    steps: Coroutine
    outer: _Task | None = None
    open: int = 0


class _Ended(NamedTuple):
    """How the program itself ended; branches that nobody waits for may still have their turn."""

    value: Any = None
    present: bool = True
    thrown: ProgramError | None = None


@dataclass
class _Invocation:
    rules: Rules
    host: Host
    cancel_after_call: int | None
    turns: Turns[_Task, Reply]
    notes: list[Note] = field(default_factory=list)
    calls: list[Made] = field(default_factory=list)
    overlap: int = 0
    now: int = 0
    odd: tuple[tuple[tuple[str | int, ...], str], ...] = ()
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        self._by_call: dict[int, _Task | None] = {}
        self._queued: deque[_Task | None] = deque()
        parent = parents.start(self.rules)
        self._parent = parents.on_event(self.rules, parent, "execute_sent").parent
        self._worker, _ = workers.on_event(self.rules, workers.start(self.rules), "execute")

    def predicted(self, outcome: Outcome) -> Prediction:
        return Prediction(
            outcome, self.odd, tuple(self.calls), self.overlap, self.now, tuple(self.notes)
        )

    def rejected(self, reason: str) -> Outcome:
        """The outcome of what cannot even start."""
        self._finish(workers.Settled(thrown=UNCAUGHT._replace(reason=reason)))
        assert self.outcome is not None
        return self.outcome

    def run(self, root: Coroutine) -> Outcome:
        """Run to the one outcome: branches in the order in which they can go on, then answers."""
        self.turns.at_once(_Task(root))
        while self.outcome is None:
            taken = self.turns.take(answers=self.host.early)
            if isinstance(taken, Reply):
                self._read(taken)
            elif taken is not None:
                self._go_on(*taken)
            elif not self._next_answer():
                self._no_way_on()
        return self.outcome

    # The program.

    def _go_on(self, task: _Task, value: Any) -> None:
        if isinstance(value, _Ended):
            self._ends(value)
            return
        try:
            if isinstance(value, ProgramError):
                want = task.steps.throw(value)
            else:
                want = task.steps.send(value)
        except StopIteration:
            self._ended(task)
        except Returned as returned:
            if task.outer is None:
                self.turns.settled(task, _Ended(returned.value))
            else:
                self._ended(task)
        except ProgramError as thrown:
            self._threw(task, thrown)
        else:
            self._wants(task, want)

    def _ended(self, task: _Task) -> None:
        if task.outer is None:
            self.turns.settled(task, _Ended(present=False))
            return
        task.outer.open -= 1
        if task.outer.open == 0:
            self.turns.settled(task.outer, None)

    def _threw(self, task: _Task, thrown: ProgramError) -> None:
        if task.outer is not None and thrown.catchable:
            # The first rejection is that of the group; what its other branches do is not seen.
            if task.outer.open > 0:
                task.outer.open = -1
                self.turns.settled(task.outer, thrown)
        elif thrown.catchable:
            self.turns.settled(task, _Ended(thrown=thrown))
        else:
            self._ends(_Ended(thrown=thrown))

    def _ends(self, ended: _Ended) -> None:
        if ended.thrown is not None:
            self._finish(workers.Settled(thrown=ended.thrown.error or UNCAUGHT))
        elif ended.present:
            self._settle(self._result_of(ended.value))
        else:
            self._settle(Snapshot(present=False))

    def _wants(self, task: _Task, want: Asks | Forks | Does) -> None:
        if isinstance(want, Asks):
            self._asks(task, want)
        elif isinstance(want, Forks):
            task.open = len(want.branches)
            self.turns.at_once(*(_Task(steps, task) for steps in want.branches))
            if not want.branches:
                self.turns.settled(task, None)
        else:
            self._does(task, want.kind)

    def _does(self, task: _Task, kind: str) -> None:
        if kind == "spin":
            self._spins()
        elif kind == "stall":
            self._note("program", "stall", "it waits for what never comes")
        else:
            error = UNCAUGHT._replace(reason=kind)
            catchable = kind == "stack" or self.rules.alternatives["memory_error"] == "catchable"
            self.turns.at_once(task, value=ProgramError(error, catchable=catchable))

    # Calls.

    def _asks(self, task: _Task, asks: Asks) -> None:
        copied = snapshot(asks.arguments, self.rules)
        value = copied.value if copied.present else {}
        too_deep = copied.depth > self.rules.policy["value_depth"]
        framed = copied.size + _frame_around(asks.operation)
        wish = workers.Wish(
            asks.operation,
            (value, copied.odd),
            fault=copied.fault or ("too_deep" if too_deep else None),
            fits=framed <= self.rules.policy["ipc_frame_bytes"],
            size=framed,
            valid=self.host.accepts(asks.operation, value),
        )
        asking = workers.ask(self.rules, self._worker, wish)
        self._worker = asking.worker
        self._note("program", "call", f"asks for {asks.operation}")
        self._asked(asking, task if asks.awaited else None, task)

    def _asked(self, asking: workers.Asking, waiting: _Task | None, asker: _Task | None) -> None:
        self.notes += asking.notes
        goes_on = asker is not None and waiting is None
        if asking.error is not None:
            self._refused(asking.error, waiting)
        elif asking.frame is not None:
            self._by_call[asking.frame.call_id] = waiting
            self._send(asking.frame)
        else:
            self._queued.append(waiting)
        if goes_on and asker is not None:
            self.turns.at_once(asker)

    def _refused(self, error: Refusal, waiting: _Task | None) -> None:
        if self.rules.ends(error.code):
            self._finish(workers.Settled(thrown=error))
        elif waiting is not None:
            as_value = self.rules.alternatives["operation_failure"] == "value"
            if as_value and error.code in VALUES_OF_FAILURE:
                self.turns.settled(waiting, {"success": False, **error.fields()})
            else:
                self.turns.settled(waiting, ProgramError(error))

    def _send(self, frame: HostCall) -> None:
        self._do(parents.on_event(self.rules, self._parent, "host_call", frame))

    def _do(self, step: Step) -> None:
        """Take a step of the parent, and do what it says."""
        self._parent = step.parent
        self.notes += step.notes
        for action in step.actions:
            if isinstance(action, Dispatch):
                self._dispatch(action)
            elif isinstance(action, Reply):
                self.turns.replies.append(action)
            elif isinstance(action, End):
                self.outcome = action.outcome

    def _dispatch(self, action: Dispatch) -> None:
        value, odd = action.arguments
        self.calls.append(Made(action.operation, value, odd))
        self.overlap = max(self.overlap, len(self._parent.in_flight))
        self.host.dispatch(action, len(self.calls), self.now)
        if self.cancel_after_call == len(self.calls):
            self._note("client", "cancel", "the client cancels")
            self._do(parents.on_event(self.rules, self._parent, "cancel"))

    def _next_answer(self) -> bool:
        first = self.host.next()
        if first is None:
            return False
        counted = self.rules.alternatives["host_wait"] == "counted"
        if counted and first.at > self.rules.policy["wall_time_ms"]:
            self._time_is_up()
            return True
        self.now = max(self.now, first.at)
        self._note("host", "answer", f"call {first.answer.call_id} of {first.operation} answers")
        self._do(parents.on_answer(self.rules, self._parent, first.answer))
        return True

    def _read(self, reply: Reply) -> None:
        asking = workers.on_reply(self.rules, self._worker, reply.call_id, reply.error)
        self._worker = asking.worker
        waiting = self._by_call[reply.call_id]
        if reply.error is not None:
            self._refused(reply.error, waiting)
        elif waiting is not None:
            self.turns.settled(waiting, reply.value)
        for turn in asking.turns:
            self._asked(turn, self._queued.popleft(), None)

    # The end.

    def _no_way_on(self) -> None:
        """Nothing can go on: an operation never answers, or nothing is outstanding at all."""
        at_once = self.rules.alternatives["stall"] == "at_once"
        if self._parent.in_flight or not at_once:
            self._time_is_up()
        else:
            self._note("program", "stall", "nothing is outstanding: it can never settle")
            self._finish(workers.Settled(thrown=UNCAUGHT._replace(reason="stalled")))

    def _spins(self) -> None:
        """A program that computes without end uses processor time and wall time alike."""
        allowed = self.rules.policy.get("cpu_time_ms")
        if allowed is None or self.now + allowed > self.rules.policy["wall_time_ms"]:
            self._time_is_up()
            return
        self.now += allowed
        self._note("host", "processor", "the processor time is used up")
        self.outcome = Outcome(error=Refusal("cpu_time_exceeded", limit=allowed))

    def _time_is_up(self) -> None:
        limit = self.rules.policy["wall_time_ms"]
        self.now = max(self.now, limit)
        self._do(parents.on_event(self.rules, self._parent, parents.TIME_UP))
        error = Refusal("deadline_exceeded", limit=limit)
        self._note("worker", "interrupt", f"the worker's own clock ends it: {error.code}")
        self._result(Result(error=error))

    def _result_of(self, value: Any) -> Snapshot:
        # Where calls return directly no job ever runs, so that a promise can give nothing.
        pending = value == PROMISE and self.rules.alternatives["script_style"] == "sync"
        return Snapshot(fault="not_json") if pending else snapshot(value, self.rules)

    def _settle(self, copied: Snapshot) -> None:
        self.odd = copied.odd
        self._finish(
            workers.Settled(copied.present, copied.value, copied.size, copied.depth, copied.fault)
        )

    def _finish(self, settled: workers.Settled) -> None:
        left = settled.thrown is None and self._worker.in_flight
        if left and self.rules.alternatives["late_calls"] == "reject":
            self._note("worker", "late", "a call that was sent is left unobserved: the run fails")
            settled = workers.Settled(thrown=UNCAUGHT)
        result, notes = workers.finish(self.rules, self._worker, settled)
        self.notes += notes
        self._result(result)

    def _result(self, result: Result) -> None:
        self._do(parents.on_event(self.rules, self._parent, "result", result))
        self._do(parents.on_event(self.rules, self._parent, "exit_zero"))

    def _note(self, place: str, check: str, text: str) -> None:
        self.notes.append(Note(place, check, True, text))


def _frame_around(operation: str) -> int:
    """The bytes of a host_call frame around its arguments, with the longest ids."""
    largest = 2**53 - 1
    frame = {
        "type": "host_call",
        "invocation_id": largest,
        "call_id": largest,
        "operation": operation,
        "arguments": 0,
    }
    return size_of(frame, 1) - 1
