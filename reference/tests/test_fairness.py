"""The slots that all invocations share: fair, and never lost."""

import asyncio

import pytest
from codemode_reference.fairness import NoTurnError, Slots, Turns
from hypothesis import given
from hypothesis import strategies as st


def test_invocations_take_turns():
    """One call of each invocation after the other, whoever came first with many."""
    turns = Turns(1)
    assert turns.arrive("a", 1) == [1]
    for owner, call in [("a", 2), ("a", 3), ("b", 4), ("b", 5), ("c", 6)]:
        assert turns.arrive(owner, call) == []
    order, call = [], [1]
    while call:
        order += call
        call = turns.leave("?", call[0])
    assert order == [1, 2, 4, 6, 3, 5]


def test_calls_that_wait_can_leave():
    """One that leaves is not served, and its owner keeps its place for the others."""
    turns = Turns(1)
    turns.arrive("a", 1)
    turns.arrive("a", 2)
    turns.arrive("b", 3)
    assert turns.leave("a", 2) == []
    assert turns.waiting == 1
    assert turns.leave("a", 1) == [3]
    assert turns.leave("a", 1) == []


events = st.lists(
    st.tuples(st.sampled_from(["arrive", "finish", "withdraw", "end"]), st.integers(0, 3)),
    max_size=60,
)


@given(st.integers(1, 4), events)
def test_slots_are_never_lost(limit, happened):
    """Whatever order calls arrive, finish, withdraw and end in, every slot is used and comes back.

    Within an invocation calls start in the order in which they came.
    """
    turns = Turns(limit)
    waiting, running = [], []
    for number, (what, owner) in enumerate(happened):
        mine = [call for call in waiting if call[0] == owner]
        if what == "arrive":
            waiting.append((owner, number))
            started = turns.arrive(owner, (owner, number))
        elif what == "finish" and running:
            call = running.pop(owner % len(running))
            started = turns.leave(call[0], call)
        elif what == "withdraw" and mine:
            waiting.remove(mine[-1])
            started = turns.leave(owner, mine[-1])
        elif what == "end":
            gone = mine + [call for call in running if call[0] == owner]
            started = []
            for call in gone:
                started += [one for one in turns.leave(owner, call) if one not in gone]
            waiting = [call for call in waiting if call not in gone]
            running = [call for call in running if call not in gone]
        else:
            continue
        for call in started:
            assert call == min(one for one in waiting if one[0] == call[0])
            waiting.remove(call)
            running.append(call)
        assert turns.running == len(running) == min(limit, len(running) + len(waiting))
        assert turns.waiting == len(waiting)
    for call in [*waiting, *running]:
        turns.leave(call[0], call)
    assert (turns.running, turns.waiting) == (0, 0)


def test_a_turn_that_does_not_come_in_time():
    """It is refused, takes no slot, and the next one is served."""

    async def run():
        slots = Slots(1)
        async with slots.turn("a", 0):
            with pytest.raises(NoTurnError):
                async with slots.turn("b", 0.01):
                    raise AssertionError
            assert (slots.turns.running, slots.turns.waiting) == (1, 0)
        async with slots.turn("b", -1):
            assert slots.turns.running == 1
        assert slots.turns.running == 0

    asyncio.run(run())


@pytest.mark.parametrize("served", [False, True])
def test_a_waiter_that_is_cancelled_holds_no_slot(served):
    """Neither while it waits nor when its turn has come in the same moment."""

    async def run():
        slots = Slots(1)
        done = asyncio.Event()

        async def hold(owner):
            async with slots.turn(owner, 60):
                await done.wait()

        first, second = (asyncio.create_task(hold(owner)) for owner in "ab")
        await asyncio.sleep(0)
        assert (slots.turns.running, slots.turns.waiting) == (1, 1)
        if served:
            first.cancel()
            while slots.turns.waiting:  # noqa: ASYNC110  it has no event
                await asyncio.sleep(0)
        second.cancel()
        done.set()
        await asyncio.wait([first, second])
        assert (slots.turns.running, slots.turns.waiting) == (0, 0)

    asyncio.run(run())
