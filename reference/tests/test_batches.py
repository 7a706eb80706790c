"""Batches: the plan beside the model's, and sixty-four entries through a worker."""

import asyncio
import json

import pytest
from codemode_reference import Operation, Parent
from codemode_reference.batch import Batch
from codemode_reference.bundle import runs
from codemode_spec.model import batch as model
from hypothesis import given, settings
from hypothesis import strategies as st

EFFECTS = st.lists(st.sampled_from(["read", "write"]), min_size=1, max_size=64)


@given(EFFECTS, st.integers(1, 5), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_a_plan_is_the_models(effects, limit, hooks, random):
    """What may run, in which order, and which results are due: whatever ends first."""
    entries = tuple(model.Entry("op", effect) for effect in effects)
    told = model.record(model.Batch(entries, limit, sequential=hooks))
    alone = [hooks or effect != "read" for effect in effects]
    ours = Batch(1, [("op", None)] * len(effects), alone, limit)
    given_out = []
    while not ours.over:
        started = []
        while (index := ours.ready()) is not None:
            started.append(index)
        assert tuple(started) == model.ready(told)
        for index in started:
            told = model.dispatch(told, index)
        index = random.choice(sorted(told.running))
        told = model.complete(told, index)
        ours.hold(index, index)
        given_out += [call_id - 1 for call_id, _ in ours.due()]
        assert given_out == list(range(told.committed))
    assert told.done == frozenset(range(len(effects)))


def test_a_batch_that_is_stopped_starts_nothing_more():
    """An entry that came too late is the last one."""
    ours = Batch(5, [("op", None)] * 3, [True, False, False], 2)
    assert ours.ready() == 0
    ours.stop(0)
    assert ours.ready() is None
    assert (4 in ours, 5 in ours, 7 in ours, 8 in ours) == (False, True, True, False)


@pytest.mark.skipif(not runs("inline-sync"), reason="the engine runs no synchronous programs")
@given(st.lists(st.sampled_from(["look", "put", "broken"]), min_size=64, max_size=64))
@settings(max_examples=5)
def test_sixty_four_mixed_entries_run_as_the_model_says(names):
    """Through a worker: order of dispatch, what runs beside what, results and evidence."""
    started, running, beside = [], set(), []

    async def work(arguments):
        index = arguments["i"]
        started.append(index)
        running.add(index)
        beside.append((index, frozenset(running)))
        await asyncio.sleep(0.0005 * (index * 7 % 5))
        running.discard(index)
        if names[index] == "broken":
            raise RuntimeError("secret")
        return index

    found = []

    async def story():
        effects = {"look": "read", "put": "write", "broken": "read"}
        operations = [Operation(name, work, effect) for name, effect in effects.items()]
        parent = Parent(None, operations, profile="inline-sync")
        entries = json.dumps([{"name": n, "args": {"i": i}} for i, n in enumerate(names)])
        try:
            return await parent.invoke(f"return tools.callAll({entries});", evidence=found.append)
        finally:
            await parent.close()

    outcome = asyncio.run(story())
    effect = {"look": "read", "put": "write", "broken": "read"}
    groups = model.plan(tuple(model.Entry(name, effect[name]) for name in names))
    group_of = {index: number for number, group in enumerate(groups) for index in group}
    assert started == list(range(64))
    assert all(len(others) <= 4 for _, others in beside)
    assert all(group_of[one] == group_of[index] for index, others in beside for one in others)
    failed = {"success": False, "code": "operation_failed", "operation": "broken"}
    assert outcome.value == [failed if name == "broken" else i for i, name in enumerate(names)]
    assert found[0].totals == {
        "succeeded": 64 - names.count("broken"),
        "failed": names.count("broken"),
        "unknown": 0,
    }
