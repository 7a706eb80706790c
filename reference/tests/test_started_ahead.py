"""Workers that wait for their program: used once, replaced without a word, gone in time."""

import asyncio
import os
import signal

import pytest
from codemode_reference import Operation, Parent, Success, default_policy
from codemode_reference.workers import StartedAhead, pool

WHO = "return codemode.who()"


def story(limits, tell, ahead=1, **rows):
    """Run `await tell(parent)`; the operation `who` tells which worker asks."""

    async def run():
        async def who(arguments):
            return parent.last_stats.pid

        parent = Parent({**limits, **rows}, [Operation("who", who)], started_ahead=ahead)
        try:
            await parent.ready()
            await tell(parent)
        finally:
            await parent.close()
        assert not parent._scratch.path.exists()

    asyncio.run(run())


def waiting(parent):
    """The numbers of the workers that wait, the next one first."""
    return [place.worker.pid for place in parent._workers._idle]


async def until(condition):
    """Let the loop run until it holds."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.001)


def test_a_worker_that_waits_is_used_once(limits):
    """Each program has a process of its own, started before it came."""

    async def tell(parent):
        used = []
        for _ in range(3):
            ready = waiting(parent)
            used += ready
            assert await parent.invoke(WHO) == Success(True, ready[0])
            await parent.ready()
        assert len({*used, *waiting(parent)}) == 4

    story(limits, tell)


def test_several_wait(limits):
    """As many as were asked for, and they serve programs that come together."""

    async def tell(parent):
        ready = waiting(parent)
        assert len(ready) == 3
        outcomes = await asyncio.gather(*[parent.invoke(WHO) for _ in range(3)])
        assert all(isinstance(outcome, Success) for outcome in outcomes)
        await parent.ready()
        assert len(waiting(parent)) == 3
        assert not {*ready} & {*waiting(parent)}

    story(limits, tell, ahead=3)


def test_its_limits_and_deadline_are_those_of_its_program(limits):
    """It has waited longer than its deadline, and its heap is as small as the policy says."""

    async def tell(parent):
        await asyncio.sleep(0.4)
        assert await parent.invoke("return 1") == Success(True, 1)
        outcome = await parent.invoke("for (;;);")
        assert (outcome.code, dict(outcome.fields)) == ("deadline_exceeded", {"limit": 300})
        outcome = await parent.invoke("const a = []; for (;;) a.push({})")
        assert outcome.fields["reason"] == "memory"

    story(limits, tell, wall_time_ms=300, memory_bytes=2**20)


def test_a_death_while_waiting_is_nobodys_business(limits):
    """The next program gets a fresh worker, whether the death was noticed or not."""

    async def tell(parent):
        (pid,) = waiting(parent)
        os.kill(pid, signal.SIGKILL)
        # Dead, and the loop has not heard of it yet.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222
        outcome = await parent.invoke(WHO)
        assert isinstance(outcome, Success)
        assert outcome.value != pid
        await parent.ready()
        (pid,) = waiting(parent)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: pid not in waiting(parent))
        assert await parent.invoke("return 1") == Success(True, 1)

    story(limits, tell)


def test_a_death_is_followed_by_a_new_start(limits, monkeypatch):
    """After a pause, without a program that asks for it."""
    monkeypatch.setattr("codemode_reference.workers._PAUSE", 0.01)

    async def tell(parent):
        await parent.invoke("return 1")
        await parent.ready()
        (pid,) = waiting(parent)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: waiting(parent) not in ([], [pid]))

    story(limits, tell)


def test_nothing_is_tried_again_once_the_frame_was_sent(limits):
    """The program may have begun."""

    async def tell(parent):
        (pid,) = waiting(parent)
        # It can take the frame and never answer.
        os.kill(pid, signal.SIGSTOP)
        running = asyncio.create_task(parent.invoke(WHO))
        await until(lambda: pid not in waiting(parent))
        await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        assert (await running).code == "worker_exited"

    story(limits, tell)


def test_another_policy_gets_other_workers(limits):
    """Those that wait are ended, programs that run keep their policy."""

    async def tell(parent):
        before = waiting(parent)
        running = asyncio.create_task(parent.invoke("return 'x'.repeat(100)"))
        await asyncio.sleep(0)
        assert len(waiting(parent)) == 1
        parent.change_policy({**limits, "final_result_bytes": 10})
        assert waiting(parent) == []
        assert await running == Success(True, "x" * 100)
        await parent.ready()
        assert not {*before} & {*waiting(parent)}
        outcome = await parent.invoke("return 'x'.repeat(100)")
        assert outcome.code == "final_result_bytes_limit"
        with pytest.raises(Exception, match="host_calls"):
            parent.change_policy({**limits, "host_calls": 0})

    story(limits, tell, ahead=2)


def test_old_ones_are_replaced_while_the_parent_is_used(limits):
    """A worker that waits too long gives way to a younger one."""

    async def tell(parent):
        await parent.invoke("return 1")
        await parent.ready()
        before = waiting(parent)
        await until(lambda: waiting(parent) not in ([], before))

    story(limits, tell, ahead=StartedAhead(1, age_seconds=0.2))


def test_a_parent_that_is_not_used_lets_go(limits):
    """And has a worker again with the next program."""

    async def tell(parent):
        await until(lambda: not waiting(parent))
        await asyncio.sleep(0.05)
        assert not waiting(parent)
        assert await parent.invoke("return 1") == Success(True, 1)
        await parent.ready()
        assert len(waiting(parent)) == 1

    story(limits, tell, ahead=StartedAhead(1, age_seconds=0.2, idle_seconds=0.1))


def test_workers_that_wait_are_workers_and_give_way(limits):
    """There are never more than the server may have, and no program is refused for one."""

    async def tell(parent):
        assert len(waiting(parent)) == 2
        outcomes = await asyncio.gather(*[parent.invoke(WHO) for _ in range(2)])
        assert all(isinstance(outcome, Success) for outcome in outcomes)
        await parent.ready()
        first = asyncio.create_task(parent.invoke("await codemode.who(); for (;;);"))
        await until(lambda: len(waiting(parent)) == 1)
        await parent.ready()
        assert len(waiting(parent)) == 1
        assert isinstance(await parent.invoke(WHO), Success)
        assert (await first).code == "deadline_exceeded"

    story(limits, tell, ahead=4, server_workers=2, wall_time_ms=2000)


def test_one_slot_is_never_two_workers(limits):
    """A program that comes while a worker starts ahead takes that one."""

    async def run():
        async def count(arguments):
            return len(waiting(parent)) + parent._capacity.workers

        one = {"server_workers": 1, "server_invocations": 1}
        parent = Parent({**limits, **one}, [Operation("count", count)], started_ahead=1)
        for _ in range(5):
            assert await parent.invoke("return codemode.count()") == Success(True, 1)
            # The next one begins to start now.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await parent.close()

    asyncio.run(run())


def test_a_worker_that_cannot_start_ahead_is_told_by_the_program(limits):
    """Nobody waited for it, so nobody heard of it."""

    async def run():
        parent = Parent(limits, worker_command=["/nonexistent"], started_ahead=1)
        await parent.ready()
        assert (await parent.invoke("x")).code == "worker_start_failed"
        await parent.close()

    asyncio.run(run())


def test_a_closed_parent_leaves_none(limits):
    """Not even one that is being started."""

    async def run():
        parent = Parent(limits, started_ahead=2)
        parent._workers.fill()
        await asyncio.sleep(0)
        await parent.close()
        parent._workers.fill()
        assert not waiting(parent)

    asyncio.run(run())


def test_it_waits_in_its_own_directory(limits):
    """Each of them in another one, which goes with it."""

    async def tell(parent):
        folders = {place.folder for place in parent._workers._idle}
        assert len(folders) == 2
        assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in folders)
        await asyncio.gather(*[parent.invoke(WHO) for _ in range(2)])
        parent._workers._janitor.submit(int).result()
        assert not any(folder.exists() for folder in folders)

    story(limits, tell, ahead=2)


def test_a_profile_with_a_pool_has_it_at_every_door():
    """CM-FAI-010: as many as `pool_min` says, from the first program or `ready` on."""

    async def run(**options):
        parent = Parent({**default_policy("worker-rpc"), "pool_min": 3}, **options)
        try:
            await parent.ready()
            before = waiting(parent)
            assert await parent.invoke("1") == Success(True, 1)
            await parent.ready()
            return before, waiting(parent)
        finally:
            await parent.close()

    before, after = asyncio.run(run(profile="worker-rpc"))
    assert (len(before), len(after)) == (3, 3)
    assert before[1:] == after[:2]
    before, after = asyncio.run(run(profile="worker-rpc", started_ahead=0))
    assert (before, after) == ([], [])


def test_a_pool_is_kept_however_long_nobody_comes(limits):
    """Each of its workers gives way to a younger one, at `pool_idle_ms`."""

    async def tell(parent):
        before = waiting(parent)
        await until(lambda: len(waiting(parent)) == 2 and not {*before} & {*waiting(parent)})

    story(limits, tell, ahead=pool({"pool_min": 2, "pool_idle_ms": 200, "server_workers": 4}))


def test_a_pool_grows_with_need_and_shrinks_without(limits):
    """What is idle beyond `pool_min` for `pool_idle_ms` is ended, and not replaced."""

    async def tell(parent):
        await asyncio.gather(*[parent.invoke("return 1") for _ in range(3)])
        await parent.ready()
        assert len(waiting(parent)) == 3
        await until(lambda: len(waiting(parent)) == 1)
        for _ in range(50):
            await asyncio.sleep(0.01)
            assert len(waiting(parent)) <= 1
        await until(lambda: len(waiting(parent)) == 1)

    story(limits, tell, ahead=pool({"pool_min": 1, "pool_idle_ms": 400, "server_workers": 3}))


def test_a_pool_follows_its_policy():
    """Another policy is another pool."""

    async def run():
        rows = {**default_policy("worker-rpc"), "pool_min": 1}
        parent = Parent(rows, profile="worker-rpc")
        try:
            await parent.ready()
            before = waiting(parent)
            parent.change_policy({**rows, "pool_min": 2})
            await parent.ready()
            return before, waiting(parent)
        finally:
            await parent.close()

    before, after = asyncio.run(run())
    assert (len(before), len(after)) == (1, 2)
    assert not {*before} & {*after}
