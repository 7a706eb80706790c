"""The end of a parent."""

import asyncio
import threading

import pytest
from codemode_reference import Operation, Parent
from codemode_reference.codes import Code


def test_closing_ends_what_runs(limits):
    """Running, starting or waiting to start: `cancelled`, awaited, and then nothing is left."""
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def gate(arguments):
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def run():
        rows = {"server_invocations": 9, "server_workers": 9}
        parent = Parent({**limits, **rows}, [Operation("gate", gate)])
        invoke = [asyncio.create_task(parent.invoke("return codemode.gate()"))]
        await entered.wait()
        invoke += [asyncio.create_task(parent.invoke("return codemode.gate()")) for _ in range(8)]
        await asyncio.sleep(0)
        await asyncio.gather(parent.close(), parent.close())
        assert all(task.done() for task in invoke)
        assert [task.result().code for task in invoke] == [Code.cancelled] * 9
        assert cancelled.is_set()
        assert not parent._scratch.path.exists()

    asyncio.run(run())


def test_a_program_that_waits_to_start_is_not_started_by_closing(using, monkeypatch):
    """One thread starts workers: who is next finds out that nobody wants it."""
    starts, closing = threading.Semaphore(0), threading.Event()

    def start(command, folder):
        starts.release()
        closing.wait(10)
        raise OSError

    async def tell(parent):
        monkeypatch.setattr("codemode_reference.process.start", start)
        tasks = [asyncio.create_task(parent.invoke("return 1")) for _ in range(3)]
        await asyncio.to_thread(starts.acquire)
        asyncio.get_running_loop().call_soon(closing.set)
        await parent.close()
        codes = [task.result().code for task in tasks]
        assert codes == [Code.worker_start_failed, Code.cancelled, Code.cancelled]

    using(tell)
    assert not starts.acquire(blocking=False)


def test_an_operation_may_close_the_parent(limits):
    """Its own invocation is one of those that end."""

    async def shut(arguments):
        await parents[0].close()

    async def run():
        parents.append(Parent(limits, [Operation("shut", shut)]))
        assert (await parents[0].invoke("await codemode.shut()")).code == Code.cancelled
        await parents[0].close()
        assert not parents[0]._scratch.path.exists()

    parents = []
    asyncio.run(run())


def test_a_closed_parent_runs_nothing(using):
    """It says so instead of failing to start."""

    async def tell(parent):
        await parent.close()
        with pytest.raises(RuntimeError, match="this parent is closed"):
            await parent.invoke("return 1")

    using(tell)
