"""What a parent runs at once: programs, workers and operations of the whole server."""

import asyncio

import pytest
from codemode_reference import Operation, Parent, Success
from codemode_reference.capacity import Capacity
from codemode_reference.operations import Cost

THREE = "const calls = [1, 2, 3].map((n) => codemode.gate(n)); return Promise.all(calls);"


class Gate:
    """An operation that runs until it is let go, and what it saw."""

    def __init__(self):
        self.running, self.most, self.entered = 0, 0, []
        self.free = asyncio.Event()

    async def wait(self, arguments):
        """Run until let go."""
        self.running += 1
        self.entered.append(arguments)
        self.most = max(self.most, self.running)
        try:
            await self.free.wait()
        finally:
            self.running -= 1
        return arguments


async def until(condition):
    """Let the loop run until this is true."""
    while not condition():  # noqa: ASYNC110  what is waited for has no event
        await asyncio.sleep(0.001)


def story(limits, tell, **rows):
    """Run `await tell(parent, gate)`."""

    async def run():
        gate = Gate()
        operations = [Operation("gate", gate.wait, cost=Cost(pages=1))]
        parent = Parent({**limits, **rows}, operations)
        try:
            await tell(parent, gate)
        finally:
            await parent.close()
        turns = parent._host.slots.turns
        assert (turns.running, turns.waiting) == (0, 0)
        assert (parent._capacity.invocations, parent._capacity.workers) == (0, 0)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ({"server_invocations": 1, "server_workers": 1}, "server_invocations_limit"),
        ({"server_invocations": 2, "server_workers": 1}, "server_workers_limit"),
    ],
)
def test_a_program_too_many_is_refused_at_once(limits, rows, code):
    """It does not wait, and the next one runs when there is room again."""

    async def tell(parent, gate):
        running = asyncio.create_task(parent.invoke("return codemode.gate(1);"))
        await until(lambda: gate.entered)
        refused = await parent.invoke("return 1")
        assert (refused.code, dict(refused.fields)) == (code, {"limit": 1})
        assert (await parent.invoke(" ")).code == "source_empty"
        gate.free.set()
        assert await running == Success(True, 1)
        assert await parent.invoke("return 2") == Success(True, 2)

    story(limits, tell, **rows)


def test_a_worker_that_cannot_be_reaped_keeps_its_place(limits):
    """The place is free when it is gone, and is given back once."""
    capacity = Capacity({**limits, "server_workers": 1})
    place = capacity.worker()
    assert capacity.refusal().code == "server_workers_limit"
    place.release()
    place.release()
    assert capacity.workers == 0
    assert capacity.refusal() is None


def test_operations_of_all_programs_share_the_slots(limits):
    """Calls beyond the limit wait, first in the order of invocations, and all are answered."""

    async def tell(parent, gate):
        running = [asyncio.create_task(parent.invoke(THREE)) for _ in range(2)]
        await until(lambda: parent._host.slots.turns.waiting == 4)
        assert gate.running == 2
        gate.free.set()
        assert await asyncio.gather(*running) == [Success(True, [1, 2, 3])] * 2
        assert gate.most == 2

    story(limits, tell, server_host_operations=2)


def test_a_call_whose_turn_comes_too_late_is_refused(limits):
    """The program can catch it, its page is used, and the operation has not run."""

    async def tell(parent, gate):
        source = """
            const first = codemode.gate(1);
            try { await codemode.gate(2); } catch (error) { return [error.code, error.limit]; }
        """
        outcome = await parent.invoke(source)
        assert outcome == Success(True, ["server_host_operations_limit", 1])
        assert gate.entered == [1]
        record = parent.last_stats.calls[1]
        assert (record.dispatched, record.code) == (False, "server_host_operations_limit")

    story(limits, tell, server_host_operations=1, wall_time_ms=900)


def test_waiting_calls_leave_with_their_program(limits):
    """A program that is cancelled while its calls wait leaves the queue to the others."""

    async def tell(parent, gate):
        cancel = asyncio.Event()
        first = asyncio.create_task(parent.invoke("return codemode.gate(0);"))
        await until(lambda: gate.entered)
        second = asyncio.create_task(parent.invoke(THREE, cancel=cancel))
        await until(lambda: parent._host.slots.turns.waiting == 3)
        cancel.set()
        assert (await second).code == "cancelled"
        gate.free.set()
        assert await first == Success(True, 0)
        assert gate.entered == [0]

    story(limits, tell, server_host_operations=1)


def test_statistics_count_by_code(limits):
    """Outcomes and calls by code, bytes of diagnostics, and no content."""

    async def tell(parent, gate):
        gate.free.set()
        await parent.invoke("return codemode.gate('secret')")
        await parent.invoke("throw new Error('secret')")
        await parent.invoke("for (let n = 0; n < 10; n++) await codemode.gate(n)")
        await parent.invoke("")
        assert parent.statistics.to_json() == {
            "outcomes": {"succeeded": 1, "code_rejected": 1, "pages_limit": 1, "source_empty": 1},
            "calls": {"succeeded": 9, "pages_limit": 1},
            "stderr_bytes": 0,
            "stderr_truncated": 0,
        }

    story(limits, tell)


def test_a_program_gets_what_is_granted(limits):
    """The others are not there for it; a grant of nothing is a mistake of the caller."""

    async def tell(parent, gate):
        source = "return Object.keys(codemode.help())"
        assert await parent.invoke(source, grants=[]) == Success(True, [])
        assert await parent.invoke(source, grants=["gate"]) == Success(True, ["gate"])
        with pytest.raises(ValueError, match="grant: none"):
            await parent.invoke(source, grants=["none"])

    story(limits, tell)
