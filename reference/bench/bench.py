"""How long an invocation of `return 1` takes beside the start of a bare interpreter.

    python reference/bench/bench.py [--rounds N] [--peers]

What is compared is measured in turns in one run, so that a busy machine slows all of it alike: read
the ratios of the medians, not the milliseconds. Peers loop inside a Node process of their own, so
their ratios are to the same bare interpreter but not in turns with it; they are installed at pinned
versions, without install scripts, into .cmconf-cache.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from codemode_reference import Parent, Success, process
from codemode_reference.bundle import pack, sources, worker_data
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BARE = [sys.executable, "-I", "-S", "-E", "-c", "pass"]
AHEAD = "started ahead"
# Between two calls to workers that wait: the next one has had time to start.
PAUSE = 0.02
PEER_SECONDS = 120
HERE = Path(__file__).parent
# A fresh thread with nothing around it, npm `run`, npm `@utcp/code-mode`.
PEERS = ("thread", "run", "utcp-code-mode")


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="calls of each kind (200)")
    parser.add_argument("--peers", action="store_true", help="other implementations too (npm)")
    options = parser.parse_args()
    rounds = options.rounds
    with tempfile.TemporaryDirectory() as folder:
        cold, ahead = Parent(), Parent(started_ahead=1)
        plain = Parent(worker_command=without_layers(Path(folder)))

        async def bare() -> None:
            worker = process.start(BARE, Path(folder))
            worker.wait()
            worker.reap()
            worker.close()

        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "bare interpreter": bare,
            "cold, no kernel layers": lambda: one(plain),
            "cold, hardened": lambda: one(cold),
        }
        found: dict[str, list[float]] = {name: [] for name in (*kinds, AHEAD)}
        for _ in range(rounds):
            for name, call in kinds.items():
                found[name].append(await timed(call))
        # By itself: the worker for the next call starts while others would be measured.
        await ahead.ready()
        for _ in range(rounds):
            await asyncio.sleep(PAUSE)
            found[AHEAD].append(await timed(lambda: one(ahead)))
        for parent in (cold, plain, ahead):
            await parent.close()
    if options.peers:
        for name in PEERS:
            found[f"Node 22: {name}"] = peer(name, rounds)
    report(found)


def peer(name: str, rounds: int) -> list[float]:
    """The milliseconds of each call of one peer, which runs by itself."""
    cache = Path(os.environ.get("CMCONF_CACHE", ".cmconf-cache"), "bench-peers").resolve()
    if not (cache / "node_modules").exists():
        cache.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(HERE / "peers" / file, cache)
        npm = shutil.which("npm") or sys.exit("the peers need npm on PATH")
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit"], cwd=cache, check=True)
    node = next(cache.glob("node_modules/node-*/bin/node"), None)
    if node is None:
        sys.exit("there is no Node 22 package for this machine")
    # isolated-vm asks for the option, and does not always let its process end by itself.
    options = ["--no-node-snapshot", str(HERE / "peers" / "peers.mjs"), str(cache)]
    with subprocess.Popen(
        [node, *options, name, str(rounds)], stdout=subprocess.PIPE, start_new_session=True
    ) as running:
        assert running.stdout is not None
        alarm = threading.Timer(PEER_SECONDS, running.kill)
        alarm.start()
        line = running.stdout.readline()
        alarm.cancel()
        running.kill()
    if not line:
        sys.exit(f"{name} gave no times within {PEER_SECONDS} s")
    times: list[float] = json.loads(line)
    return times


async def timed(call: Callable[[], Awaitable[None]]) -> float:
    """The milliseconds that a call takes."""
    begin = time.perf_counter()
    await call()
    return (time.perf_counter() - begin) * 1000


async def one(parent: Parent) -> None:
    """One invocation, which must succeed."""
    outcome = await parent.invoke("return 1")
    if outcome != Success(value_present=True, value=1):
        sys.exit(f"an invocation failed: {outcome}")


def without_layers(folder: Path) -> list[str]:
    """The command of a worker that does without what only Linux has."""
    tables = load_tables()
    data = worker_data(tables, tables.profiles[DEFAULT_PROFILE])
    data["hardening"]["linux"] = False
    path = folder / "worker.pyc"
    path.write_bytes(pack(sources(), data))
    return [sys.executable, "-I", "-S", "-E", str(path), str(os.getpid()), ""]


def report(found: dict[str, list[float]]) -> None:
    """Medians, smallest values and ratios, one line each."""
    base = statistics.median(found["bare interpreter"])
    print(f"{'ms':26}{'median':>8}{'least':>8}{'ratio':>8}")
    for name, times in found.items():
        median = statistics.median(times)
        print(f"{name:26}{median:8.2f}{min(times):8.2f}{median / base:8.2f}")
    layers = statistics.median(found["cold, hardened"]) - statistics.median(
        found["cold, no kernel layers"]
    )
    print(f"{'the kernel layers add':26}{layers:8.2f}")


if __name__ == "__main__":
    asyncio.run(main())
