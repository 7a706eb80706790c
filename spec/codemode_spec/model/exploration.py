"""A state space searched to its end, breadth first, so that the first broken trace is a shortest.

A space gives the moves out of a state. Each move says which rules it exercised (`covers`) and
which invariants it broke.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from codemode_spec.tables import Tables

MOST_STATES: Final = 2_000_000
"""A space with more states than this is not searched to its end, and that is an error."""


class Move(NamedTuple):
    """One step: its label (whose text is the input in words), where it leads, and what it showed.

    `record` is the step as data, for traces that others can replay.
    """

    label: object
    state: Hashable
    covers: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    record: Any = None


class Space(Protocol):
    """A state space: where it starts, where it can go, and where it may stop."""

    name: str

    def initial(self) -> Hashable:
        """The first state."""

    def moves(self, state: Any) -> Iterable[Move]:
        """Every move out of a state, in an order that is always the same."""

    def final(self, state: Any) -> bool:
        """Whether everything has ended in this state."""


@dataclass(frozen=True)
class Violation:
    """A broken invariant, with a shortest way to it."""

    space: str
    invariant: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        steps = "".join(f"\n  {number}. {step}" for number, step in enumerate(self.trace, 1))
        return f"{self.space}: {self.invariant}, after{steps}"


@dataclass(frozen=True)
class Explored:
    """What a search found. `traces` exercise everything in `covered`, each a list of moves."""

    space: str
    states: int
    moves: int
    finals: int
    covered: frozenset[str]
    traces: tuple[tuple[Move, ...], ...]
    violation: Violation | None


class _Way(NamedTuple):
    before: Hashable
    move: Move


def explore(space: Space, *, most: int = MOST_STATES) -> Explored:
    """Search the whole space. OverflowError when it has more than `most` states."""
    first = space.initial()
    ways: dict[Hashable, _Way | None] = {first: None}
    into: dict[Hashable, list[Hashable]] = {}
    reached: dict[str, _Way] = {}
    finals: list[Hashable] = []
    count = 0
    ahead = deque([first])
    while ahead:
        state = ahead.popleft()
        if space.final(state):
            finals.append(state)
        for move in space.moves(state):
            count += 1
            if move.broken:
                trace = (*_labels(ways, state), str(move.label))
                broken = Violation(space.name, "; ".join(move.broken), trace)
                return Explored(
                    space.name, len(ways), count, len(finals), frozenset(reached), (), broken
                )
            for rule in move.covers:
                reached.setdefault(rule, _Way(state, move))
            into.setdefault(move.state, []).append(state)
            if move.state not in ways:
                ways[move.state] = _Way(state, move)
                ahead.append(move.state)
                if len(ways) > most:
                    raise OverflowError(f"{space.name}: more than {most} states")
    stuck = _stuck(ways, into, finals)
    violation = None
    if stuck is not None:
        violation = Violation(space.name, "nothing ends from here", _labels(ways, stuck))
    return Explored(
        space.name,
        len(ways),
        count,
        len(finals),
        frozenset(reached),
        _covering(ways, reached),
        violation,
    )


def _path(ways: Mapping[Hashable, _Way | None], state: Hashable) -> list[Move]:
    found = []
    way = ways[state]
    while way is not None:
        found.append(way.move)
        way = ways[way.before]
    return found[::-1]


def _labels(ways: Mapping[Hashable, _Way | None], state: Hashable) -> tuple[str, ...]:
    return tuple(str(move.label) for move in _path(ways, state))


def _stuck(
    ways: Mapping[Hashable, _Way | None],
    into: Mapping[Hashable, Sequence[Hashable]],
    finals: Sequence[Hashable],
) -> Hashable | None:
    """The first state found from which no final state can be reached, or None."""
    able = set(finals)
    ahead = list(finals)
    while ahead:
        for before in into.get(ahead.pop(), ()):
            if before not in able:
                able.add(before)
                ahead.append(before)
    return next((state for state in ways if state not in able), None)


def _covering(
    ways: Mapping[Hashable, _Way | None], reached: Mapping[str, _Way]
) -> tuple[tuple[Move, ...], ...]:
    """Few traces that exercise every rule: the longest ways first, then what they leave out."""
    traces = {rule: [*_path(ways, way.before), way.move] for rule, way in reached.items()}
    chosen = []
    left = set(traces)
    for rule in sorted(traces, key=lambda name: (-len(traces[name]), name)):
        if rule in left:
            left -= {covered for move in traces[rule] for covered in move.covers}
            chosen.append(tuple(traces[rule]))
    return tuple(chosen)


def expected(tables: Tables) -> tuple[str, ...]:
    """Every rule that the searches together must exercise.

    These are the cells of both protocol tables, each check passed, and each that can fail failed,
    but for those about bytes and shapes, which reach the model as events.
    """
    cells = [
        f"{endpoint.name} {state} {event}"
        for endpoint in tables.endpoints.values()
        for state, event in product(endpoint.states, endpoint.events)
    ]
    for place in tables.places.values():
        for check in place.checks:
            cells.append(f"{place.name} {check.check} passed")
            if check.answer is not None and check.event is None:
                cells.append(f"{place.name} {check.check} failed")
    return tuple(cells)
