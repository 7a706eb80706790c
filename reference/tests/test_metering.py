"""What a worker of the profile worker-rpc has used: its memory, its processor time, its limit."""

import asyncio
import itertools
import sys

import pytest
from codemode_reference import Parent, Success, default_policy
from codemode_reference.run import _peak

PROFILE = "worker-rpc"
MIB = 1 << 20
# A string search that the engine makes in one step, for minutes.
ONE_STEP = "('a'.repeat(4000000) + 'b').indexOf('a'.repeat(2000000) + 'c')"

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")


def metered(*programs, **rows):
    """The outcome of each program, and what its worker has used."""

    async def run():
        parent = Parent(
            {**default_policy(PROFILE), **rows},
            profile=PROFILE,
            clock=itertools.count(0, 60).__next__,
        )
        try:
            found = []
            for program in programs:
                outcome = await parent.invoke(program, stats=found.append)
                found.append((outcome, found.pop()))
            return found
        finally:
            await parent.close()

    return asyncio.run(run())


@linux
def test_memory_that_was_given_back_is_in_the_peak():
    """20 MiB that are taken and freed before the end are told, and those of the next are not."""
    takes = "let all = new Uint8Array(20 * 2 ** 20).fill(1); all = null; 1"
    (_, little), (outcome, much), (_, after) = metered("1", takes, "1")
    assert outcome == Success(True, 1)
    assert 18 * MIB < much.memory_bytes - little.memory_bytes < 24 * MIB
    assert after.memory_bytes < little.memory_bytes + 2 * MIB


@linux
def test_processor_time_is_that_of_the_whole_worker():
    """All threads, from its start to its end."""
    busy = "const until = Date.now() + 1e9; for (let n = 0; n < 3e6; n++) Math.sqrt(n); 1"
    (_, little), (outcome, much) = metered("1", busy)
    assert outcome == Success(True, 1)
    assert 0 < little.cpu_ms < much.cpu_ms


@linux
def test_one_long_step_of_a_built_in_ends_by_processor_time():
    """CM-TIM-019: long before the deadline, although the engine never looks at its time."""
    ((outcome, used),) = metered(ONE_STEP, cpu_time_ms=200, kill_grace_ms=100)
    assert (outcome.code, dict(outcome.fields)) == ("cpu_time_exceeded", {"limit": 200})
    assert 250 < used.cpu_ms < 2000


def test_where_the_system_does_not_tell_the_deadline_ends_it(monkeypatch):
    """As on macOS."""
    monkeypatch.setattr("codemode_reference.process.Worker.processor_ms", lambda _: None)
    ((outcome, _),) = metered(ONE_STEP, cpu_time_ms=200, kill_grace_ms=100, wall_time_ms=1000)
    assert outcome.code == "deadline_exceeded"


def test_a_peak_that_may_be_ours_is_not_told():
    """The kernel counts what a process was started from as its own."""

    class Usage:
        ru_maxrss = 1

    assert _peak(Usage) == 0
    Usage.ru_maxrss = 1 << 40
    assert _peak(Usage) >= 1 << 40
