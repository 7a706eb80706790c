"""What has gone wrong in parents elsewhere, over several invocations of one parent."""

import asyncio
import os
import signal

import pytest
from codemode_reference import Failure, Operation, Parent, PolicyError, Success, default_policy
from codemode_reference.capacity import InUse
from codemode_reference.evidence import Fate


class Host:
    """Operations that wait, and what they were given."""

    def __init__(self):
        self.sent = []
        self.entered = asyncio.Condition()
        self.free = asyncio.Event()

    async def echo(self, arguments):
        """Give the arguments back."""
        self.sent.append(arguments)
        return arguments

    async def gate(self, arguments):
        """Wait until all may go on."""
        async with self.entered:
            self.sent.append(arguments)
            self.entered.notify_all()
        await self.free.wait()
        return arguments

    async def enter(self, count):
        """Wait until so many are in."""
        async with self.entered:
            await self.entered.wait_for(lambda: len(self.sent) == count)


def story(tell, **rows):
    """Run `await tell(parent, host)`; nothing may be in use afterwards."""

    async def run():
        host = Host()
        operations = [Operation("echo", host.echo), Operation("gate", host.gate)]
        parent = Parent({**default_policy(), **rows}, operations)
        try:
            await tell(parent, host)
            assert parent.in_use == InUse(0, 0, 0, 0, 0)
        finally:
            await parent.close()

    asyncio.run(run())


async def killed(parent, host, by=signal.SIGKILL):
    """The worker dies in the middle of a call."""
    running = asyncio.create_task(parent.invoke("return codemode.gate('killed');"))
    await host.enter(len(host.sent) + 1)
    os.kill(parent.last_stats.pid, by)
    return (await running).code


async def cancelled(parent, host):
    """The client takes it back in the middle of a call."""
    cancel = asyncio.Event()
    running = asyncio.create_task(parent.invoke("return codemode.gate('cancel');", cancel=cancel))
    await host.enter(len(host.sent) + 1)
    cancel.set()
    return (await running).code


def no_child():
    """There is none, not even a dead one."""
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def program(source):
    """The code that a program fails with."""

    async def fault(parent, host):
        return (await parent.invoke(source)).code

    return fault


FAULTS = {
    "worker_exited": killed,
    "deadline_exceeded": program("for (;;);"),
    "code_rejected": program("const all = []; for (;;) all.push({});"),
    "final_result_bytes_limit": program("return 'b'.repeat(50000);"),
    "host_calls_limit": program("for (;;) await codemode.echo(1);"),
    "source_bytes_limit": program("x" * 40_000),
    "cancelled": cancelled,
}


@pytest.mark.parametrize("code", FAULTS)
def test_after_each_fault_the_next_program_has_its_value(code):
    """B163: with the calls that it makes itself; broken frames are in `reported/workers.yaml`."""

    async def tell(parent, host):
        for turn in range(2):
            assert await FAULTS[code](parent, host) == code
            assert parent.in_use == InUse(0, 0, 0, 0, 0)
            assert await parent.invoke(f"return codemode.echo({turn});") == Success(True, turn)

    story(tell, wall_time_ms=1500)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP"])
def test_a_native_crash_is_a_lost_worker_and_no_more(name):
    """B163: by whatever signal an engine dies."""

    async def tell(parent, host):
        assert await killed(parent, host, signal.Signals[name]) == "worker_exited"
        assert await parent.invoke("return 1") == Success(True, 1)

    story(tell)


def test_thirty_faults_leave_no_zombie_and_no_descriptor():
    """B157: the fixture of all tests counts both; a place that stays would refuse the fifth."""

    async def tell(parent, host):
        for _ in range(10):
            outcomes = await asyncio.gather(
                parent.invoke("for (;;);"),
                parent.invoke("throw 1"),
                parent.invoke("const all = []; for (;;) all.push({});"),
            )
            assert all(isinstance(outcome, Failure) for outcome in outcomes)
            no_child()

    story(tell, wall_time_ms=300)


