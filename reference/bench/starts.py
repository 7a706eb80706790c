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
from lines import Line, against, awaited, in_turns, spent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

PYTHON = [os.path.realpath(sys.executable), "-I", "-S", "-E"]
BARE = "bare interpreter"
# What any worker costs that was started ahead: it is told something, and it ends.
WAITING = "waiting interpreter, told to leave"
_LEAVES = "import posix; posix.read(0, 1); posix._exit(0)"
COLD, PLAIN, AHEAD = "cold, hardened", "cold, no kernel layers", "started ahead, 20 ms apart"
# Between two calls to workers that wait: the next one has had time to start, also on a slow
# machine, where that takes so many times as long as a bare interpreter.
PAUSE, STARTED = 0.02, 2
AT_ONCE, SECONDS = 4, 3.0
CALLS = 16


async def starts(rounds: int, folder: Path) -> dict[str, list[float]]:
    """The milliseconds of each kind of start."""
    cold, ahead = Parent(), Parent(started_ahead=1)
    plain = Parent(worker_command=without_layers(folder))

    async def interpreter() -> None:
        bare(folder)

    kinds: dict[str, Callable[[], Awaitable[None]]] = {
        BARE: interpreter,
        PLAIN: lambda: one(plain),
        COLD: lambda: one(cold),
    }
    found = await in_turns(rounds, kinds)
    # By itself: the worker for the next call starts while others would be measured.
    await ahead.ready()
    pause = max(PAUSE, STARTED * statistics.median(found[BARE]) / 1000)
    found |= {AHEAD: [], WAITING: []}
    for _ in range(rounds):
        waiting = process.start([*PYTHON, "-c", _LEAVES], folder)
        await asyncio.sleep(pause)
        found[AHEAD].append(await awaited(lambda: one(ahead)))
        await asyncio.sleep(pause)
        found[WAITING].append(spent(lambda waiting=waiting: _leave(waiting)))  # type: ignore[misc]
        waiting.close()
    for parent in (cold, plain, ahead):
        await parent.close()
    return found


def bare(folder: Path) -> None:
    """Start an interpreter that does nothing, and reap it."""
    worker = process.start([*PYTHON, "-c", "pass"], folder)
    worker.wait()
    worker.reap()
    worker.close()


def _leave(worker: process.Worker) -> None:
    os.write(worker.stdin, b"x")
    worker.wait()
    worker.reap()


def start_lines(found: dict[str, list[float]]) -> Sequence[Line]:
    """What is judged of them."""
    return (
        Line(BARE, found[BARE]),
        against(PLAIN, found[PLAIN], found[BARE], BARE, None),
        against(COLD, found[COLD], found[BARE], BARE, 1.45),
        Line(WAITING, found[WAITING]),
        against(AHEAD, found[AHEAD], found[WAITING], "a waiting one", 4.0),
    )


async def throughput(rounds: int, folder: Path) -> Sequence[Line]:
    """How many invocations end in a second, with four in flight; as many bare interpreters."""
    parent = Parent()
    rates, lines = [], []
    kinds: dict[str, Callable[[], Awaitable[None]]] = {
        f"{BARE}, four in flight": lambda: asyncio.to_thread(bare, folder),
        "cold, four in flight": lambda: one(parent),
    }
    for name, call in kinds.items():
        times: list[float] = []
        begin = time.perf_counter()
        until = begin + SECONDS * rounds / 200

        async def client(
            call: Callable[[], Awaitable[None]] = call,
            times: list[float] = times,
            until: float = until,
        ) -> None:
            while time.perf_counter() < until:
                times.append(await awaited(call))

        await asyncio.gather(*(client() for _ in range(AT_ONCE)))
        rates.append(len(times) / (time.perf_counter() - begin))
        lines.append(Line(name, times, rates[-1], "a second"))
    await parent.close()
    name, share = f"{BARE}s", rates[1] / rates[0]
    lines[1] = Line(lines[1].name, lines[1].times, share, f"x {name}", 0.55, at_least=True)
    return lines


async def host_calls(rounds: int, base: Sequence[float]) -> Line:
    """What one host call adds to an invocation, from one that has made the first.

    Beside `base`, the start of an interpreter: both are computing, and as slow on a slow machine.
    """
    policy = {**default_policy(), "host_calls": CALLS}
    parent = Parent(policy, [Operation("echo", echo)], started_ahead=1)
    await parent.ready()

    def program(calls: int) -> Any:
        source = f"for (let i = 0; i < {calls}; i++) await codemode.echo({{i}}); return 1"
        return lambda: one(parent, source)

    found = await in_turns(rounds, {"1": program(1), "16": program(CALLS)}, PAUSE)
    await parent.close()
    first = statistics.median(found["1"])
    added = [(time - first) / (CALLS - 1) for time in found["16"]]
    return against("a host call", added, base, BARE, 0.04)


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
