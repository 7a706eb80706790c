"""A tiny target on the Python kit. A program is JSON: its `do` says what it does."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from cmconf_kit import HOST_VALUES, HostError, Run, build, failed, ok, serve


class Plain:
    """A session that claims nothing, and cannot cancel."""

    async def run(  # noqa: C901 - one case for each program
        self, source: str, options: dict[str, Any], call: Any, run: Run
    ) -> Any:
        """Do what the program says."""
        program = json.loads(source)
        run.state = asyncio.Event()
        match program["do"]:
            case "value":
                return ok(program["value"], logs=["said"])
            case "nothing":
                return ok()
            case "options":
                return ok(options)
            case "odd":
                return ok(build(program["value"], program["odd"]))
            case "shared":
                return ok(shared())
            case "calls":
                calls = [call(op, *args) for op, *args in program["calls"]]
                return ok(await asyncio.gather(*calls))
            case "fail":
                return await fail(call)
            case "thread":
                return ok(await asyncio.to_thread(run.call_from_thread, "a", 1))
            case "wait":
                await run.state.wait()
                return failed("cancelled", TimeoutError("stopped"))
            case "abandon":
                task = asyncio.ensure_future(call("a"))
                await asyncio.sleep(0)
                task.cancel()
                await run.state.wait()
                return ok(1)
            case "orphan":
                asyncio.ensure_future(orphan())  # noqa: RUF006 - nobody holds it, that is the point
                await run.state.wait()
            case "noise":
                os.write(1, program["text"].encode())
                return ok(1)
        raise RuntimeError("no such program")


class Full(Plain):
    """A session that tells its limit and cancels."""

    effective = {"wall_time_ms": {"value": 1000, "from": "documented"}}  # noqa: RUF012 - as authors do
    prelude = "host"

    async def cancel(self, run: Run) -> None:
        """Let the program go on to its end."""
        run.state.set()


async def fail(call: Any) -> Any:
    """Answer the failure of a host call with a failure of its own."""
    try:
        return ok(await call("a"))
    except HostError as error:
        return failed("host", error, error={"code": "operation_failed"})


async def orphan() -> None:
    """Fail where nobody listens."""
    raise RuntimeError("nobody listens")


def shared() -> list[Any]:
    """Small in memory, and 2**60 values as JSON."""
    value: list[Any] = [1]
    for _ in range(60):
        value = [value, value]
    return value


async def opener(policy: dict[str, Any], ops: list[Any], s: Any) -> Any:
    """Open a session, or not, by the rows of the policy."""
    if "pages" in policy:
        return {"unsupported": ["pages"]}
    if policy.get("wall_time_ms") == 0:
        return failed("policy", ValueError("zero"))
    return Plain() if "plain" in policy else Full()


serve({**json.loads(sys.argv[1]), "host_values": HOST_VALUES}, opener)
