"""How soon a program ends that does not want to, and whether the server answers meanwhile."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from codemode_reference import Failure, Parent, default_policy
from lines import Line, median

if TYPE_CHECKING:
    from collections.abc import Iterator

SPIN = "for (;;);"
# One call of a builtin, in which no engine looks at its clock.
STUCK = "const t = 'a'.repeat(2e6); return t.indexOf('a'.repeat(1e6 - 1) + 'b')"
SERVER = ["-m", "codemode_reference", "serve", "--mode", "code", "--operations", "demonstration"]
SPINNING, PINGS, PING_PAUSE = 4, 100, 0.02
SERVER_SECONDS = 60


async def lines(rounds: int) -> Iterator[Line]:
    """What is judged of them."""
    few = max(rounds // 10, 3)
    return iter((await cancellation(few), await deadline(few), await pings()))


async def cancellation(rounds: int) -> Line:
    """From `cancel` to the outcome of a program that never waits."""
    parent = Parent()
    times = []
    for _ in range(rounds):
        cancel = asyncio.Event()
        running = asyncio.create_task(parent.invoke(SPIN, cancel=cancel))
        await asyncio.sleep(0.05)
        begin = time.perf_counter()
        cancel.set()
        expect(await running, "cancelled")
        times.append((time.perf_counter() - begin) * 1000)
    await parent.close()
    return median("cancellation to outcome", times, 50)


async def deadline(rounds: int) -> Line:
    """From the deadline to the outcome of a program that only a kill ends."""
    wall = 100
    parent = Parent({**default_policy(), "wall_time_ms": wall}, started_ahead=1)
    times = []
    for _ in range(rounds):
        await parent.ready()
        begin = time.perf_counter()
        expect(await parent.invoke(STUCK), "deadline_exceeded")
        times.append((time.perf_counter() - begin) * 1000 - wall)
    await parent.close()
    return Line("deadline to outcome, stuck", times, max(times), "ms, the longest", 300)


async def pings() -> Line:
    """How soon a server answers `ping` while four programs spin."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, *SERVER), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    times = []
    try:
        async with asyncio.timeout(SERVER_SECONDS):
            client = {"name": "bench", "version": "0"}
            start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
            send(server.stdin, {"id": 0, "method": "initialize", "params": start})
            await server.stdout.readline()
            send(server.stdin, {"method": "notifications/initialized"})
            for number in range(SPINNING):
                call = {"name": "code", "arguments": {"source": SPIN}}
                send(server.stdin, {"id": 1 + number, "method": "tools/call", "params": call})
            for number in range(PINGS):
                await asyncio.sleep(PING_PAUSE)
                begin = time.perf_counter()
                send(server.stdin, {"id": 100 + number, "method": "ping"})
                answer = json.loads(await server.stdout.readline())
                if answer != {"jsonrpc": "2.0", "id": 100 + number, "result": {}}:
                    sys.exit(f"no answer to a ping: {answer}")
                times.append((time.perf_counter() - begin) * 1000)
    finally:
        server.kill()
        await server.wait()
    slow = statistics.quantiles(times, n=20)[-1]
    return Line("ping, four programs spin", times, slow, "ms, 95 of 100", 50)


def send(stream: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    """One message of a client."""
    stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def expect(outcome: object, code: str) -> None:
    """The outcome must be this failure."""
    if not isinstance(outcome, Failure) or outcome.code != code:
        sys.exit(f"not {code}: {outcome}")
