"""The tool of the profile worker-rpc, `<prefix>_execute_code`: its arguments and its answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import mcp.types as mcp
from codemode_spec.tables import load_tables

from codemode_reference.codes import Code
from codemode_reference.errors import Failure, failure
from codemode_reference.options import Options
from codemode_reference.server.manual import grouped_manual
from codemode_reference.values import encode

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcp.server.context import ServerRequestContext

    from codemode_reference.actions import Outcome
    from codemode_reference.evidence import Stats
    from codemode_reference.parent import Parent

_NAME: Final = "execute_code"
_MIB: Final = 1 << 20
# Of an answer: that of a value and the object around it.
_DEPTH: Final = load_tables().rows["value_depth"].absolute_maximum + 1
_ARGUMENTS: Final = frozenset(("code", "timeout", "readonly"))


class ExecuteTool:
    """Runs programs of `parent` for one client, and tells it how far they are if it asks."""

    def __init__(self, parent: Parent, prefix: str, client: Hashable) -> None:
        self.name = f"{prefix}_{_NAME}" if prefix else _NAME
        self._parent = parent
        self._client = client

    def described(self) -> mcp.Tool:
        """The tool as it is listed. A result may be of any type, so there is no schema of it."""
        most = self._parent.policy["wall_time_ms"]
        effects = {entry["effect"] for entry in self._parent.catalogue.described()}
        return mcp.Tool(
            name=self.name,
            description=self.manual(),
            input_schema={
                "type": "object",
                "properties": {
                    "code": {"type": "string", "description": "the program"},
                    "timeout": {"type": "integer", "minimum": 1, "maximum": most,
                                "description": "milliseconds that it may take"},
                    "readonly": {"type": "boolean", "description": "refuse whatever may write"},
                },
                "required": ["code"],
                "additionalProperties": False,
            },
            annotations=mcp.ToolAnnotations(
                read_only_hint=effects == {"read"}, open_world_hint=False
            ),
        )  # fmt: skip

    def manual(self) -> str:
        """How to write a program: the reference of the API, the limits, and what isolates it."""
        return grouped_manual(self._parent.catalogue, self._parent.policy, self._parent.protection)

    async def call(
        self, context: ServerRequestContext[Any], arguments: dict[str, Any], cancel: asyncio.Event
    ) -> mcp.CallToolResult:
        """Run one program; every failure is a result."""
        reports: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        telling = asyncio.create_task(_tell(context, reports))
        found: list[Stats] = []
        try:
            outcome = await self._run(arguments, cancel, reports, found)
        finally:
            reports.put_nowait(None)
            # What was reported before the end is told before the answer.
            await telling
        return _answer(outcome, found)

    async def _run(
        self,
        arguments: dict[str, Any],
        cancel: asyncio.Event,
        reports: asyncio.Queue[dict[str, Any] | None],
        found: list[Stats],
    ) -> Outcome:
        code, readonly = arguments.get("code"), arguments.get("readonly", False)
        if not arguments.keys() <= _ARGUMENTS or type(code) is not str:
            return failure(Code.invalid_arguments)
        # An option that is null is none that was left out.
        if type(readonly) is not bool or ("timeout" in arguments and arguments["timeout"] is None):
            return failure(Code.invalid_arguments)
        options = Options(
            timeout_ms=arguments.get("timeout"),
            readonly=readonly,
            client=self._client,
            progress=reports.put_nowait,
        )
        return await self._parent.invoke(code, cancel=cancel, options=options, stats=found.append)


async def _tell(
    context: ServerRequestContext[Any], reports: asyncio.Queue[dict[str, Any] | None]
) -> None:
    """Tell the client, if it has asked to be told; one that is gone is told nothing."""
    while (report := await reports.get()) is not None:
        with suppress(Exception):
            await context.session.report_progress(
                float(report["current"]), report.get("total"), report.get("message")
            )


def _answer(outcome: Outcome, found: list[Stats]) -> mcp.CallToolResult:
    """An outcome as a tool's result, the same in structure and in text."""
    content: dict[str, Any] = {"success": not isinstance(outcome, Failure)}
    if isinstance(outcome, Failure):
        content["error"] = outcome.to_json()
    elif outcome.value_present:
        content["result"] = outcome.value
    content["metrics"] = _metrics(found)
    return mcp.CallToolResult(
        content=[mcp.TextContent(text=encode(content, _DEPTH).decode())],
        structured_content=content,
        is_error=isinstance(outcome, Failure),
    )


def _metrics(found: list[Stats]) -> dict[str, float]:
    """What the worker used; nothing if none was started."""
    stats = found[0] if found else None
    return {
        "wallTimeMs": max(round(stats.wall_ms, 1), 0.0) if stats else 0.0,
        "cpuTimeMs": max(round(stats.cpu_ms, 1), 0.0) if stats else 0.0,
        "memoryUsedMb": max(round(stats.memory_bytes / _MIB, 2), 0.0) if stats else 0.0,
    }
