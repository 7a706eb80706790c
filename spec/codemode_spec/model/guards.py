"""A worker against any parent, as a state space: its guards, and what it makes of any frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.model import worker as workers
from codemode_spec.model.exploration import Move
from codemode_spec.model.spaces import Told
from codemode_spec.model.terms import UNCAUGHT, HostCall, Refusal, Result, Rules
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
    Settled(thrown=UNCAUGHT),
    Settled(thrown=Refusal("pages_limit", "read", limit=1)),
)
"""How the program may end; the last one is an error that no bridge has made."""


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
        for wish in WISHES if len(worker.waiting) < 2 else ():
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
        after = state._replace(
            worker=worker, status=status if state.status is None else state.status
        )
        cell = (f"worker {state.worker.state} {event}",)
        broken = []
        if state.worker.state == self._end and after != state:
            broken.append("a worker that is over does something")
        return Move(Told(event, None), after, cell, tuple(broken), (event, None, after, None))

    def _reply(self, state: State, call_id: int, error: Refusal | None) -> Move:
        asking = workers.on_reply(self.rules, state.worker, call_id, error)
        freed = state._replace(open=state.open - {call_id})
        cell = (f"worker {state.worker.state} host_result",)
        record = ("host_result", (call_id, error))
        return self._asked(freed, asking, f"host_result {call_id}", cell, record)

    def _asks(self, state: State, wish: Wish) -> Move:
        asking = workers.ask(self.rules, state.worker, wish)
        return self._asked(state, asking, Told("ask", wish), (), ("ask", wish))

    def _asked(
        self, state: State, asking: Asking, label: object, cell: tuple[str, ...], record: Any
    ) -> Move:
        after = state._replace(worker=asking.worker)
        covered = (*cell, *(note.rule for note in asking.notes))
        broken: tuple[str, ...] = ()
        sent: HostCall | Result | None = asking.frame
        if asking.frame is not None:
            worker, _ = workers.on_event(self.rules, asking.worker, "host_call_sent")
            broken = self._guarded(state, asking.frame)
            after = after._replace(
                worker=worker, sent=state.sent + 1, open=state.open | {asking.frame.call_id}
            )
            covered += ("worker running host_call_sent",)
        elif asking.error is not None and self.rules.ends(asking.error.code):
            sent = Result(error=asking.error)
            after = self._over(after)
        told = (*record, after, (sent, asking.error))
        return Move(label, after, covered, broken, told)

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
        covered = ("worker running result_sent", *(note.rule for note in notes))
        named = result.error
        foreign = (
            named is not None
            and named.code not in ("code_rejected", "final_result_bytes_limit")
            and named not in state.worker.known
        )
        broken = ("an error that no bridge has made keeps its code",) * foreign
        return Move(
            Told("end", settled), after, covered, broken, ("end", settled, after, (result, None))
        )

    def _over(self, state: State) -> State:
        worker, _ = workers.on_event(self.rules, state.worker, "result_sent")
        ended = worker._replace(waiting=())
        return state._replace(worker=ended, status=0, open=frozenset(), results=state.results + 1)
