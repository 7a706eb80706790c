"""A batch as a state space: every plan of reads and writes, in every order of answers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from codemode_spec.model import parent as parents
from codemode_spec.model import spaces
from codemode_spec.model.exploration import Move
from codemode_spec.model.spaces import Boundary, Seen, Told, covers
from codemode_spec.model.terms import Answer, Dispatch, HostBatch, HostCall, Reply, Rules
from codemode_spec.model.watch import observe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.model.ledger import Step

READ: Final = "read"
OPERATIONS: Final = {name: spaces.OPERATIONS[name] for name in (READ, "write")}
ENTRIES: Final = 4
SMALL: Final = {
    "host_calls": ENTRIES,
    "concurrent_host_calls": 2,
    "host_result_bytes": 2,
    "cumulative_host_result_bytes": 6,
}


class State(NamedTuple):
    """The parent, the observer's books, and the names of the batch once it has been sent."""

    seen: Seen
    names: tuple[str, ...] = ()


class Barriers:
    """Batches of up to four entries; two entries of a group run at once."""

    def __init__(self, name: str, rules: Rules, boundary: Boundary) -> None:
        self.name = name
        self.rules = rules
        self._boundary = boundary
        self._first = rules.tables.endpoints["parent"].initial

    def initial(self) -> State:
        """The worker was just spawned."""
        return State(Seen(parents.start(self.rules)))

    def final(self, state: State) -> bool:
        """The batch is committed, or the invocation has ended."""
        parent = state.seen.parent
        return bool(state.names) and (parent.batch is None or parent.outcome is not None)

    def moves(self, state: State) -> Iterator[Move]:
        """A batch is sent; operations answer, time passes, or it is cancelled; then a call."""
        if state.seen.parent.state == self._first:
            step = self._boundary.on_event(self.rules, state.seen.parent, "execute_sent", None)
            yield self._moved(state, Told("execute_sent", None), step)
            return
        if not state.names:
            for length in range(1, ENTRIES + 1):
                for names in product(OPERATIONS, repeat=length):
                    yield self._send(state, names)
        elif state.seen.parent.batch is not None:
            yield from self._under_way(state)
        elif not (state.seen.parent.outcome or state.seen.parent.in_flight):
            yield self._call(state, HostCall(state.seen.parent.calls + 1, READ))

    def _under_way(self, state: State) -> Iterator[Move]:
        parent = state.seen.parent
        for number in parent.in_flight:
            for answer in (Answer(number, size=2), Answer(number, fault="failed")):
                step = self._boundary.on_answer(self.rules, parent, answer)
                yield self._moved(state, Told("answer", answer), step)
        for event in ("cancel", "deadline" if parent.late else parents.TIME_UP):
            step = self._boundary.on_event(self.rules, parent, event, None)
            yield self._moved(state, Told(event, None), step)

    def _send(self, state: State, names: tuple[str, ...]) -> Move:
        batch = HostBatch(tuple(HostCall(number, name) for number, name in enumerate(names, 1)))
        step = self._boundary.on_event(self.rules, state.seen.parent, "host_batch", batch)
        return self._moved(state._replace(names=names), Told("host_batch", batch), step)

    def _call(self, state: State, call: HostCall) -> Move:
        step = self._boundary.on_event(self.rules, state.seen.parent, "host_call", call)
        names = (*state.names, call.operation)
        return self._moved(state._replace(names=names), Told("host_call", call), step)

    def _moved(self, state: State, told: Told, step: Step) -> Move:
        before = state.seen
        answered = told.frame.call_id if isinstance(told.frame, Answer) else None
        watch, broken = observe(self.rules, before.watch, before.parent, step, answered)
        broken += self._order(state, step, answered)
        after = state._replace(seen=Seen(step.parent, watch))
        covered = covers(self.rules, before.parent, told.event, step, told.frame)
        batch = step.parent.batch
        if step.parent.outcome is not None:
            covered += ("a batch is cut off",)
        elif batch is not None and batch.batch.stopped:
            covered += ("a batch is stopped",)
        elif before.parent.batch is not None and batch is None:
            covered += (f"a batch of {', '.join(state.names)}",)
        return Move(told, after, covered, broken, (told.event, told.frame, step))

    @staticmethod
    def _order(state: State, step: Step, answered: int | None) -> tuple[str, ...]:
        found = []
        watch, names = state.seen.watch, state.names
        running = set(watch.open) - {answered}
        started = list(watch.dispatched)
        replied = len(watch.answered)
        for action in step.actions:
            match action:
                case Dispatch(call_id=number):
                    alone = [names[other - 1] != READ for other in running]
                    if running and (names[number - 1] != READ or any(alone)):
                        found.append("something runs beside a barrier")
                    if started and number < max(started):
                        found.append("entries are dispatched out of order")
                    running.add(number)
                    started.append(number)
                case Reply(call_id=number):
                    replied += 1
                    if number != replied:
                        found.append("results are not committed in input order")
        return tuple(found)
