"""The parent around its invocations: cancellation, several at once, faults one after another."""

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

import codemode_reference
import pytest
from codemode_reference import Failure, Operation, Parent, Success
from codemode_reference.codes import Code


class Gate:
    """An operation that says when it runs and whether it was cancelled."""

    def __init__(self):
        self.entered = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.release = asyncio.Event()

    async def wait(self, arguments):
        """Run until released or cancelled."""
        self.entered.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return arguments


def story(limits, tell, **rows):
    """Run `await tell(parent, gate)` with a parent that has the operation `gate`."""

    async def run():
        gate = Gate()
        parent = Parent({**limits, **rows}, [Operation("gate", gate.wait)])
        try:
            await tell(parent, gate)
        finally:
            await parent.close()

    asyncio.run(run())


def test_a_cancelled_invocation_ends_at_once(limits):
    """The client gets `cancelled`, the operation is cancelled, the parent goes on."""

    async def tell(parent, gate):
        cancel = asyncio.Event()
        running = asyncio.create_task(parent.invoke("await codemode.gate()", cancel=cancel))
        await gate.entered.wait()
        cancel.set()
        outcome = await running
        assert outcome.to_json() == {
            "code": "cancelled",
            "message": "the invocation was cancelled",
        }
        await gate.cancelled.wait()
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell)


def test_an_invocation_that_is_cancelled_before_it_starts(limits):
    """It ends as cancelled too."""

    async def tell(parent, gate):
        cancel = asyncio.Event()
        cancel.set()
        assert (await parent.invoke("for (;;);", cancel=cancel)).code == Code.cancelled

    story(limits, tell)


def test_a_cancel_that_never_comes_changes_nothing(limits):
    """The value arrives and the event stays unused."""

    async def tell(parent, gate):
        cancel = asyncio.Event()
        assert await parent.invoke("return 1", cancel=cancel) == Success(True, 1)
        cancel.set()

    story(limits, tell)


def test_cancelling_the_calling_task_kills_the_worker(limits):
    """Whether it is starting or running, nothing is left of it."""

    async def tell(parent, gate):
        starting = asyncio.create_task(parent.invoke("return 1"))
        await asyncio.sleep(0)
        starting.cancel()
        running = asyncio.create_task(parent.invoke("await codemode.gate()"))
        await gate.entered.wait()
        running.cancel()
        outcomes = await asyncio.gather(starting, running, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 2
        await gate.cancelled.wait()
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell)


def test_operations_are_cancelled_at_the_deadline(limits):
    """Host work does not outlive its invocation."""

    async def tell(parent, gate):
        outcome = await parent.invoke("await codemode.gate()")
        assert outcome.code == Code.deadline_exceeded
        await gate.cancelled.wait()

    story(limits, tell, wall_time_ms=500)


def test_a_late_reply_reaches_nobody(limits):
    """An operation that will not be cancelled answers into nothing; the next run has its own."""

    async def stubborn(arguments):
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    release, started = asyncio.Event(), asyncio.Event()

    async def run():
        parent = Parent(
            {**limits, "wall_time_ms": 500},
            [Operation("op", stubborn), Operation("echo", Gate().wait)],
        )
        first = await parent.invoke("return await codemode.op()")
        assert first.code == Code.deadline_exceeded
        second = asyncio.create_task(parent.invoke("return codemode.op().then((v) => [v])"))
        started.clear()
        await started.wait()
        release.set()
        assert await second == Success(True, ["late"])
        await parent.close()

    asyncio.run(run())


def test_a_late_reply_does_not_reach_a_reused_descriptor(limits, tmp_path):
    """Also if the calling task was cancelled: the pipes are closed, their numbers are free."""
    release = asyncio.Event()

    async def stubborn(arguments):
        started.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        return "late"

    async def run():
        parent = Parent(limits, [Operation("op", stubborn)])
        running = asyncio.create_task(parent.invoke("return await codemode.op()"))
        await started.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        with contextlib.ExitStack() as stack:
            for number in range(8):
                stack.enter_context((tmp_path / f"{number}").open("w"))
            release.set()
            await parent.close()
        assert [file.read_bytes() for file in tmp_path.iterdir()] == [b""] * 8

    started = asyncio.Event()
    asyncio.run(run())


def test_invocations_run_side_by_side(limits):
    """Several at once keep their calls and values apart."""

    async def tell(parent, gate):
        gate.release.set()
        sources = [f"return [await codemode.gate({n}), {n}];" for n in range(8)]
        outcomes = await asyncio.gather(*map(parent.invoke, sources))
        assert [outcome.value for outcome in outcomes] == [[n, n] for n in range(8)]

    story(limits, tell, server_invocations=8, server_workers=8)


