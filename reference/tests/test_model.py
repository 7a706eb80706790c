"""The reference beside the model: two readings of the tables, which must agree on every walk.

A walk is what any worker, any operation and any clock may do to a parent. The same walk is taken
by the model and, in bytes, by a session of the reference.
"""

from __future__ import annotations

import json
from collections import deque
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from codemode_reference import Operation, Success, default_policy
from codemode_reference.actions import Closed, Dispatch, End, Settled, Write
from codemode_reference.history import History
from codemode_reference.operations import Catalogue, Cost
from codemode_reference.records import Keeping
from codemode_reference.rules import frame_rules
from codemode_reference.session import Session
from codemode_spec.model import barriers, terms
from codemode_spec.model.barriers import Barriers
from codemode_spec.model.faults import FAULTS
from codemode_spec.model.parent import TIME_UP
from codemode_spec.model.searches import SOUND
from codemode_spec.model.spaces import OPERATIONS, SMALL, AnyWorker, small
from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.model.exploration import Move, Space
    from codemode_spec.model.terms import Rules

ID = 7
TABLES = load_tables()
VALUES = {1: 5, 2: 10, 3: 100}
"""A value of each size that a walk uses."""

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ONE_AT_ONCE = {"concurrent_host_calls": 1}
LONG = {"host_calls": 5, "pages": 3}
STATES = 1_000
"""So many states of the model are visited, the nearest first; from each, every move is made."""


async def unused(arguments: Any) -> Any:
    """What an operation does is part of the walk."""
    raise AssertionError(arguments)


CATALOGUE = Catalogue(
    [
        Operation(entry.name, unused, entry.effect, SCHEMA, cost=Cost(entry.pages, entry.snapshots))
        for entry in OPERATIONS.values()
    ]
).restricted([entry.name for entry in OPERATIONS.values() if entry.granted])


class Counted(History):
    """A history in which a call takes as much as it says, and nothing else takes anything."""

    def bytes_of(self, record: dict[str, Any]) -> int:
        """What the arguments name."""
        return record.get("arguments", {}).get("record", 0)


@cache
def _given(profile: str) -> tuple[dict[str, int], Any]:
    """The default policy and the frame rules of a profile, once for all walks."""
    return default_policy(profile), frame_rules(TABLES, TABLES.profiles[profile])


class Reference:
    """A session of the reference that takes the steps of a walk; `apart` splits what it reads."""

    def __init__(self, rules: Rules, *, apart: int = 0) -> None:
        policy, frames = _given(rules.profile.name)
        limits = {
            **policy,
            **{row: rules.policy[row] for row in SMALL if row in rules.policy},
        }
        self._limits = limits
        self._elapsed_ms = 1.0
        self._apart = apart
        keeping = Keeping()
        if rules.history_bytes is not None:
            keeping.history = Counted(rules.history_bytes)
        table = TABLES.endpoints["parent"]
        self.session = Session(ID, limits, CATALOGUE, table, frames, keeping)

    def take(self, event: str, frame: Any) -> list[Any]:
        """The actions of a step, as a list that can be compared."""
        return [told for action in self._take(event, frame) if (told := _told(action)) is not None]

    def _take(self, event: str, frame: Any) -> list[Any]:
        if event == TIME_UP:
            self._elapsed_ms = self._limits["wall_time_ms"] + 1.0
            return []
        if event == "answer":
            return self._answer(frame)
        if event == "oversized":
            return self._receive(b"x" * (self._limits["ipc_frame_bytes"] + 1))
        line = _line(event, frame)
        return self.session.event(event) if line is None else self._receive(line)

    def _receive(self, data: bytes) -> list[Any]:
        actions = []
        pieces = (data[: self._apart], data[self._apart :]) if self._apart else (data,)
        for piece in pieces:
            actions += self.session.receive(piece, self._elapsed_ms)
        return actions

    def _answer(self, answer: terms.Answer) -> list[Any]:
        if answer.fault == "failed":
            return self.session.fail(answer.call_id, self._elapsed_ms)
        value = VALUES[answer.size] if answer.fault is None else float("nan")
        return self.session.answer(answer.call_id, value, self._elapsed_ms)


@cache
def _line(event: str, frame: Any) -> bytes | None:
    """What a worker writes for an event, or None for what is no line."""
    fields: dict[str, Any] | None = {
        "execute": {"v": 1, "source": "", "limits": {}, "alternatives": {}, "operations": []},
        "host_result": {"call_id": 1, "ok": True, "value_present": True, "value": 1},
        "host_batch": {"call_id": 1, "calls": []},
        "progress": {"current": 1},
        "unknown": {},
        "malformed": {"call_id": True},
    }.get(event)
    if event == "host_call":
        fields = {"call_id": frame.call_id, **_call(frame)}
    elif event == "host_batch" and frame is not None:
        fields = {"call_id": frame.calls[0].call_id, "calls": list(map(_call, frame.calls))}
    elif event == "result":
        fields = {"ok": frame.error is None, "value_present": frame.present}
        if frame.present:
            fields["value"] = VALUES[frame.size]
        if frame.error is not None:
            fields["error"] = frame.error.fields()
    if fields is None:
        return None
    kind = {"malformed": "host_call", "unknown": "mystery"}.get(event, event)
    return json.dumps({"type": kind, "invocation_id": ID, **fields}).encode() + b"\n"


def _call(call: terms.HostCall) -> dict[str, Any]:
    arguments = {"n": 1 if call.valid else "1", "record": call.record}
    return {"operation": call.operation, "arguments": arguments}


