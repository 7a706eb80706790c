"""An honest pair: worker, parent, and the frames under way between them in both directions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.model import parent as parents
from codemode_spec.model import worker as workers
from codemode_spec.model.exploration import Move
from codemode_spec.model.spaces import OPERATIONS, Boundary, covers
from codemode_spec.model.terms import UNCAUGHT, Answer, End, HostCall, Refusal, Reply, Result, Rules
from codemode_spec.model.watch import Watch, observe
from codemode_spec.model.worker import Asking, Settled, Wish, Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.model.ledger import Parent, Step

WISHES: Final = (
    Wish("read"),
    Wish("open", valid=False),
    Wish("nowhere"),
    Wish("write", fault="not_json"),
)
"""What the program may ask for."""

MOST_WAITING: Final = 3
ANSWERS: Final = ({"size": 2}, {"fault": "failed"})


class State(NamedTuple):
    """Both ends, the frames on their way, and the observer's books.

    `gone`: the worker has written its result and exits.
    """

    parent: Parent
    worker: Worker
    up: tuple[HostCall | Result, ...] = ()
    down: tuple[Reply, ...] = ()
    watch: Watch = Watch()
    gone: bool = False


class HonestPair:
    """A worker that keeps its guards, so that its parent has never anything to hold against it."""

    def __init__(self, name: str, rules: Rules, boundary: Boundary) -> None:
        self.name = name
        self.rules = rules
        self._boundary = boundary

    def initial(self) -> State:
        """`execute` was handed over, and read."""
        step = parents.on_event(self.rules, parents.start(self.rules), "execute_sent")
        worker, _ = workers.on_event(self.rules, workers.start(self.rules), "execute")
        return State(step.parent, worker)

    def final(self, state: State) -> bool:
        """The invocation has its outcome."""
        return state.parent.outcome is not None

    def moves(self, state: State) -> Iterator[Move]:
        """The program goes on, a frame arrives, an operation answers, or time passes."""
        if state.parent.outcome is not None:
            return
        if state.worker.state == "running":
            # What waits costs the program's own heap only; of three, one can take the last id and
            # two be refused.
            for wish in WISHES if len(state.worker.waiting) < MOST_WAITING else ():
                yield self._ask(state, wish)
            yield from self._settle(state)
            if state.down:
                yield self._reply(state)
        if state.up:
            yield self._arrives(state)
        for number in state.parent.in_flight:
            for what in ANSWERS:
                yield self._answer(state, Answer(number, **what))
        for event in self._events(state):
            yield self._event(state, event)

    @staticmethod
    def _events(state: State) -> Iterator[str]:
        yield "cancel"
        yield "deadline" if state.parent.late else parents.TIME_UP
        if state.gone and not state.up:
            yield "exit_zero"

    # The program and its worker.

    def _ask(self, state: State, wish: Wish) -> Move:
        asking = workers.ask(self.rules, state.worker, wish)
        return Move(
            f"the program asks for {wish.operation}",
            self._asked(state, asking),
            tuple(note.rule for note in asking.notes),
        )

    def _asked(self, state: State, asking: Asking) -> State:
        frames = state.up if asking.frame is None else (*state.up, asking.frame)
        after = state._replace(worker=asking.worker, up=frames)
        if asking.error is not None and self.rules.ends(asking.error.code):
            return self._finished(after, Settled(thrown=asking.error))
        return after

    def _settle(self, state: State) -> Iterator[Move]:
        yield self._settled(state, "returns 1 byte", Settled(True, size=1))
        yield self._settled(state, "returns 3 bytes", Settled(True, size=3))
        yield self._settled(state, "returns nothing", Settled())
        yield self._settled(state, "throws", Settled(thrown=UNCAUGHT))
        for error in sorted(state.worker.known, key=repr):
            yield self._settled(state, f"throws {error.code}", Settled(thrown=error))

    def _settled(self, state: State, label: str, settled: Settled) -> Move:
        _, notes = workers.finish(self.rules, state.worker, settled)
        return Move(
            f"the program {label}",
            self._finished(state, settled),
            tuple(note.rule for note in notes),
        )

    def _finished(self, state: State, settled: Settled) -> State:
        result, _ = workers.finish(self.rules, state.worker, settled)
        worker, _ = workers.on_event(self.rules, state.worker, "result_sent")
        return state._replace(
            worker=worker._replace(waiting=()), up=(*state.up, result), gone=True, down=()
        )

    def _reply(self, state: State) -> Move:
        reply, *later = state.down
        asking = workers.on_reply(self.rules, state.worker, reply.call_id, reply.error)
        after = state._replace(worker=asking.worker, down=tuple(later))
        for turn in asking.turns:
            after = self._asked(after, turn)
        full = len(after.worker.in_flight) >= self.rules.policy["concurrent_host_calls"]
        broken = ("a call waits beside a free slot",) * bool(after.worker.waiting and not full)
        told = "a value" if reply.error is None else reply.error.code
        return Move(
            f"the worker reads the reply to call {reply.call_id}: {told}", after, (), broken
        )

    # The parent.

    def _stepped(
        self, state: State, label: str, event: str, step: Step, answered: int | None = None
    ) -> Move:
        watch, broken = observe(self.rules, state.watch, state.parent, step, answered)
        replies = [action for action in step.actions if isinstance(action, Reply)]
        heard = () if state.gone else tuple(replies)
        broken += self._accused(step)
        after = state._replace(parent=step.parent, watch=watch, down=(*state.down, *heard))
        return Move(label, after, covers(self.rules, state.parent, event, step), broken)

    def _accused(self, step: Step) -> tuple[str, ...]:
        """An honest worker breaks no protocol, and never passes a limit that is terminal."""
        guarded = {
            row.error
            for row in self.rules.profile.rows.values()
            for enforcer in row.enforcers
            if (enforcer.end, enforcer.on_exceed) == ("worker", "reject_call")
        }
        ended = [a.outcome.error for a in step.actions if isinstance(a, End)]
        unjust = [
            error
            for error in ended
            if error is not None
            and (
                self.rules.tables.errors[error.code].category == "protocol" or error.code in guarded
            )
            and step.parent.settled is None
            and any(not note.passed for note in step.notes)
        ]
        return tuple(f"an honest worker is ended with {error.code}" for error in unjust)

    def _arrives(self, state: State) -> Move:
        frame, *later = state.up
        event = "result" if isinstance(frame, Result) else "host_call"
        step = self._boundary.on_event(self.rules, state.parent, event, frame)
        label = f"the parent reads {'the result' if event == 'result' else f'call {frame.call_id}'}"  # type: ignore[union-attr]
        move = self._stepped(state._replace(up=tuple(later)), label, event, step)
        return move._replace(broken=(*move.broken, *self._doubted(frame, step)))

    @staticmethod
    def _doubted(frame: Any, step: Step) -> tuple[str, ...]:
        """What an honest worker names is believed: it keeps its code."""
        error: Refusal | None = frame.error if isinstance(frame, Result) else None
        settled = step.parent.settled
        if error is None or settled is None or settled.error == error:
            return ()
        return (f"an honest {error.code} is taken for {settled.error and settled.error.reason}",)

    def _answer(self, state: State, answer: Answer) -> Move:
        step = self._boundary.on_answer(self.rules, state.parent, answer)
        what = answer.fault or f"{answer.size} bytes"
        label = f"the operation of call {answer.call_id} answers: {what}"
        return self._stepped(state, label, "answer", step, answer.call_id)

    def _event(self, state: State, event: str) -> Move:
        step = self._boundary.on_event(self.rules, state.parent, event, None)
        return self._stepped(state, event, event, step)


def rules_of_pair(rules: Rules) -> Rules:
    """The rules with the granted operations only: an honest worker knows no others."""
    granted = {name: entry for name, entry in OPERATIONS.items() if entry.granted}
    return replace(rules, operations=granted)
