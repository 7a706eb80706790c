"""The SDK's streamable HTTP transport, with the tap under it: every body passes it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from codemode_conformance.escape import quoted
from codemode_conformance.process import Caps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from codemode_conformance.premises import Premises
    from codemode_conformance.server.tap import Tap
    from codemode_conformance.server.wire import Streams

CONNECT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


async def until_open(url: str) -> None:
    """Wait until somebody listens at this address; the caller bounds the wait."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    while True:
        try:
            _, writer = await asyncio.open_connection(parts.hostname, port)
        except OSError:
            await asyncio.sleep(_POLL_SECONDS)
        else:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return


class HttpWire:
    """Messages as bodies and events; `loud` is called when more comes than the cap."""

    def __init__(self, url: str, tap: Tap, premises: Premises, loud: Callable[[int], None]) -> None:
        self._url = url
        self._tap = tap
        self._transport = _TappedTransport(tap, premises, loud)
        self._inward, self._read = anyio.create_memory_object_stream[SessionMessage | Exception](
            math.inf
        )
        self._write, self._outward = anyio.create_memory_object_stream[SessionMessage](math.inf)

    def end(self) -> None:
        """Nothing will come any more: who waits for an answer is told."""
        self._inward.close()

    def forgive(self) -> None:
        """Start counting what comes anew."""
        self._transport.total = 0

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """The streams for a session."""
        client = httpx2.AsyncClient(
            transport=self._transport,
            trust_env=False,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        )
        limit = Caps().line_bytes
        try:
            async with (
                client,
                streamable_http_client(self._url, http_client=client, max_sse_event_size=limit) as (
                    read,
                    write,
                ),
                anyio.create_task_group() as group,
            ):

                async def forward() -> None:
                    async for item in self._outward:
                        self._tap.sent(
                            item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
                        )
                        await write.send(item)

                async def back() -> None:
                    async for item in read:
                        with contextlib.suppress(
                            anyio.ClosedResourceError, anyio.BrokenResourceError
                        ):
                            self._inward.send_nowait(item)
                    self.end()

                group.start_soon(forward)
                group.start_soon(back)
                yield self._read, self._write
                group.cancel_scope.cancel()
        finally:
            for stream in (self._inward, self._read, self._write, self._outward):
                stream.close()


class _TappedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, tap: Tap, premises: Premises, loud: Callable[[int], None]) -> None:
        self.total = 0
        self._tap = tap
        self._premises = premises
        self._loud = loud
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.status_code >= 400:
            self._tap.strange(f"HTTP status {response.status_code} to {request.method}")
        kind = response.headers.get("content-type", "").lower()
        encoded = response.headers.get("content-encoding", "identity").lower()
        if encoded != "identity":
            self._tap.strange(f"a body in the encoding {quoted(encoded, 40)}")
            return response
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        tee = _Tee(response.stream, self, events=kind.startswith("text/event-stream"))
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=tee,
            extensions=response.extensions,
            request=request,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()

    def came(self, data: bytes) -> None:
        """Some bytes of a body."""
        self.total += len(data)
        if self.total > Caps().total_bytes:
            self._loud(self.total)
            raise httpx2.ReadError("more than the cap")

    def message(self, data: bytes) -> None:
        """A whole body or event."""
        self._premises.note("stdout", data)
        if data.strip():
            self._tap.received(data, cut=len(data) > Caps().line_bytes)


class _Tee(httpx2.AsyncByteStream):
    """Hands bytes on, and whole messages to the tap before the bytes that complete them."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, to: _TappedTransport, *, events: bool
    ) -> None:
        self._inner = inner
        self._to = to
        self._events = events
        self._held = bytearray()
        self._lines: list[bytes] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._to.came(chunk)
            self._held += chunk
            if self._events:
                self._cut()
            yield chunk
            await asyncio.sleep(0)
        if not self._events:
            self._to.message(bytes(self._held))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _cut(self) -> None:
        """Take whole lines off; a blank one ends an event."""
        *lines, rest = bytes(self._held).replace(b"\r\n", b"\n").split(b"\n")
        self._held = bytearray(rest)
        for line in lines:
            if line.startswith(b"data:"):
                self._lines.append(line[5:].removeprefix(b" "))
            elif not line and self._lines:
                self._to.message(b"\n".join(self._lines))
                self._lines = []
            elif line and not line.startswith((b"event:", b"id:", b"retry:", b":")):
                self._to.message(line)
