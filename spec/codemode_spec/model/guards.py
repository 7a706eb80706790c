"""A worker against any parent, as a state space: its guards, and what it makes of any frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.model import worker as workers
from codemode_spec.model.exploration import Move
from codemode_spec.model.spaces import Told
from codemode_spec.model.terms import UNCAUGHT, HostCall, Refusal, Reply, Result, Rules
from codemode_spec.model.worker import Asking, Settled, Wish, Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

WISHES: Final = (
    Wish("read"),
    Wish("write"),
    Wish("nowhere"),
    Wish("read", fault="not_json"),
    Wish("read", fits=False, size=80_000),
)
ENDS: Final = (
    Settled(True, size=1),
    Settled(True, size=3),
    Settled(True, size=1, depth=129),
    Settled(True, fault="not_json"),
    Settled(),
    Settled(thrown=UNCAUGHT._replace(reason="stack")),
    Settled(thrown=Refusal("pages_limit", "read", limit=1)),
)
"""How the program may end; the last one is an error that no bridge has made."""


MOST_WAITING: Final = 3
"""Of three that wait, one can take a slot and two be refused in one turn after the other."""


class Exit(NamedTuple):
    """The worker exits."""

    status: int


class State(NamedTuple):
    """The worker, its exit status once it has one, and an observer's books."""

    worker: Worker
    status: int | None = None
    sent: int = 0
    open: frozenset[int] = frozenset()
    results: int = 0


class AnyParent:
    """A worker whose parent sends whatever it likes; the parent's errors are two."""

    def __init__(self, name: str, rules: Rules) -> None:
        self.name = name
        self.rules = rules
        endpoint = rules.tables.endpoints["worker"]
        self._end = endpoint.final
        self._most = rules.policy["concurrent_host_calls"]
        acts = ("host_call_sent", "host_batch_sent", "progress_sent", "result_sent")
        self._frames = [event for event in endpoint.events if event not in acts]
        self._acts = acts

    def initial(self) -> State:
        """Nothing has been read."""
        return State(workers.start(self.rules))

    def final(self, state: State) -> bool:
        """The worker is over."""
        return state.worker.state == self._end

    def moves(self, state: State) -> Iterator[Move]:
        """Any frame arrives; the program asks for something, or ends."""
        worker = state.worker
        running = worker.state == "running"
        # While it runs, a reply to no call is malformed; else it makes no difference.
        plain = [event for event in self._frames if event != "host_result" or not running]
        # The worker's own acts where it has none to make are faults of its own.
        for event in (*plain, *(() if running else self._acts)):
            yield self._event(state, event)
        if not running:
            return
        if worker.in_flight:
            for error in (None, Refusal("operation_failed", "read")):
                yield self._reply(state, worker.in_flight[0], error)
        for wish in WISHES if len(worker.waiting) < MOST_WAITING else ():
            yield self._asks(state, wish)
        for settled in (
            *ENDS,
            *(Settled(thrown=error) for error in sorted(worker.known, key=repr)),
        ):
            yield self._ends(state, settled)
        for event in ("host_batch_sent", "progress_sent"):
            yield self._event(state, event)

    def _event(self, state: State, event: str) -> Move:
        worker, status = workers.on_event(self.rules, state.worker, event)
        exits = (Exit(status),) if status is not None and state.status is None else ()
        after = state._replace(
            worker=worker, status=status if state.status is None else state.status
        )
        cell = (f"worker {state.worker.state} {event}",)
        broken = []
        if state.worker.state == self._end and after != state:
            broken.append("a worker that is over does something")
        return Move(Told(event, None), after, cell, tuple(broken), (event, None, after, exits))

    def _reply(self, state: State, call_id: int, error: Refusal | None) -> Move:
        asking = workers.on_reply(self.rules, state.worker, call_id, error)
        worker, turns = asking.worker, asking.turns
        freed = state._replace(worker=worker, open=state.open - {call_id})
        cell = f"worker {state.worker.state} host_result"
        # Where more than one has its turn, or one is refused in its turn, a trace shows it.
        had = "".join(", refused" if turn.error else ", sent" for turn in turns)
        asked = [wish.operation for wish in state.worker.waiting]
        had += " before another" if asked[1:] and asked[0] not in asked[1:] else ""
        reply = Reply(call_id, error=error)
        move = self._asked(freed, turns, Told("host_result", reply), ("host_result", reply))
        full = len(worker.in_flight) >= self._most or worker.state == self._end
        broken = ("a call waits beside a free slot",) * bool(worker.waiting and not full)
        return move._replace(
            covers=(cell, f"{cell}{had}", *move.covers), broken=(*move.broken, *broken)
        )

    def _asks(self, state: State, wish: Wish) -> Move:
        asking = workers.ask(self.rules, state.worker, wish)
        move = self._asked(state, (asking,), Told("ask", wish), ("ask", wish))
        return move._replace(covers=(*move.covers, f"{wish.operation}, {self.rules.readonly}"))

    def _asked(
        self, state: State, turns: tuple[Asking, ...], label: Told, record: tuple[str, Any]
    ) -> Move:
        after = state
        covered: tuple[str, ...] = ()
        broken: tuple[str, ...] = ()
        acts: tuple[Any, ...] = ()
        for asking in turns:
            covered += tuple(note.rule for note in asking.notes)
            after = after._replace(worker=asking.worker)
            if asking.frame is not None:
                acts += (asking.frame,)
                worker, _ = workers.on_event(self.rules, asking.worker, "host_call_sent")
                broken += self._guarded(after, asking.frame)
                after = after._replace(
                    worker=worker, sent=after.sent + 1, open=after.open | {asking.frame.call_id}
                )
                covered += ("worker running host_call_sent",)
            elif asking.error is not None and self.rules.ends(asking.error.code):
                covered += (f"{asking.error.code} ends a worker",)
                acts += (Result(error=asking.error), Exit(0))
                after = self._over(after)
            elif asking.error is not None:
                acts += (asking.error,)
        return Move(label, after, covered, broken, (*record, after, acts))

    def _guarded(self, state: State, frame: HostCall) -> tuple[str, ...]:
        policy = self.rules.policy
        found = []
        if frame.call_id != state.sent + 1:
            found.append("an id is not the last one plus 1")
        if state.sent >= policy["host_calls"]:
            found.append("more calls than host_calls are sent")
        if len(state.open) >= policy["concurrent_host_calls"]:
            found.append("more calls than concurrent_host_calls are in flight")
        return tuple(found)

    def _ends(self, state: State, settled: Settled) -> Move:
        result, notes = workers.finish(self.rules, state.worker, settled)
        after = self._over(state)
        named = result.error
        told = f"{settled.thrown or settled.present} leaves {named or result.present}"
        covered = ("worker running result_sent", *(note.rule for note in notes), told)
        foreign = (
            named is not None
            and named.code not in ("code_rejected", "final_result_bytes_limit")
            and named not in state.worker.known
        )
        broken = ("an error that no bridge has made keeps its code",) * foreign
        record = ("end", settled, after, (result, Exit(0)))
        return Move(Told("end", settled), after, covered, broken, record)

    def _over(self, state: State) -> State:
        worker, _ = workers.on_event(self.rules, state.worker, "result_sent")
        ended = worker._replace(waiting=())
        return state._replace(worker=ended, status=0, open=frozenset(), results=state.results + 1)
