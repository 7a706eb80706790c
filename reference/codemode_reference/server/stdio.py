"""The transport: standard input and output of this process, on the event loop.

While it serves, descriptor 0 is empty and descriptor 1 is stderr, so that nothing but messages gets
to the client. It reads nothing while answers are waiting to be written: a client that does not
listen is not listened to.
"""

from __future__ import annotations

import asyncio
import os
import select
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

import anyio
import mcp.types as mcp
from mcp.shared.message import SessionMessage

from codemode_reference.server.reader import MessageReader, Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
    Outgoing: TypeAlias = MemoryObjectSendStream[SessionMessage]

_CHUNK = 65536
_CANCELLED = "notifications/cancelled"


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Descriptors of the client alone; what is printed goes to stderr from now on, for good."""
    read, write = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(empty, 1)
    os.close(empty)
    try:
        yield read, write
    finally:
        os.close(read)
        os.close(write)


@asynccontextmanager
async def streams(
    read: int, write: int, stop: asyncio.Event
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """The streams of a server over two descriptors. The incoming one ends at EOF or by `stop`."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    wire = _Wire(read, write)
    waiting = asyncio.create_task(stop.wait())
    reading = asyncio.create_task(wire.read(to_server))
    writing = asyncio.create_task(wire.write(from_server))
    # Whichever is over first, there is nobody to serve any more.
    for task in (waiting, writing):
        task.add_done_callback(lambda _: reading.cancel())
    try:
        yield incoming, outgoing
    finally:
        outgoing.close()
        for task in (waiting, reading):
            task.cancel()
        # What is still to be written is, unless the client has stopped reading.
        await asyncio.wait({writing}, timeout=_LAST_WORDS)
        writing.cancel()
        await asyncio.wait({waiting, reading, writing})
        for stream in (to_server, incoming, from_server):
            stream.close()


_LAST_WORDS = 0.5


class _Wire:
    """Two descriptors that are never blocked on and never changed."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._lock = asyncio.Lock()
        self._quiet = asyncio.Event()
        self._quiet.set()
        # Requests without an answer: a second one of the same id would take the place of the first,
        # which nobody could cancel any more.
        self._open: set[int | str] = set()

    async def read(self, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand messages to the server until the client has no more."""
        reader = MessageReader()
        loop = asyncio.get_running_loop()
        gone = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
        with to_server, suppress(*gone):
            while True:
                await self._quiet.wait()
                await _ready(self._read, loop.add_reader, loop.remove_reader)
                data = os.read(self._read, _CHUNK)
                if not data:
                    return
                for message in reader.feed(data):
                    known = message if isinstance(message, Refused) else self._known(message)
                    if isinstance(known, Refused):
                        await self._send(known.line())
                    else:
                        await to_server.send(SessionMessage(known))

    def _known(self, message: mcp.JSONRPCMessage) -> mcp.JSONRPCMessage | Refused:
        if isinstance(message, mcp.JSONRPCRequest):
            if message.id in self._open:
                # Not with its id: that would be the answer to the first one.
                return Refused(mcp.INVALID_REQUEST, "a request with this id has no answer yet")
            self._open.add(message.id)
        elif isinstance(message, mcp.JSONRPCNotification) and message.method == _CANCELLED:
            # Its request gets no answer.
            number = (message.params or {}).get("requestId")
            if isinstance(number, int | str):
                self._open.discard(number)
        return message

    async def write(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write the server's messages, one line each, until there are no more or no reader."""
        with from_server, suppress(OSError):
            async for item in from_server:
                self._quiet.clear()
                if isinstance(item.message, mcp.JSONRPCResponse | mcp.JSONRPCError):
                    self._open.discard(item.message.id)
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._send(text.encode() + b"\n")
                if not from_server.statistics().tasks_waiting_send:
                    self._quiet.set()

    async def _send(self, line: bytes) -> None:
        loop = asyncio.get_running_loop()
        async with self._lock:
            left = memoryview(line)
            while left:
                await _ready(self._write, loop.add_writer, loop.remove_writer)
                # A pipe that is ready takes this much without blocking.
                left = left[os.write(self._write, left[: select.PIPE_BUF]) :]


async def _ready(
    descriptor: int,
    watch: Callable[[int, Callable[[], None]], None],
    unwatch: Callable[[int], object],
) -> None:
    """Wait until a descriptor can be read or written; a file always can."""
    ready = asyncio.Event()
    try:
        watch(descriptor, ready.set)
    except PermissionError:
        await asyncio.sleep(0)
        return
    try:
        await ready.wait()
    finally:
        unwatch(descriptor)
