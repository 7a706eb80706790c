"""One connection to a server: started, introduced, asked, and ended with all that came from it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp.types as mcp
from mcp import ClientSession, MCPError
from pydantic import ValidationError

from codemode_conformance.escape import quoted
from codemode_conformance.failures import StartError
from codemode_conformance.leaving import left_by
from codemode_conformance.lines import Line
from codemode_conformance.premises import MEBIBYTE, Premises
from codemode_conformance.process import Errors, Exited, Flooded, Swollen
from codemode_conformance.server.http import HttpWire, free_port, until_open
from codemode_conformance.server.request import Request, abandon, told
from codemode_conformance.server.tap import RawAnswer, Tap
from codemode_conformance.server.wire import Pump, StdioWire
from codemode_conformance.target import expand

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from codemode_conformance.process import Caps, Event, Process
    from codemode_conformance.server.wire import Streams
    from codemode_conformance.target import Server
    from codemode_conformance.transcript import Transcript

NOTES: Final = 20
REASON_SECONDS: Final = 0.5
ERROR_LINES: Final = 20
_ERROR: Final = re.compile(rb"\s*[\w.]*(error|exception|panic(ked)?)\b.*:", re.IGNORECASE)
CLIENT: Final = mcp.Implementation(name="cmconf", version="1")

# The SDK logs what the tap has noted already; a server's text must not reach our terminal.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("client").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Gone:
    """Why nothing more will come: exit, memory, flood or lost (a connection to a URL)."""

    why: str
    text: str


class Connection:
    """A connection to one server. Everything runs on one event loop, in the caller's thread."""

    def __init__(
        self,
        server: Server,
        values: Mapping[str, str],
        caps: Caps | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        self.gone: Gone | None = None
        self.notes: list[str] = []
        self.calls = 0
        self.left: Counter[str] = Counter()
        port = {"port": str(free_port())} if server.transport == "http" else {}
        self.premises = Premises({**values, **port})
        self._server = server
        self._caps = caps
        self._tap = Tap(self._strange, transcript)
        self._process: Process | None = None
        self._pump: Pump | None = None
        self._wire: StdioWire | HttpWire | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._session: ClientSession | None = None
        self._stop = asyncio.Event()
        self._over = asyncio.Event()

    async def open(self) -> mcp.InitializeResult:
        """Start the server if there is a command, and introduce ourselves; StartError."""
        ready: asyncio.Future[mcp.InitializeResult] = asyncio.get_running_loop().create_future()
        seconds = self._timeout
        try:
            if self._server.command is not None:
                self._process = self.premises.launch(self._server.command, "", self._caps)
                self._pump = Pump(self._process, self._hear)
            # The SDK's contexts must be left by the task that entered them.
            self._keeper = asyncio.ensure_future(self._keep(ready))
            await asyncio.wait({ready}, timeout=seconds)
            if ready.done() and (error := ready.exception()) is None:
                return ready.result()
        except BaseException:
            await self.close()
            raise
        if not ready.done():
            ready.cancel()
            text = f"it did not answer `initialize` within {seconds:g} s (start_timeout_ms)"
        elif self.gone is not None and self.gone.why != "lost":
            text = f"before it was initialized, {self.gone.text}"
        else:
            text = f"it cannot be initialized: {told(error)}"
        noise = f"; it printed: {self.notes[0]}" if self.notes else ""
        await self.close()
        raise StartError(text + noise)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Request:
        """Send one `tools/call`; returns when it is on its way."""
        assert self._session is not None
        self.calls += 1
        params = mcp.CallToolRequestParams(name=tool, arguments=dict(arguments))
        before = self._tap.last_id
        task = asyncio.ensure_future(
            self._session.send_request(mcp.CallToolRequest(params=params), mcp.CallToolResult)
        )
        while not task.done() and self._tap.last_id == before:  # noqa: ASYNC110  a turn or two
            await asyncio.sleep(0)
        number = self._tap.last_id
        return Request(task, None if number == before else number)

    async def answer(self, request: Request) -> RawAnswer | Exception | None:
        """The answer to a request that is over, as it came; None when none will come.

        An exception is what the SDK makes of an answer that breaks the protocol.
        """
        await abandon(request.task)
        raw = None if request.number is None else self._tap.take(request.number)
        error = None if request.task.cancelled() else request.task.exception()
        if error is None:
            return raw
        if isinstance(error, ValidationError) or (raw is None and not isinstance(error, MCPError)):
            return error if isinstance(error, Exception) else None
        if not isinstance(error, MCPError):
            # A limit of the SDK's own, such as how deep a value may be nested.
            return raw
        if raw is not None and "error" in raw.data:
            return raw
        # Made by the SDK: the connection closed, or something else than an answer came.
        return None if error.code == mcp.CONNECTION_CLOSED else error

    async def tools(self, seconds: float) -> list[dict[str, Any]]:
        """The tools of the server, as it lists them on its first page; StartError."""
        assert self._session is not None
        task = asyncio.ensure_future(self._session.list_tools())
        await asyncio.wait({task}, timeout=seconds)
        error = task.exception() if task.done() and not task.cancelled() else None
        found = None if error is not None or not task.done() else task.result()
        await abandon(task)
        if found is None:
            why = told(error) if error is not None else f"no answer within {seconds:g} s"
            raise StartError(f"its tools cannot be listed: {why}")
        return [tool.model_dump(by_alias=True, mode="json") for tool in found.tools]

    async def cancel(self, request: Request) -> None:
        """Tell the server that the request is cancelled."""
        assert self._session is not None
        params = mcp.CancelledNotificationParams(request_id=request.number, reason="deadline")
        with contextlib.suppress(Exception):
            await self._session.send_notification(mcp.CancelledNotification(params=params))

    async def ping(self, seconds: float) -> bool:
        """Whether the server answers a ping in this time."""
        assert self._session is not None
        task = asyncio.ensure_future(self._session.send_ping())
        await asyncio.wait({task}, timeout=seconds)
        answered = task.done() and not task.cancelled() and task.exception() is None
        await abandon(task)
        return answered

    def watch(self, memory_bytes: int | None) -> None:
        """Set the watchdog by the declared limit of memory, None: the target file's."""
        if isinstance(self._wire, HttpWire):
            self._wire.forgive()
        if self._process is None or self._server.command is None:
            return
        if memory_bytes is None:
            self._process.memory_bytes = self._server.command.memory_mib * MEBIBYTE
        else:
            self._process.memory_bytes = memory_bytes * 2 + 512 * MEBIBYTE
        self._process.forgive()

    def take_notes(self) -> list[str]:
        """What was strange on the wire since the last call, the first pieces of it."""
        notes, self.notes = self.notes, []
        return notes

    def note(self, text: str) -> None:
        """Keep a piece of evidence, escaped already; only the first ones are kept."""
        if len(self.notes) < NOTES:
            self.notes.append(text)

    def lose(self, why: str, text: str) -> None:
        """Nothing more will come. The first reason stands, unless it was only the loss."""
        if self.gone is None or (self.gone.why == "lost" and why != "killed"):
            self.gone = Gone(why, text)
            self._over.set()
            if self._wire is not None:
                self._wire.end()

    async def learn_why(self) -> None:
        """Nothing came and nothing will: wait for what tells the reason, a moment at most."""
        until = time.monotonic() + REASON_SECONDS
        while self.gone is None or (self.gone.why == "lost" and self._process is not None):
            self._over.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), max(until - time.monotonic(), 0))
                continue
            break
        self.lose("lost", "the connection closed without an answer")

    async def stop(self) -> None:
        """Leave the session, ask the server to exit, then close; never a fault of the target.

        `left` says what ran on when it had exited by itself.
        """
        try:
            before = self.gone
            await self._leave()
            if self._process is not None and self._pump is not None and before is None:
                self._pump.close()
                self._ask_to_exit(self._process)
                self.left = left_by(self._process, self._gone)
        finally:
            await self.close()

    async def close(self) -> None:
        """Leave the session, end the process and all that came from it. May be called again."""
        try:
            await self._leave()
        finally:
            self.kill()
            self.premises.close()

    def kill(self) -> None:
        """End the process by its group."""
        self.lose("killed", "the harness ended it")
        if self._pump is not None:
            self._pump.close()
        if self._process is not None:
            left = self._process.end()
            if left and self.gone is not None and self.gone.why != "killed":
                self.note(f"{len(left)} processes outlived the server")

    async def _leave(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            self._stop.set()
            await asyncio.wait({keeper}, timeout=1.0)
            await abandon(keeper)

    def _ask_to_exit(self, process: Process) -> None:
        """By the end of its input; one that is spoken to over HTTP has none, and gets a signal."""
        if self._server.transport == "stdio":
            process.close_input()
        else:
            # Itself alone: what it started is for it to end.
            os.kill(process.pid, signal.SIGTERM)

    def _gone(self, seconds: float) -> str | None:
        assert self._process is not None
        if self.gone is None or self.gone.why == "lost":
            for event in self._process.pump(seconds):
                self._hear(event)
        # That the connection was left is no news.
        return None if self.gone is None or self.gone.why == "lost" else self.gone.why

    @property
    def _timeout(self) -> float:
        command = self._server.command
        return (command.start_timeout_ms if command is not None else 20_000) / 1_000

    async def _keep(self, ready: asyncio.Future[mcp.InitializeResult]) -> None:
        """Hold the session open until `close`."""
        try:
            async with (
                self._streams() as (read, write),
                ClientSession(read, write, client_info=CLIENT) as session,
            ):
                result = await session.initialize()
                self._session = session
                if not ready.done():
                    ready.set_result(result)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001  a server can make the SDK raise anything
            if not ready.done():
                ready.set_exception(error)
            self.lose("lost", f"the connection is lost: {told(error)}")

    @contextlib.asynccontextmanager
    async def _streams(self) -> AsyncIterator[Streams]:
        if self._server.transport == "stdio":
            assert self._process is not None
            self._wire = StdioWire(self._process, self._tap)
        else:
            url = expand(self._server.url or "", self.premises.values, "server.url")
            if self._process is not None:
                await until_open(url)
            self._wire = HttpWire(url, self._tap, self.premises, self._loud)
        async with self._wire.streams() as streams:
            yield streams

    def _hear(self, event: Event) -> None:
        match event:
            case Line(data, cut, _):
                self.premises.note("stdout", data)
                if isinstance(self._wire, StdioWire):
                    self._wire.line(data, cut=cut)
                else:
                    self.note(f"stdout: {quoted(data)}")
            case Errors(data):
                self.premises.note_errors(data)
            case Exited(status):
                how = f"with status {status}" if status >= 0 else f"by signal {-status}"
                self.lose("exit", f"it exited {how}{self._last_error()}")
            case Swollen(measured, limit):
                self.lose(
                    "memory",
                    f"it holds {measured // MEBIBYTE} MiB of memory, "
                    f"the watchdog's limit is {limit // MEBIBYTE} MiB",
                )
            case Flooded(total):
                self.lose("flood", f"it printed more than {total // MEBIBYTE} MiB in one case")

    def _loud(self, total: int) -> None:
        self.lose("flood", f"it answered with more than {total // MEBIBYTE} MiB in one case")

    def _strange(self, text: str) -> None:
        self.note(f"wire: {text}")

    def _last_error(self) -> str:
        """What it said of its death: the last line on stderr that names an error, else the last."""
        assert self._process is not None
        lines = [line for line in self._process.errors.splitlines() if line.strip()]
        telling = [line for line in lines[-ERROR_LINES:] if _ERROR.match(line)] or lines
        return f"; on stderr: {quoted(telling[-1].strip())}" if telling else ""
