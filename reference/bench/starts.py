"""Invocations: cold, started ahead, many at once, and what a host call adds."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from codemode_reference import Operation, Parent, Success, default_policy, process
from codemode_reference.bundle import pack, sources, worker_data
from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from lines import Line, against, in_turns, median

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PYTHON = [os.path.realpath(sys.executable), "-I", "-S", "-E"]
BARE = "bare interpreter"
COLD, PLAIN, AHEAD = "cold, hardened", "cold, no kernel layers", "started ahead, 20 ms apart"
# Between two calls to workers that wait: the next one has had time to start.
PAUSE = 0.02
AT_ONCE, SECONDS = 4, 3.0
CALLS = 16


async def starts(rounds: int, folder: Path) -> dict[str, list[float]]:
    """The milliseconds of each kind of start."""
    cold, ahead = Parent(), Parent(started_ahead=1)
    plain = Parent(worker_command=without_layers(folder))

    async def bare() -> None:
        worker = process.start([*PYTHON, "-c", "pass"], folder)
        worker.wait()
        worker.reap()
        worker.close()

    kinds = {BARE: bare, PLAIN: lambda: one(plain), COLD: lambda: one(cold)}
    found = await in_turns(rounds, kinds)
    # By itself: the worker for the next call starts while others would be measured.
    await ahead.ready()
    found |= await in_turns(rounds, {AHEAD: lambda: one(ahead)}, PAUSE)
    for parent in (cold, plain, ahead):
        await parent.close()
    return found


def start_lines(found: dict[str, list[float]]) -> Iterator[Line]:
    """What is judged of them."""
    yield Line(BARE, found[BARE])
    yield against(PLAIN, found[PLAIN], found[BARE], BARE, None)
    yield against(COLD, found[COLD], found[BARE], BARE, 1.35)
    yield median(AHEAD, found[AHEAD], 1.0)


async def throughput(rounds: int) -> Line:
    """How many invocations end in a second, with four in flight."""
    parent = Parent()
    times: list[float] = []
    until = time.perf_counter() + SECONDS * rounds / 200

    async def client() -> None:
        while time.perf_counter() < until:
            begin = time.perf_counter()
            await one(parent)
            times.append((time.perf_counter() - begin) * 1000)

    begin = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(AT_ONCE)))
    rate = len(times) / (time.perf_counter() - begin)
    await parent.close()
    return Line("cold, four in flight", times, rate, "a second", 150, at_least=True)


async def host_calls(rounds: int) -> Line:
    """What one host call adds to an invocation, from one that has made the first."""
    policy = {**default_policy(), "host_calls": CALLS}
    parent = Parent(policy, [Operation("echo", echo)], started_ahead=1)
    await parent.ready()

    def program(calls: int) -> Any:
        source = f"for (let i = 0; i < {calls}; i++) await codemode.echo({{i}}); return 1"
        return lambda: one(parent, source)

    found = await in_turns(rounds, {"1": program(1), "16": program(CALLS)}, PAUSE)
    await parent.close()
    first = statistics.median(found["1"])
    return median("a host call", [(time - first) / (CALLS - 1) for time in found["16"]], 0.25)


async def echo(arguments: Any) -> Any:
    """Give the arguments back."""
    return arguments


async def one(parent: Parent, source: str = "return 1") -> None:
    """One invocation, which must give 1."""
    outcome = await parent.invoke(source)
    if outcome != Success(value_present=True, value=1):
        sys.exit(f"an invocation failed: {outcome}")


def without_layers(folder: Path) -> list[str]:
    """The command of a worker that does without what only Linux has."""
    tables = load_tables()
    data = worker_data(tables, tables.profiles[DEFAULT_PROFILE])
    data["hardening"]["linux"] = False
    path = folder / "worker.pyc"
    path.write_bytes(pack(sources(DEFAULT_PROFILE), data))
    return [*PYTHON, str(path), str(os.getpid()), ""]
