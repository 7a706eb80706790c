"""Where the work of a program is done: each isolation can hold, and each can be broken."""

from __future__ import annotations

import subprocess
import sys

import pytest
from codemode_conformance.evidence import State
from codemode_conformance.watch import visible
from codemode_conformance.work import NAME, Work, judged, ticks

ROOT, BELOW = 10, 20
MAIN, BESIDE = (ROOT, ROOT, 1), (ROOT, 11, 1)
CHILD, CHILD_BESIDE, OLD = (BELOW, BELOW, 5), (BELOW, 21, 5), (30, 30, 2)
THERE = {(ROOT, 1), (30, 2)}


@pytest.mark.parametrize(
    ("done", "holding"),
    [
        ({MAIN: 100}, {"isolate", "interpreter"}),
        ({MAIN: 10, BESIDE: 90}, {"thread", "isolate", "interpreter"}),
        ({MAIN: 40, CHILD: 60}, {"process"}),
        ({MAIN: 60, CHILD: 40}, {"isolate", "interpreter"}),
        ({CHILD_BESIDE: 100}, {"process", "thread"}),
        ({OLD: 100}, {"process", "isolate", "interpreter"}),
    ],
)
def test_the_greater_part_of_the_work_says_where_a_program_runs(
    done: dict[tuple[int, int, int], int], holding: set[str]
) -> None:
    """A process that was there before may hold isolates, and is below the adapter all the same."""
    names = ("process", "thread", "isolate", "interpreter")
    facts = {name: judged(done, ROOT, THERE, name) for name in names}
    assert {name for name, fact in facts.items() if fact.state is State.HOLDS} == holding
    assert {facts[n].state for n in names if n not in holding} <= {State.BROKEN}
    assert all(fact.name == NAME for fact in facts.values())


def test_half_of_the_work_is_not_the_greater_part() -> None:
    """And the finding says how much there was."""
    fact = judged({MAIN: 50, CHILD: 50}, ROOT, THERE, "process")
    assert fact.state is State.BROKEN
    assert fact.detail == "declared is process; of 100 ticks of work 50 were done below the adapter"


def test_of_little_work_nothing_is_said() -> None:
    """On a busy machine a program may get no time at all before its deadline."""
    assert judged({MAIN: 9}, ROOT, THERE, "process").state is State.UNOBSERVABLE


PROGRAM = """
import subprocess, sys, threading, time

def work(clock):
    until = clock() + 0.4
    while clock() < until:
        pass

def beside():
    thread = threading.Thread(target=work, args=[time.thread_time])
    thread.start()
    thread.join()

def below():
    spin = "import time\\nwhile time.process_time() < 0.4: pass"
    subprocess.run([sys.executable, "-I", "-S", "-c", spin], check=True)

for line in sys.stdin:
    {"first": lambda: work(time.thread_time), "beside": beside, "below": below}[line.strip()]()
    print("done", flush=True)
"""


@pytest.mark.skipif(not visible(), reason="no /proc")
def test_work_of_processes_and_threads_is_told_apart() -> None:
    """Of real ones, those that have ended included.

    They are those of another process: a thread of this one would keep the lock of the interpreter
    from the one that looks.
    """
    words = [sys.executable, "-I", "-S", "-c", PROGRAM]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as root:
        assert root.stdin is not None
        assert root.stdout is not None
        found = {}
        for place in ("first", "beside", "below"):
            work = Work(root.pid)
            root.stdin.write(place.encode() + b"\n")
            root.stdin.flush()
            assert root.stdout.readline() == b"done\n"
            found[place] = [work.fact(name).state for name in ("isolate", "thread", "process")]
        root.stdin.close()
    holds, broken = State.HOLDS, State.BROKEN
    assert found == {
        "first": [holds, broken, broken],
        "beside": [holds, holds, broken],
        "below": [broken, broken, holds],
    }
    assert ticks(2**22) == {}
