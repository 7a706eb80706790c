# SPDX-License-Identifier: Apache-2.0
"""Drives `AsyncMonty` of the package pydantic-monty. README.md says what is claimed, and why."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kits"))

import pydantic_monty
from cmconf_kit import ABSENT, HOST_VALUES, failed, ok, serve

LIMITS = {  # row: the limit, and what one unit of it is in units of the row
    "wall_time_ms": ("max_feed_duration_secs", 1000),
    "memory_bytes": ("max_memory", 1),
}
SILENT = (
    *("source_bytes", "stack_bytes", "host_calls", "concurrent_host_calls"),
    *("host_result_bytes", "final_result_bytes"),
)
AT_ONCE = 4
PRELUDE = """\
import asyncio
class _Host:
    async def call(self, name, args):
        return await eval("op_" + name)(args)
    async def all(self, calls):
        return await asyncio.gather(*[self.call(name, args) for name, args in calls])
host = _Host()"""
KINDS = {"TimeoutError": "time", "MemoryError": "memory", "RecursionError": "stack"}
LIMIT_TEXTS = (
    "feed time limit exceeded",
    "memory limit exceeded",
    "the worker exceeded its memory limit",
    "maximum recursion depth",
)


def category_of(error: pydantic_monty.MontyError) -> str:
    """Give the category of a failure: by its class, then by the text of a limit."""
    if isinstance(error, pydantic_monty.MontyCrashedError):
        return "time" if getattr(error, "timed_out", False) else "protocol"
    if isinstance(error, pydantic_monty.MontyConversionError):
        return "host"
    inner = error.exception()
    if type(inner).__name__ in KINDS and str(inner).startswith(LIMIT_TEXTS):
        return KINDS[type(inner).__name__]
    return "script"


class Session:
    """The limits and the operations of a session; each run gets a checkout of its own."""

    prelude = PRELUDE

    def __init__(
        self, pool: pydantic_monty.AsyncMonty, policy: dict[str, Any], ops: list[Any]
    ) -> None:
        self.pool = pool
        self.names = [op["name"] for op in ops]
        self.limits: Any = {
            name: policy[row] / unit if unit > 1 else policy[row]
            for row, (name, unit) in LIMITS.items()
            if row in policy
        }
        self.effective: dict[str, Any] = {
            row: {
                "value": policy.get(row, "none"),
                "from": "set" if row in policy else "documented",
            }
            for row in LIMITS
        }
        self.effective |= {row: {"value": "unknown", "from": "documented"} for row in SILENT}
        self.unknown = [row for row in policy if row not in LIMITS]

    async def run(self, source: str, _options: Any, call: Any, _state: Any) -> dict[str, Any]:
        """Run one program to its outcome."""

        def function(name: str) -> Any:
            async def forward(*arguments: Any) -> Any:
                value = await call(name, *arguments[:1])
                return None if value is ABSENT else value

            return forward

        # Not by their bare names: a built-in of the same name would come first.
        lookup = {f"op_{name}": function(name) for name in self.names}
        printed = pydantic_monty.CollectString()
        try:
            async with self.pool.checkout(limits=self.limits) as session:
                value = await session.feed_run(
                    source, external_lookup=lookup, print_callback=printed
                )
        except pydantic_monty.MontyError as error:
            return failed(category_of(error), error, logs=[printed.output])
        return ok(value, logs=[printed.output])


pool: pydantic_monty.AsyncMonty | None = None


async def opener(policy: dict[str, Any], ops: list[Any], _session: Any) -> Any:
    """Open a session on the one pool of this process; a row that is null is left out."""
    global pool  # noqa: PLW0603 - workers belong to the loop, which starts after this module
    missing = [row for row, value in policy.items() if value is None]
    if missing:
        return {"unsupported": missing}
    if pool is None:
        pool = await pydantic_monty.AsyncMonty(max_processes=AT_ONCE).__aenter__()
    session = Session(pool, policy, ops)
    try:
        pool.checkout(limits=session.limits)  # looked at here, begun for each run
    except (ValueError, TypeError, OverflowError) as error:
        return failed("policy", error)
    return session


serve(
    {
        "target": "monty",
        "version": version("pydantic-monty"),
        "language": ["python"],
        "mapping": "text",
        "sessions": 1,
        "runs_per_session": AT_ONCE,
        "settable": list(LIMITS),
        "host_values": HOST_VALUES,
        "capabilities": [
            *(f"policy.{row}" for row in LIMITS),
            *("op.value", "op.fail", "op.delay", "op.never", "op.native", "op.ledger", "op.many"),
            *("odd", "raw", "logs", f"parallel.{AT_ONCE}"),
        ],
        "alternatives": {
            "script_style": "async",
            "source_form": "completion_value",
            "host_wait": "excluded",
            "operation_failure": "throw",
        },
    },
    opener,
)
