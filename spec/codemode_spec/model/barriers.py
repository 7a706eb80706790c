"""A batch as a state space: every plan of reads and writes, in every order of answers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from codemode_spec.model import parent as parents
from codemode_spec.model.exploration import Move
from codemode_spec.model.spaces import Boundary, Seen, covers
from codemode_spec.model.terms import Answer, Dispatch, HostBatch, HostCall, Operation, Reply, Rules
from codemode_spec.model.watch import observe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.model.ledger import Step

OPERATIONS: Final = {
    "look": Operation("look"),
    "change": Operation("change", effect="write"),
}
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

    def initial(self) -> State:
        """`execute` was handed over."""
        return State(
            Seen(parents.on_event(self.rules, parents.start(self.rules), "execute_sent").parent)
        )

    def final(self, state: State) -> bool:
        """The batch is committed, or the invocation has ended."""
        parent = state.seen.parent
        return bool(state.names) and (parent.batch is None or parent.outcome is not None)

    def moves(self, state: State) -> Iterator[Move]:
        """A batch is sent; then operations answer, time passes, or it is cancelled."""
        if not state.names:
            for length in range(1, ENTRIES + 1):
                for names in product(OPERATIONS, repeat=length):
                    yield self._send(state, names)
            return
        parent = state.seen.parent
        if parent.outcome is not None:
            return
        for number in parent.in_flight:
            for answer in (Answer(number, size=2), Answer(number, fault="failed")):
                step = self._boundary.on_answer(self.rules, parent, answer)
                label = f"call {number} {answer.fault or 'answers'}"
                yield self._moved(state, label, "answer", step, number)
        for event in ("cancel", "deadline" if parent.late else parents.TIME_UP):
            step = self._boundary.on_event(self.rules, parent, event, None)
            yield self._moved(state, event, event, step)

    def _send(self, state: State, names: tuple[str, ...]) -> Move:
        batch = HostBatch(tuple(HostCall(number, name) for number, name in enumerate(names, 1)))
        step = self._boundary.on_event(self.rules, state.seen.parent, "host_batch", batch)
        label = f"a batch of {', '.join(names)}"
        return self._moved(state._replace(names=names), label, "host_batch", step)

    def _moved(
        self, state: State, label: str, event: str, step: Step, answered: int | None = None
    ) -> Move:
        before = state.seen
        watch, broken = observe(self.rules, before.watch, before.parent, step, answered)
        broken += self._order(state, step, answered)
        after = state._replace(seen=Seen(step.parent, watch))
        return Move(label, after, covers(self.rules, before.parent, event, step), broken)

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
                    alone = [names[other - 1] != "look" for other in running]
                    if running and (names[number - 1] != "look" or any(alone)):
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
