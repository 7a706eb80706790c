"""What invocations share, as a state space: slots that come and go while calls wait in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from codemode_spec.model import server
from codemode_spec.model.exploration import Move
from codemode_spec.model.server import Admission, Request, Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from codemode_spec.model.terms import Rules

SMALL: Final = {
    "server_invocations": 2,
    "server_workers": 2,
    "server_host_operations": 2,
    "executions_per_minute": 1,
}
CALLS: Final = 2
"""Calls of one invocation."""


@dataclass(frozen=True)
class Server:
    """The server's functions, which a planted fault may replace."""

    leave: Callable[[Rules, Slots, int], Slots] = server.leave
    finish: Callable[[Rules, Slots, int, int], Slots] = server.finish
    release: Callable[[Admission], Admission] = server.release


def refused(rules: Rules) -> tuple[Request, ...]:
    """One request for each check of the request itself, one byte above what the profile allows."""
    source, parts = rules.policy["source_bytes"], rules.tables.execute_parts
    encoded = source * parts.source_factor + parts.source_extra_bytes
    return (
        Request(unknown_field=True),
        Request(option_above=True),
        Request(empty=True),
        Request(source_bytes=source + 1),
        Request(encoded_bytes=encoded + 1),
        Request(blocked=True),
    )


class Client(NamedTuple):
    """One client's program: not started, running with so many calls made, or over."""

    stage: str = "new"
    made: int = 0


class State(NamedTuple):
    """The server, its clients, and the last call of each that was given a slot."""

    admission: Admission = Admission()
    slots: Slots = Slots()
    clients: tuple[Client, ...] = (Client(), Client(), Client())
    served: tuple[int, ...] = (0, 0, 0)


class Sharing:
    """Three clients on a server that takes two programs and runs two operations at once."""

    def __init__(self, name: str, rules: Rules, boundary: Server) -> None:
        self.name = name
        self.rules = rules
        self._server = boundary

    def initial(self) -> State:
        """Nobody is there."""
        return State()

    def final(self, state: State) -> bool:
        """Every program is over."""
        return all(client.stage == "over" for client in state.clients)

    def moves(self, state: State) -> Iterator[Move]:
        """A client starts, calls or ends; an operation is done; a call that waits gives up."""
        for who, client in enumerate(state.clients):
            if client.stage == "new":
                yield from self._starts(state, who)
            if client.stage == "running":
                if client.made < CALLS:
                    yield self._call(state, who)
                yield self._ends(state, who)
        for who, call in sorted(state.slots.running):
            slots = self._server.finish(self.rules, state.slots, who, call)
            yield self._moved(state, f"call {call} of {who} is done", slots)
        for who, waiting in state.slots.queues:
            slots = server.give_up(state.slots, who, waiting[0])
            move = self._moved(state, f"call {waiting[0]} of {who} has no time left", slots)
            yield move._replace(covers=("parent_host_call server_queue failed",))

    def _starts(self, state: State, who: int) -> Iterator[Move]:
        yield self._start(state, who, Request(str(who)))
        if who:
            return
        for request in refused(self.rules):
            yield self._start(state, who, request._replace(client="0"))
        # A start that fails is on record: the next has to wait for its minute to pass.
        if not state.admission.starts:
            yield self._start(state, who, Request("0", spawns=False))
        yield self._start(state, who, Request("0", now=server.WINDOW_MS - 1))
        yield self._start(state, who, Request("0", now=server.WINDOW_MS))

    def _start(self, state: State, who: int, request: Request) -> Move:
        admitted = server.admit(self.rules, state.admission, request)
        after = state._replace(admission=admitted.admission)
        if admitted.error is None:
            after = after._replace(clients=_with(state.clients, who, Client("running")))
        told = "is admitted" if admitted.error is None else f"has {admitted.error.code}"
        broken = self._broken(state, after)
        seen = server.recent(state.admission, request.client, request.now)
        if admitted.error is None and seen >= self.rules.policy["executions_per_minute"]:
            broken += ("executions_per_minute is exceeded",)
        covered = tuple(note.rule for note in admitted.notes)
        return Move(f"client {who} {told}", after, covered, broken)

    def _call(self, state: State, who: int) -> Move:
        call = state.clients[who].made + 1
        slots = server.arrive(self.rules, state.slots, who, call)
        clients = _with(state.clients, who, Client("running", call))
        return self._moved(
            state._replace(clients=clients), f"client {who} makes call {call}", slots
        )

    def _ends(self, state: State, who: int) -> Move:
        slots = self._server.leave(self.rules, state.slots, who)
        after = state._replace(
            admission=self._server.release(state.admission),
            clients=_with(state.clients, who, Client("over")),
        )
        return self._moved(after, f"client {who} ends", slots)

    def _moved(self, state: State, label: str, slots: Slots) -> Move:
        started = sorted(slots.running - state.slots.running)
        served = state.served
        broken = []
        for who, call in started:
            if call <= served[who]:
                broken.append("calls of one invocation run out of order")
            served = (*served[:who], call, *served[who + 1 :])
        after = state._replace(slots=slots, served=served)
        broken += self._turns(state, slots, [who for who, _ in started])
        return Move(label, after, (), (*broken, *self._broken(state, after)))

    @staticmethod
    def _turns(state: State, slots: Slots, started: list[int]) -> list[str]:
        """Nobody is served twice while another that waited before goes without."""
        waited = [who for who, _ in state.slots.queues]
        left_out = [who for who, _ in slots.queues if who in waited and who not in started]
        greedy = [who for who in started if started.count(who) > 1]
        return ["one invocation is served twice in another's turn"] * bool(greedy and left_out)

    def _broken(self, before: State, after: State) -> tuple[str, ...]:
        policy = self.rules.policy
        running = sum(client.stage == "running" for client in after.clients)
        counts = {
            "server_invocations": after.admission.invocations,
            "server_workers": after.admission.workers,
            "server_host_operations": len(after.slots.running),
        }
        found = [f"{row} is exceeded" for row, used in counts.items() if used > policy[row]]
        if not after.admission.invocations == after.admission.workers == running:
            found.append("a slot of the server is lost")
        full = len(after.slots.running) == policy["server_host_operations"]
        if after.slots.queues and not full:
            found.append("a call waits beside a free slot")
        alive = {who for who, client in enumerate(after.clients) if client.stage == "running"}
        holding = {who for who, _ in after.slots.running} | {who for who, _ in after.slots.queues}
        if holding - alive:
            found.append("an invocation that is over holds or waits for a slot")
        if len(after.admission.starts) < len(before.admission.starts):
            found.append("a recorded start is forgotten")
        return tuple(found)


def _with(clients: tuple[Client, ...], who: int, client: Client) -> tuple[Client, ...]:
    return (*clients[:who], client, *clients[who + 1 :])
