"""Direct calls: one operation by itself, with the limits of the server and none of a program."""

import asyncio

import pytest
from codemode_reference import Operation, OperationError, Parent, Success
from codemode_reference.operations import Cost, invocation

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}}


async def echo(arguments):
    """Give the arguments back."""
    return arguments


async def fail(arguments):
    """Fail with a secret."""
    raise OperationError("secret-canary")


async def late(arguments):
    """Fail as a clock of its own does."""
    raise TimeoutError("secret-canary")


async def never(arguments):
    """Wait for ever."""
    await asyncio.Event().wait()


async def odd(arguments):
    """Give what is no JSON."""
    return {1: 2}


async def who(arguments):
    """Give the number of the caller."""
    return {"client": invocation.get(), "error": "for people"}


OPERATIONS = [
    Operation("echo", echo, arguments=NAMED, cost=Cost(pages=1)),
    *(Operation(one.__name__, one) for one in (fail, late, never, odd)),
    Operation("who", who, diagnostics=("/error",)),
    Operation("denied", echo, permits=lambda arguments: False),
]


def calling(limits, story, **rows):
    """Run `await story(call)`; `call(name, arguments)` is a direct call of client 5."""

    async def run():
        parent = Parent({**limits, **rows}, OPERATIONS)

        async def call(name, arguments=None):
            return await parent.call(name, arguments or {}, client=5)

        try:
            await story(call)
            turns = parent._host.slots.turns
            assert (turns.running, turns.waiting) == (0, 0)
        finally:
            await parent.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("echo", {"name": 1}, {"code": "invalid_arguments", "operation": "echo"}),
        ("echo", [1], {"code": "invalid_arguments", "operation": "echo"}),
        ("fail", {}, {"code": "operation_failed", "operation": "fail"}),
        ("late", {}, {"code": "operation_failed", "operation": "late"}),
        ("odd", {}, {"code": "host_result_invalid", "operation": "odd"}),
        ("denied", {}, {"code": "capability_denied", "operation": "denied"}),
        ("never", {}, {"code": "deadline_exceeded", "limit": 50}),
    ],
)
def test_a_failure_has_its_code(limits, name, arguments, told):
    """And none of the operation's own words."""

    async def story(call):
        outcome = await call(name, arguments)
        assert {**told, "message": outcome.message} == outcome.to_json()
        assert "secret" not in outcome.message

    calling(limits, story, wall_time_ms=50)


def test_pages_are_not_counted(limits):
    """A client may read as long as it likes."""

    async def story(call):
        for _ in range(3):
            assert await call("echo", {"name": "a"}) == Success(True, {"name": "a"})

    calling(limits, story, pages=1)


def test_a_value_is_bounded(limits):
    """As large as one for a program, and no larger."""

    async def story(call):
        assert await call("echo", {"name": "x" * 11}) == Success(True, {"name": "x" * 11})
        refused = await call("echo", {"name": "x" * 12})
        assert dict(refused.fields) == {"operation": "echo", "measured": 23, "limit": 22}

    calling(limits, story, host_result_bytes=22, cumulative_host_result_bytes=22)


def test_a_client_keeps_its_number_and_sees_diagnostics(limits):
    """What it opened is its own in the next call too; what is for people is for it."""

    async def story(call):
        assert await call("who") == Success(True, {"client": 5, "error": "for people"})

    calling(limits, story)


def test_calls_wait_for_their_turn_and_not_without_bound(limits):
    """One runs, 32 wait, the next is refused at once; the turns of the others come too late."""

    async def story(call):
        waiting = [asyncio.create_task(call("never")) for _ in range(33)]
        await asyncio.sleep(0)
        refused = await call("echo")
        assert (refused.code, refused.fields["limit"]) == ("server_host_operations_limit", 1)
        assert not any(task.done() for task in waiting)
        codes = [outcome.code for outcome in await asyncio.gather(*waiting)]
        assert codes == ["deadline_exceeded"] + ["server_host_operations_limit"] * 32

    calling(limits, story, server_host_operations=1, wall_time_ms=400)


def test_a_cancelled_call_gives_its_slot_back(limits):
    """And the operation is cancelled."""

    async def story(call):
        task = asyncio.create_task(call("never"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert await call("echo", {"name": "a"}) == Success(True, {"name": "a"})

    calling(limits, story, server_host_operations=1)
