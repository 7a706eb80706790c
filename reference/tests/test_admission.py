"""The limits of a server: programs and workers at once, and slots that always come back."""

import asyncio
import sys

import pytest
from codemode_reference import Failure, Operation, Parent, Success
from codemode_reference.capacity import Capacity


class Gate:
    """An operation that waits until it is let go."""

    def __init__(self):
        self.entered, self.open = asyncio.Semaphore(0), asyncio.Event()

    async def wait(self, arguments):
        """Say that it is here, then wait."""
        self.entered.release()
        await self.open.wait()
        return 1


def story(limits, tell, *, command=None, **rows):
    """Run `await tell(parent, gate)`; nothing is counted any more at the end."""

    async def run():
        gate = Gate()
        parent = Parent({**limits, **rows}, [Operation("gate", gate.wait)], worker_command=command)
        try:
            await tell(parent, gate)
            assert (parent._capacity.invocations, parent._capacity.workers) == (0, 0)
        finally:
            gate.open.set()
            await parent.close()

    asyncio.run(run())


WAIT = "return codemode.gate()"


@pytest.mark.parametrize(
    ("invocations", "workers", "code", "limit"),
    [
        (1, 2, "server_invocations_limit", 1),
        (2, 1, "server_workers_limit", 1),
        # Both are full: the invocations are looked at first.
        (1, 1, "server_invocations_limit", 1),
    ],
)
def test_a_full_server_refuses(limits, invocations, workers, code, limit):
    """At once, with the limit; what runs goes on, and afterwards there is room."""

    async def tell(parent, gate):
        running = asyncio.create_task(parent.invoke(WAIT))
        await gate.entered.acquire()
        refused = await parent.invoke("return 1")
        assert refused.to_json() == {
            "code": code,
            "limit": limit,
            "message": refused.message,
        }
        gate.open.set()
        assert await running == Success(True, 1)
        assert await parent.invoke("return 2") == Success(True, 2)

    story(limits, tell, server_invocations=invocations, server_workers=workers)


def test_a_program_is_judged_before_the_server_is(limits):
    """Its own fault is told even if there is no room."""

    async def tell(parent, gate):
        running = asyncio.create_task(parent.invoke(WAIT))
        await gate.entered.acquire()
        assert (await parent.invoke("  ")).code == "source_empty"
        assert (await parent.invoke("x" * 32769)).code == "source_bytes_limit"
        gate.open.set()
        await running

    story(limits, tell, server_invocations=1)


ENDINGS = {
    "value": "return 1",
    "uncaught": "throw 1",
    "syntax": "let let",
    "stalled": "await new Promise(() => {})",
    "deadline": "for (;;);",
    "memory": "const a = []; for (;;) a.push({})",
    "result": "return 'x'.repeat(50000)",
    "calls": "for (let n = 0; n < 17; n++) await codemode.call('nothing')",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_slots_come_back_on_every_ending(limits, ending):
    """More often than there are slots."""

    async def tell(parent, gate):
        for _ in range(3):
            await parent.invoke(ENDINGS[ending])
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell, server_invocations=1, server_workers=1, wall_time_ms=400)


@pytest.mark.parametrize("script", ["pass", "import os; os._exit(5)", "print('{')", None])
def test_slots_come_back_when_the_worker_is_at_fault(limits, script):
    """Breaking the protocol, exiting, not starting at all."""
    command = [sys.executable, "-I", "-S", "-c", script] if script else ["/nonexistent"]

    async def tell(parent, gate):
        codes = {(await parent.invoke("x")).code for _ in range(3)}
        assert codes <= {"worker_exited", "worker_protocol_error", "worker_start_failed"}

    story(limits, tell, command=command, server_invocations=1, server_workers=1)


def test_slots_come_back_when_the_caller_goes_away(limits):
    """By its event, or because its task is cancelled while it starts or runs."""

    async def tell(parent, gate):
        stop = asyncio.Event()
        asked = asyncio.create_task(parent.invoke(WAIT, cancel=stop))
        await gate.entered.acquire()
        stop.set()
        assert (await asked).code == "cancelled"
        running = asyncio.create_task(parent.invoke(WAIT))
        await gate.entered.acquire()
        running.cancel()
        starting = asyncio.create_task(parent.invoke(WAIT))
        await asyncio.wait([running])
        starting.cancel()
        await asyncio.wait([starting])
        # The worker that was starting is ended behind the scenes.
        async with asyncio.timeout(30):
            while isinstance(await parent.invoke("return 1"), Failure):  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell, server_invocations=1, server_workers=1)


def test_a_worker_is_counted_until_it_is_reaped():
    """And given back once, whoever asks."""
    capacity = Capacity({"server_invocations": 1, "server_workers": 1})
    with capacity.invocation():
        place = capacity.worker()
    assert capacity.refusal().code == "server_workers_limit"
    place.release()
    place.release()
    assert capacity.workers == 0
    assert capacity.refusal() is None