def test_one_too_many_is_refused_and_no_fault_keeps_a_place():
    """B164: before and after twenty faults of four kinds, four run and the fifth is refused."""

    async def five(parent, host):
        host.sent.clear()
        host.free.clear()
        sources = [f"return codemode.gate({number});" for number in range(4)]
        running = [asyncio.create_task(parent.invoke(source)) for source in sources]
        await host.enter(4)
        refused = await parent.invoke("return 5")
        assert (refused.code, dict(refused.fields)) == ("server_invocations_limit", {"limit": 4})
        host.free.set()
        assert await asyncio.gather(*running) == [Success(True, number) for number in range(4)]

    async def tell(parent, host):
        await five(parent, host)
        host.free.clear()
        for _ in range(5):
            for code in ("worker_exited", "code_rejected", "cancelled", "source_bytes_limit"):
                assert await FAULTS[code](parent, host) == code
        await five(parent, host)

    story(tell)


def test_fewer_workers_than_invocations_refuse_too():
    """B164: the other limit has its own code."""

    async def tell(parent, host):
        running = asyncio.create_task(parent.invoke("return codemode.gate(1);"))
        await host.enter(1)
        refused = await parent.invoke("return 2")
        assert (refused.code, dict(refused.fields)) == ("server_workers_limit", {"limit": 1})
        host.free.set()
        assert await running == Success(True, 1)

    story(tell, server_workers=1)


def test_a_late_reply_does_not_answer_the_same_call_of_the_next_program():
    """B165: both are the first call of their program; the first one ends after its deadline."""
    late = asyncio.Event()

    async def stubborn(arguments):
        while not late.is_set():
            try:
                await late.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    async def tell():
        operations = [Operation("stubborn", stubborn), Operation("echo", Host().echo)]
        parent = Parent({**default_policy(), "wall_time_ms": 500}, operations)
        first = await parent.invoke("return codemode.stubborn();")
        assert first.code == "deadline_exceeded"
        (call,) = parent.last_stats.calls
        assert (call.call_id, call.fate) == (1, Fate.unknown)
        running = asyncio.create_task(parent.invoke("return codemode.echo('own');"))
        await asyncio.sleep(0)
        late.set()
        assert await running == Success(True, "own")
        assert (call.fate, call.code) == (Fate.succeeded, None)
        await parent.close()

    asyncio.run(tell())


@pytest.mark.parametrize("heap", [16384, 65536, 1_048_575])
def test_a_heap_in_which_no_engine_starts_is_no_policy(heap):
    """B028: one byte less than the least is refused with the name of the row, the least works."""
    with pytest.raises(PolicyError) as caught:
        Parent({**default_policy(), "memory_bytes": heap})
    assert (caught.value.code, caught.value.field) == ("invalid_policy", "memory_bytes")


def test_a_program_runs_in_the_least_heap_and_stack():
    """B028: what a policy allows is enough to start."""

    async def tell(parent, host):
        assert await parent.invoke("return codemode.echo([1]);") == Success(True, [1])

    story(tell, memory_bytes=1_048_576, stack_bytes=65_536)


def test_threads_are_needed_at_the_start_and_not_later(monkeypatch, tmp_path):
    """Where there is none there is no parent; one that is there starts its workers without more."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def no_room(thread):
        raise RuntimeError("can't start new thread")

    async def tell(parent, host):
        with monkeypatch.context() as patch:
            patch.setattr("threading.Thread.start", no_room)
            for _ in range(5):
                assert await parent.invoke("return 1") == Success(True, 1)
            with pytest.raises(RuntimeError, match="new thread"):
                Parent()

    story(tell)
    assert list(tmp_path.iterdir()) == []


def test_names_that_become_one_method_are_told_apart():
    """B104: each method calls its own operation, by its name too."""

    async def tell():
        ran = []

        def named(name):
            async def handler(arguments):
                ran.append(name)
                return name

            return Operation(name, handler)

        names = ["a-b", "a_b", "a.b", "class", "2x", "then", "call", "é", "ä"]
        parent = Parent(default_policy(), [named(name) for name in names])
        source = """
            const own = ["call", "help"];
            const methods = Object.keys(codemode).filter((name) => !own.includes(name));
            const by = [];
            for (const name of methods) by.push(await codemode[name]());
            return [new Set(methods).size, by];
        """
        assert await parent.invoke(source) == Success(True, [len(names), names])
        for name in names:
            source = f"return codemode.call({name!r}, {{}});"
            assert await parent.invoke(source) == Success(True, name)
        assert ran == names * 2
        await parent.close()

    asyncio.run(tell())
