# SPDX-License-Identifier: Apache-2.0
"""Drives the CodeMode transform of FastMCP by an MCP client. README.md says what is claimed."""

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kits"))

from cmconf_kit import ABSENT, failed, ok, serve
from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode, MontySandboxProvider
from fastmcp.tools.base import Tool, ToolResult

LIMITS = {"wall_time_ms": 30_000, "memory_bytes": 100_000_000, "host_calls": 50}
SILENT = (
    *("source_bytes", "stack_bytes", "concurrent_host_calls"),
    *("host_result_bytes", "final_result_bytes"),
)
# A tool whose result is no object gives it under this key, as FastMCP's own function tools do.
RESULT = "result"
PRELUDE = f"""\
import asyncio
class _Host:
    async def call(self, name, args):
        return (await call_tool(name, args))["{RESULT}"]
    async def all(self, calls):
        return await asyncio.gather(*[self.call(name, args) for name, args in calls])
host = _Host()"""
CATEGORIES = (  # of the text of the failure, first match
    (re.compile(r"TimeoutError: feed time limit exceeded"), "time"),
    (re.compile(r"MemoryError: memory limit exceeded"), "memory"),
    (re.compile(r"RecursionError: maximum recursion depth"), "stack"),
    (re.compile(r"Tool call limit exceeded: at most \d+ call_tool\(\)"), "calls"),
    (re.compile(r"call_tool\('[^']*'\) failed: "), "host"),
)


class Operation(Tool):
    """A tool that forwards to the suite."""

    forward: Any

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Forward one call."""
        value = await self.forward(self.name, arguments)
        return ToolResult(structured_content={RESULT: None if value is ABSENT else value})


class Noting(MontySandboxProvider):
    """FastMCP's own provider; notes what a program gave, as text does not tell 1 from "1"."""

    noted: Any = None

    async def run(self, code: str, **more: Any) -> Any:
        """Run and note."""
        self.noted = None
        self.noted = await super().run(code, **more)
        return self.noted


class Session:
    """One server with the transform, and a client of it."""

    prelude = PRELUDE

    def __init__(self, policy: dict[str, Any], ops: list[Any]) -> None:
        rows = {**LIMITS, **policy}
        self.effective: dict[str, Any] = {
            row: {"value": rows[row], "from": "set" if row in policy else "documented"}
            for row in LIMITS
        }
        self.effective |= {row: {"value": "unknown", "from": "documented"} for row in SILENT}
        self.unknown = [row for row in policy if row not in LIMITS]
        limits: Any = {
            "max_feed_duration_secs": rows["wall_time_ms"] / 1000,
            "max_memory": rows["memory_bytes"],
        }
        self.provider = Noting(limits=limits) if set(policy) & set(LIMITS) else Noting()
        mode = CodeMode(sandbox_provider=self.provider, max_tool_calls=rows["host_calls"])
        self.server = FastMCP("suite", transforms=[mode])
        self.call: Any = None
        for op in ops:
            schema = {"type": "object", **op["arguments"]}
            tool = Operation(name=op["name"], parameters=schema, forward=self.forward)
            self.server.add_tool(tool)
        self.client = Client(self.server)

    async def forward(self, name: str, arguments: dict[str, Any]) -> Any:
        """Forward to the run that is open."""
        return await self.call(name, arguments)

    async def run(self, source: str, _options: Any, call: Any, _state: Any) -> dict[str, Any]:
        """Run one program to its outcome."""
        self.call = call
        if not self.client.is_connected():
            await self.client.__aenter__()
        answer = await self.client.call_tool("execute", {"code": source}, raise_on_error=False)
        text = "\n".join(getattr(block, "text", "") for block in answer.content)
        if answer.is_error:
            found = (category for pattern, category in CATEGORIES if pattern.search(text))
            return failed(next(found, "script"), Exception(text))
        if answer.structured_content is not None:
            return ok(answer.structured_content)
        if not answer.content:
            return ok(None)  # what a Python program without a value gives; the same came of `[]`
        if isinstance(self.provider.noted, str):
            return ok(text)
        try:
            return ok(json.loads(text))
        except ValueError:
            return ok(text)

    async def close(self) -> None:
        """Close the client, and the server with it."""
        if self.client.is_connected():
            await self.client.__aexit__(None, None, None)


async def opener(policy: dict[str, Any], ops: list[Any], _session: Any) -> Any:
    """Open a session; a row that is null is left out."""
    missing = [row for row, value in policy.items() if value is None]
    return {"unsupported": missing} if missing else Session(policy, ops)


serve(
    {
        "target": "fastmcp",
        "version": version("fastmcp"),
        "language": ["python"],
        "mapping": "text",
        "sessions": 1,
        "runs_per_session": 1,
        "settable": list(LIMITS),
        "capabilities": [
            *(f"policy.{row}" for row in LIMITS),
            *("op.value", "op.fail", "op.delay", "op.never", "op.ledger", "op.many"),
            *("odd", "raw"),
        ],
        "alternatives": {
            "script_style": "async",
            "source_form": "function_body",
            "arguments": "object",
            "host_wait": "excluded",
            "operation_failure": "throw",
        },
    },
    opener,
)
