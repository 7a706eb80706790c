"""What is on record of the calls of an invocation, whatever its program says."""

import asyncio

import pytest
from codemode_reference import Operation, Parent
from codemode_reference.bundle import runs
from codemode_reference.evidence import (
    MOST_PATHS,
    MOST_SHOWN,
    MOST_WARNINGS,
    CallRecord,
    Fate,
    changed,
    evidence_of,
    warn,
)
from codemode_reference.history import APPEND_BYTES, History

SYNC = {"profile": "inline-sync"}

pytestmark = pytest.mark.skipif(
    not runs("inline-sync"), reason="the engine that is installed runs no synchronous programs"
)


def run(source, operations, **options):
    """The outcome and the evidence of one program."""
    found = []

    async def story():
        parent = Parent(None, operations, **SYNC, **options)
        try:
            return await parent.invoke(source, evidence=found.append)
        finally:
            await parent.close()

    return asyncio.run(story()), found[0]


def test_failed_and_unknown_calls_come_first_in_a_bounded_preview():
    """What is cut is the least urgent, and the totals count all."""
    fates = [Fate.succeeded] * 50 + [Fate.failed, Fate.unknown]
    found = evidence_of("succeeded", [CallRecord(n, "op", fate) for n, fate in enumerate(fates, 1)])
    assert [call["fate"] for call in found.calls[:3]] == ["failed", "unknown", "succeeded"]
    assert len(found.calls) == MOST_SHOWN
    assert found.totals == {"succeeded": 50, "failed": 1, "unknown": 1}


def test_a_long_path_is_one_path_however_often_it_is_told():
    """Also by two calls; and two that begin alike are two, though they are shown cut."""
    records = [CallRecord(1, "op"), CallRecord(2, "op")]
    for record in records:
        for _ in range(3):
            record.change("p" * 300)
    records[1].change("p" * 300 + "q")
    found = evidence_of("succeeded", records)
    assert [record.changed_total for record in records] == [1, 2]
    assert (found.changed, found.changed_total) == (("p" * 256, "p" * 256), 2)


def test_paths_and_warnings_are_bounded_and_counted():
    """A record does not grow with what its operation tells."""
    records = [CallRecord(1, "op"), CallRecord(2, "op")]
    for number in range(1000):
        for record in records:
            record.change(f"{number}" * 100)
            record.warn("w" * 1000)
    found = evidence_of("succeeded", records)
    assert (len(found.changed), len(found.warnings)) == (MOST_PATHS, MOST_WARNINGS)
    assert found.warnings_total == 2000
    assert found.changed_total >= 1000
    assert max(map(len, (*found.changed, *found.warnings))) <= 256


def test_a_handler_tells_what_it_did():
    """Paths and warnings go to the record of the call that the handler works for."""

    async def put(arguments):
        changed(arguments["path"])
        warn("careful")
        return 1

    outcome, found = run(
        "return tools.callAll([1, 2].map((n) => ({name: 'put', args: {path: 'p' + n}})));",
        [Operation("put", put, "write")],
    )
    assert outcome.value == [1, 1]
    assert (found.changed, found.warnings_total) == (("p1", "p2"), 2)


def test_outside_of_a_call_nothing_is_told():
    """A handler of a direct call has no record, and may tell all the same."""
    changed("path")
    warn("text")


def test_a_program_inside_of_an_open_call_is_told_there():
    """The evidence of the inner program stands in the record of the outer call alone."""
    parents = []

    async def ask(_arguments):
        await parents[0].invoke("tools.call('echo'); throw 1;")
        return 1

    async def echo(arguments):
        return arguments

    async def story():
        operations = [Operation("ask", ask, "write"), Operation("echo", echo)]
        parents.append(Parent(None, operations, **SYNC))
        found = []
        try:
            await parents[0].invoke(
                "tools.call('echo'); return tools.call('ask');", evidence=found.append
            )
        finally:
            await parents[0].close()
        return found[0].to_json()

    (echoed, asked) = asyncio.run(story())["calls"]
    assert "inside" not in echoed
    assert asked["inside"][0]["program"] == "code_rejected"
    assert asked["inside"][0]["totals"] == {"succeeded": 1, "failed": 0, "unknown": 0}


def test_a_program_that_outlives_its_call_is_attached_to_nothing():
    """Once the call has its reply it is no longer sure whose the program is."""
    parents, later = [], []

    async def begin(_arguments):
        async def after():
            await asyncio.sleep(0.2)
            await parents[0].invoke("return 1;", evidence=later.append)

        later.append(asyncio.ensure_future(after()))
        return 1

    async def story():
        parents.append(Parent(None, [Operation("begin", begin)], **SYNC))
        found = []
        try:
            await parents[0].invoke("return tools.call('begin');", evidence=found.append)
            await later[0]
        finally:
            await parents[0].close()
        return found[0].to_json()

    (call,) = asyncio.run(story())["calls"]
    assert "inside" not in call
    assert later[1].program == "succeeded"


@pytest.mark.parametrize("size", [APPEND_BYTES - 2, APPEND_BYTES - 1])
def test_a_result_above_the_append_bound_is_told_and_not_kept(size):
    """Its outcome stays, its record has no result, and a warning says so."""
    lines = []

    async def text(_arguments):
        return "a" * size

    history = History(10**9, lines.append)
    outcome, found = run(
        "return tools.call('text').length;", [Operation("text", text)], history=history
    )
    assert outcome.value == size
    too_large = size + 2 > APPEND_BYTES
    assert found.warnings_total == too_large
    assert (b'"result"' in lines[1]) is not too_large
    assert history.used == sum(map(len, lines))
