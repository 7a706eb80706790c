"""The tools: what a client may call, and the answers it gets."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, Final, TypeVar

import mcp.types as mcp
from codemode_spec.tables import load_tables
from mcp import MCPError
from mcp.server import Server

from codemode_reference.codes import Code
from codemode_reference.errors import Failure, failure
from codemode_reference.server.execute import ExecuteTool
from codemode_reference.server.manual import instructions, operation_manual, program_manual
from codemode_reference.strict_json import MAX_SAFE
from codemode_reference.values import encode

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcp.server.context import ServerRequestContext

    from codemode_reference.actions import Outcome
    from codemode_reference.parent import Parent

_T = TypeVar("_T")

CODE_TOOL: Final = "code"
_NAME: Final = "codemode-reference"
# Of an answer: that of a value and the object around it.
_DEPTH: Final = load_tables().rows["value_depth"].absolute_maximum + 1


class Tools:
    """The tools of one connection: all operations, or with `programs` the tool `code` alone.

    With a `prefix` that is the one of the profile worker-rpc.
    """

    def __init__(self, parent: Parent, *, programs: bool, prefix: str | None = None) -> None:
        self._parent = parent
        self._programs = programs
        # Snapshots and cursors of direct calls are good on this connection, and rates are counted
        # by it.
        self._client = secrets.randbelow(MAX_SAFE) + 1
        self._execute = None if prefix is None else ExecuteTool(parent, prefix, self._client)
        self._running: set[asyncio.Task[Any]] = set()

    def server(self, version: str) -> Server[Any]:
        """The SDK's server with these tools."""
        return Server(
            _NAME,
            version=version,
            instructions=self._instructions(),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    def _instructions(self) -> str:
        told = instructions(programs=self._programs, tool=self._tool_name)
        return told if self._execute is None else f"{told}\n\n{self._execute.manual()}"

    @property
    def _tool_name(self) -> str:
        return CODE_TOOL if self._execute is None else self._execute.name

    async def _list(
        self, _context: ServerRequestContext[Any], _params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListToolsResult:
        return mcp.ListToolsResult(tools=self._tools())

    def _tools(self) -> list[mcp.Tool]:
        catalogue = self._parent.catalogue
        if self._execute is not None:
            return [self._execute.described()]
        if self._programs:
            parent = self._parent
            manual = program_manual(catalogue, parent.policy, parent.protection)
            effects = {entry["effect"] for entry in catalogue.described()}
            return [_tool(CODE_TOOL, manual, _SOURCE, read_only=effects == {"read"})]
        return [
            _tool(
                entry["name"],
                operation_manual(entry),
                {"type": "object", **entry["arguments"]},
                read_only=entry["effect"] == "read",
            )
            for entry in catalogue.described()
        ]

    async def _call(
        self, context: ServerRequestContext[Any], params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult:
        arguments = params.arguments or {}
        if self._programs:
            if params.name != self._tool_name:
                raise MCPError(mcp.INVALID_PARAMS, f"the only tool is {self._tool_name}")
            cancel = asyncio.Event()
            if self._execute is not None:
                return await self._to_its_end(
                    self._execute.call(context, arguments, cancel), cancel
                )
            return _answer(await self._program(arguments, cancel))
        if params.name not in self._parent.catalogue:
            raise MCPError(mcp.INVALID_PARAMS, "there is no such tool")
        outcome = await self._parent.call(params.name, arguments, client=self._client)
        return _answer(outcome, bare=True)

    async def _program(self, arguments: dict[str, Any], cancel: asyncio.Event) -> Outcome:
        if arguments.keys() != {"source"} or type(arguments["source"]) is not str:
            return failure(Code.invalid_arguments)
        return await self._to_its_end(
            self._parent.invoke(arguments["source"], cancel=cancel), cancel
        )

    async def _to_its_end(self, work: Coroutine[Any, Any, _T], cancel: asyncio.Event) -> _T:
        running = asyncio.create_task(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # The program ends by its own way, as cancelled, and is waited for by the parent.
            cancel.set()
            raise


_SOURCE: Final = {
    "type": "object",
    "properties": {
        "source": {"type": "string", "description": "the body of an async JavaScript function"}
    },
    "required": ["source"],
    "additionalProperties": False,
}


def _tool(name: str, description: str, schema: dict[str, Any], *, read_only: bool) -> mcp.Tool:
    hints = mcp.ToolAnnotations(read_only_hint=read_only, open_world_hint=False)
    return mcp.Tool(name=name, description=description, input_schema=schema, annotations=hints)


def _answer(outcome: Outcome, *, bare: bool = False) -> mcp.CallToolResult:
    """An outcome as a tool's result, the same in structure and in text.

    A value is wrapped, so that it may be none or no object, unless it is an object and `bare`.
    """
    content: dict[str, Any]
    if isinstance(outcome, Failure):
        content = outcome.to_json()
    elif bare and isinstance(outcome.value, dict):
        content = outcome.value
    else:
        present = {"value": outcome.value} if outcome.value_present else {}
        content = {"present": outcome.value_present, **present}
    text = encode(content, _DEPTH).decode()
    return mcp.CallToolResult(
        content=[mcp.TextContent(text=text)],
        structured_content=content,
        is_error=isinstance(outcome, Failure),
    )
