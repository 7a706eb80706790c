"""The SDK's two streams over one process that we hold: every byte passes the tap."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from codemode_conformance.escape import quoted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from codemode_conformance.process import Event, Process
    from codemode_conformance.server.tap import Tap

TICK = 0.05
"""Seconds between two looks at memory and exit status, while nothing else happens."""

Streams = tuple[
    "MemoryObjectReceiveStream[SessionMessage | Exception]",
    "MemoryObjectSendStream[SessionMessage]",
]


class Pump:
    """Lets a process live on the running loop: `hear` gets each of its events."""

    def __init__(self, process: Process, hear: Callable[[Event], None]) -> None:
        self._process = process
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._descriptor = process.descriptor
        self._loop.add_reader(self._descriptor, self.turn)
        self._timer = self._loop.call_later(TICK, self._tick)

    def turn(self) -> None:
        """Do what there is to do now."""
        if self._closed:
            return
        for event in self._process.pump(0):
            self._hear(event)

    def close(self) -> None:
        """Leave the loop. May be called again; call it before the process is ended."""
        if not self._closed:
            self._closed = True
            self._timer.cancel()
            self._loop.remove_reader(self._descriptor)

    def _tick(self) -> None:
        self.turn()
        if not self._closed:
            self._timer = self._loop.call_later(TICK, self._tick)


class StdioWire:
    """Messages as lines on the pipes of a process."""

    def __init__(self, process: Process, tap: Tap) -> None:
        self._process = process
        self._tap = tap
        # The tap has bounded what comes; the SDK reads as fast as it can.
        self._inward, self._read = anyio.create_memory_object_stream[SessionMessage | Exception](
            math.inf
        )
        self._write, self._outward = anyio.create_memory_object_stream[SessionMessage](math.inf)

    def line(self, data: bytes, *, cut: bool) -> None:
        """Hand on what came as a line, if it is a message."""
        message = self._tap.received(data, cut=cut)
        if message is not None:
            self._hand_on(message)

    def _hand_on(self, message: dict[str, Any]) -> None:
        try:
            item: SessionMessage | Exception = SessionMessage(
                jsonrpc_message_adapter.validate_python(message, by_name=False)
            )
        except ValueError as error:
            self._tap.strange(f"an answer that is none: {quoted(str(message))}")
            item = error
        try:
            self._inward.send_nowait(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return

    def end(self) -> None:
        """Nothing will come any more: who waits for an answer is told."""
        self._inward.close()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """The streams for a session; messages are written while the context is open."""
        writer = asyncio.ensure_future(self._forward())
        try:
            yield self._read, self._write
        finally:
            writer.cancel()
            await asyncio.wait({writer})
            for stream in (self._inward, self._read, self._write, self._outward):
                stream.close()

    async def _forward(self) -> None:
        async for item in self._outward:
            message = item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            self._tap.sent(message)
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            self._process.send(text.encode() + b"\n")