def test_every_fault_is_followed_by_a_healthy_run(limits):
    """Crash, timeout, memory, rejection: after each one the same parent works."""

    async def tell(parent, gate):
        for source in ("for (;;);", "let a = []; for (;;) a.push({});", "throw 1", "let let"):
            assert isinstance(await parent.invoke(source), Failure)
            assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell, wall_time_ms=800)


def test_a_stalled_program_does_not_wait_for_the_deadline(limits):
    """It ends in less than half of it."""

    async def tell(parent, gate):
        start = time.monotonic()
        outcome = await parent.invoke("await new Promise(() => {})")
        assert outcome.fields["reason"] == "stalled"
        assert time.monotonic() - start < 5

    story(limits, tell)


def test_a_fault_of_ours_is_an_internal_error(limits, monkeypatch, caplog):
    """The invocation ends, the parent does not."""

    async def tell(parent, gate):
        gate.release.set()
        with monkeypatch.context() as patch:
            patch.setattr("codemode_reference.wire.host_value", None)
            outcome = await parent.invoke("await codemode.gate()")
        assert outcome.code == Code.internal_error
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell)
    assert "the parent failed" in caplog.text


def test_a_worker_that_cannot_be_watched_is_a_failed_start(limits, monkeypatch):
    """It has run already, and must neither stay nor become a zombie."""

    async def tell(parent, gate):
        with monkeypatch.context() as patch:
            patch.setattr(os, "pidfd_open", lambda pid: os.open("/nonexistent", 0))
            assert (await parent.invoke("return 1")).code == Code.worker_start_failed
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell)


def test_a_worker_may_be_reaped_by_others(limits):
    """A process that ignores SIGCHLD loses the status, not the value, and no descriptor."""

    async def tell(parent, gate):
        assert await parent.invoke("return 1") == Success(True, 1)
        assert (await parent.invoke("throw 1")).code == Code.code_rejected
        assert (await parent.invoke("for (;;);")).code == Code.deadline_exceeded

    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        story(limits, tell, wall_time_ms=300)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_loop_that_closes_during_the_end_leaves_nothing(limits):
    """What `asyncio.run` cancels last is the end of an invocation."""

    async def run():
        gate = Gate()
        parent = Parent(limits, [Operation("gate", gate.wait)])
        running.append(asyncio.create_task(parent.invoke("await codemode.gate()")))
        await gate.entered.wait()
        running[0].cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        parent._workers._spawner.shutdown()
        parent._workers._janitor.shutdown()
        parent._scratch.close()

    running = []
    asyncio.run(run())
    assert running[0].cancelled()


def test_a_directory_that_cannot_be_made_is_a_failed_start(limits):
    """It is reported as such, and no worker is started."""

    async def tell(parent, gate):
        parent._scratch.path, kept = Path("/nonexistent"), parent._scratch.path
        assert (await parent.invoke("return 1")).code == Code.worker_start_failed
        parent._scratch.path = kept
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell)


def test_nothing_of_a_closed_parent_is_left(limits):
    """Its directory is gone, and host work with it."""
    paths = []

    async def tell(parent, gate):
        await parent.invoke("codemode.gate(); return 1")
        paths.append(parent._scratch.path)

    story(limits, tell)
    assert not paths[0].exists()


def test_without_a_pidfd_exits_are_waited_for_in_a_thread(limits, monkeypatch):
    """Where the system has none, everything still ends the same way."""
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delattr(os, "pipe2")

    async def tell(parent, gate):
        assert await parent.invoke("return 1") == Success(True, 1)
        outcome = await parent.invoke("return ('a'.repeat(5e5)+'b').indexOf('a'.repeat(25e4)+'c')")
        assert outcome in (Success(True, -1), outcome)
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell, wall_time_ms=500)


@pytest.mark.parametrize("source", [None, b"", b"return 1", 1])
def test_a_source_is_text(limits, source):
    """Anything else is the caller's mistake and no outcome."""

    async def tell(parent, gate):
        with pytest.raises(TypeError, match=f"a str, not {type(source).__name__}$"):
            await parent.invoke(source)

    story(limits, tell)


def test_the_package_has_only_its_names():
    """They are imported when they are asked for."""
    names = {name: getattr(codemode_reference, name) for name in codemode_reference.__all__}
    assert names["Parent"] is Parent
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = codemode_reference.nonsense


def test_windows_is_refused(monkeypatch):
    """With a message that says where it runs, before anything of Unix is imported."""
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(ImportError, match="Linux and macOS, not on Windows"):
        _ = codemode_reference.StartedAhead