def _told(action: Any) -> tuple[Any, ...] | None:
    """An action of either side in the same words."""
    match action:
        case Dispatch(call_id=call_id, operation=operation):
            return "dispatch", call_id, operation
        case Write(data=data):
            frame = json.loads(data)
            assert frame["invocation_id"] == ID
            assert frame["value_present"] is frame["ok"]
            return "reply", frame["call_id"], frame.get("value"), frame.get("error")
        case Settled():
            return ("settle",)
        case End(outcome=outcome):
            return "end", _shown(outcome)
        case Closed():
            return None
    raise AssertionError(action)


def _expected(action: terms.Action) -> tuple[Any, ...]:
    match action:
        case terms.Dispatch(call_id=call_id, operation=operation):
            return "dispatch", call_id, operation
        case terms.Reply(call_id=call_id, size=size, error=error):
            if error is None:
                return "reply", call_id, VALUES[size], None
            return "reply", call_id, None, error.fields()
        case terms.Settle():
            return ("settle",)
        case terms.End(outcome=outcome):
            # A walk gives one value of each size, and only one of these fits.
            value = VALUES[1] if outcome.present else None
            success = {"value_present": outcome.present, "value": value}
            return "end", success if outcome.error is None else outcome.error.fields()


def _shown(outcome: Any) -> dict[str, Any]:
    shown: dict[str, Any] = (
        {"value_present": outcome.value_present, "value": outcome.value}
        if isinstance(outcome, Success)
        else {"code": outcome.code, **outcome.fields}
    )
    return shown


class Walk(NamedTuple):
    """A state of the model, and the records of a shortest way to it."""

    state: Any
    way: tuple[Any, ...] = ()


def moves(space: Space, state: Any) -> Iterator[Move]:
    """What may come, but for blocked texts and progress, which these profiles do not have."""
    return (
        move
        for move in space.moves(state)
        if not getattr(move.record[1], "blocked", False) and move.record[0] != "progress"
    )


def nearest(space: Space) -> Iterator[Walk]:
    """The states of the model, the nearest first, each with a shortest way."""
    ahead = deque([Walk(space.initial())])
    seen = {ahead[0].state}
    while ahead:
        walk = ahead.popleft()
        yield walk
        for move in moves(space, walk.state):
            if move.state not in seen:
                seen.add(move.state)
                ahead.append(Walk(move.state, (*walk.way, move.record)))


def agreed(space: Space, way: tuple[Any, ...], *, apart: int = 0) -> Reference:
    """A reference that went this way with the model, step by step in agreement."""
    reference = Reference(space.rules, apart=apart)
    for number, (event, frame, step) in enumerate(way, 1):
        wanted = [_expected(action) for action in step.actions]
        assert reference.take(event, frame) == wanted, (number, event, frame, way)
        assert reference.session.ended == (step.parent.outcome is not None)
        if not reference.session.ended:
            assert reference.session.settled == (step.parent.settled is not None)
    return reference


def every_walk(space: Space) -> int:
    """Take every move from the nearest states; gives how many walks there were."""
    walks = 0
    for walk in islice(nearest(space), STATES):
        for move in moves(space, walk.state):
            agreed(space, (*walk.way, move.record))
            walks += 1
    return walks


@pytest.mark.parametrize("policy", [{}, ONE_AT_ONCE], ids=["two at once", "one at once"])
def test_every_move_from_the_nearest_states_is_the_models(policy) -> None:
    """Actions, replies and outcome agree after each step of every short walk."""
    space = AnyWorker("any worker", small(DEFAULT_PROFILE, policy), SOUND)
    assert every_walk(space) > 20_000


def test_every_move_of_batches_is_the_models() -> None:
    """Terminal budgets, batches and the history agree after each step of every short walk."""
    space = AnyWorker("batches", small("inline-sync"), SOUND, modules=True)
    assert every_walk(space) > 20_000


def test_every_plan_of_a_batch_is_the_models() -> None:
    """Reads and writes of up to four entries, in every order of answers."""
    rules = terms.rules(barriers.OPERATIONS, profile="inline-sync", policy=barriers.SMALL)
    assert every_walk(Barriers("plans", rules, SOUND)) > 2_000


@pytest.mark.parametrize(
    ("fault", "event"), [("one-more", "'host_call'"), ("reply-after-result", "'answer'")]
)
def test_a_fault_of_the_model_is_a_disagreement(fault, event) -> None:
    """The comparison can fail: on what is dispatched, and on what is written."""
    space = AnyWorker("any worker", small(DEFAULT_PROFILE), FAULTS[fault].boundary)
    with pytest.raises(AssertionError, match=event):
        every_walk(space)


@st.composite
def long_walks(draw) -> tuple[Any, ...]:
    """A walk of up to fourteen steps, that ends early only where everything has ended."""
    space = AnyWorker("any worker", small(DEFAULT_PROFILE, LONG), SOUND)
    state, way = space.initial(), []
    first = next(move for move in space.moves(state) if move.record[0] == "execute_sent")
    state, way = first.state, [first.record]
    for _ in range(draw(st.integers(1, 13))):
        # A walk that goes on is worth more than one that ends: half of the time it has to.
        every = list(moves(space, state))
        going_on = [move for move in every if move.state.parent.outcome is None]
        move = draw(st.sampled_from(going_on if going_on and draw(st.booleans()) else every))
        state = move.state
        way.append(move.record)
    return tuple(way)


@given(long_walks(), st.integers(0, 60))
@settings(max_examples=300)
def test_long_walks_are_the_models_wherever_the_bytes_are_split(way, apart) -> None:
    """A session says the same of lines that arrive in two pieces."""
    agreed(AnyWorker("any worker", small(DEFAULT_PROFILE, LONG), SOUND), way, apart=apart)
