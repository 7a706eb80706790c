"""A scripted client on the pipes of one server process: steps are played, lines read strictly."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.programs import PLAIN, text_of

from codemode_conformance.frames import LARGEST
from codemode_conformance.leaving import left_by
from codemode_conformance.premises import MEBIBYTE
from codemode_conformance.process import Chunk, Errors, Exited, Flooded, Swollen
from codemode_conformance.roles.exchange import Worker
from codemode_conformance.server import strict
from codemode_conformance.server.heard import Answered, Asked, Heard, Report, peak_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_conformance.premises import Premises
    from codemode_conformance.process import Event
    from codemode_conformance.target import Command, Server
    from codemode_conformance.transcript import Transcript

VERSION: Final = "2025-06-18"
"""The revision of MCP that the client asks for."""

INITIALIZE: Final = "initialize"
HEALTH: Final = "health"
CALL: Final = "tools/call"
LEAVE_SECONDS: Final = 15.0
"""How long a server may take to go once its client has left: busy machines make it late."""

SETTLE_SECONDS: Final = 0.2
"""How long a server is heard after the last step, for what it should not say."""

_METHOD_NOT_FOUND: Final = -32601
_UNKNOWN: Final = "cmconf_no_such_tool"


class Dialogue:
    """Plays the steps of a case to a fresh server; call `stop` when it is done.

    `command` is that of the target, or another one of it; `patience` is how long an answer is
    waited for, in seconds.
    """

    def __init__(
        self,
        server: Server,
        command: Command,
        premises: Premises,
        patience: float,
        transcript: Transcript | None = None,
    ) -> None:
        self.heard = Heard()
        self.asked: list[Asked] = []
        self.left = False
        self._server = server
        self._command = command
        self._premises = premises
        self._patience = patience
        self._transcript = transcript
        self._open: dict[str, list[Asked]] = {}
        self._tokens: dict[str, Asked] = {}
        self.process = premises.launch(command, "", kind=Worker)

    def watch(self, memory_bytes: int | None) -> None:
        """Set the watchdog by the declared limit of memory, None: the target file's."""
        if memory_bytes is not None:
            self.process.memory_bytes = memory_bytes * 2 + 512 * MEBIBYTE

    def introduce(self) -> bool:
        """Introduce ourselves; whether the server did so too, in time."""
        params = {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "cmconf", "version": "1"},
        }
        asked = self._ask(INITIALIZE, "initialize", params, "cmconf-initialize")
        self._until(lambda: asked.answered > 0, self._command.start_timeout_ms / 1_000)
        if not asked.answered:
            return False
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.heard.first_peak = self.heard.peak
        return "result" in self.heard.answers[-1].message

    def play(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Take the steps in order; the first request that is not answered in time is the last."""
        for step in steps:
            if self.over or self.heard.unanswered:
                return
            self._take(step)

    def finish(self) -> None:
        """Hear what still comes: until it is gone if the client has left, else for a moment.

        A second answer comes after the first one, which may have ended the last step.
        """
        self._until(lambda: False, LEAVE_SECONDS if self.left else SETTLE_SECONDS)

    def healthy(self) -> bool:
        """Whether a plain program is run now, and is answered."""
        self._program({"program": PLAIN, "as": HEALTH})
        self._read(HEALTH)
        return not self.over and not self.heard.unanswered

    @property
    def over(self) -> bool:
        """Whether nothing more can come."""
        return self.heard.status is not None or bool(self.heard.lost)

    def kin_is_gone(self) -> bool:
        """Whether no process that came from the server runs, after a while at the latest."""
        until = time.monotonic() + LEAVE_SECONDS
        while self.process.kin.living():
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def stop(self) -> Counter[str]:
        """Leave, unless that is done, then end the server and all that came from it.

        Returns the command lines of what ran on when it had exited because of that.
        """
        try:
            if self.over and not self.left:
                return Counter()
            self.process.close_input()
            return left_by(self.process, self._gone)
        finally:
            self.process.end()

    # Steps

    def _take(self, step: Mapping[str, Any]) -> None:
        kinds = {
            "repeat": self._repeat,
            "program": self._program,
            "tool": self._tool,
            "request": self._request,
            "notify": self._notify,
            "cancel": self._cancel,
            "read": lambda step: self._read(step["read"]),
            "wait": lambda step: self._until(lambda: False, step["wait"] / 1_000),
            "close": lambda step: self._close(step["close"]),
        }
        next((take for name, take in kinds.items() if name in step), self._raw)(step)

    def _repeat(self, step: Mapping[str, Any]) -> None:
        for _ in range(step["repeat"]):
            self.play(step["do"])

    def _request(self, step: Mapping[str, Any]) -> None:
        method, params = step["request"], step.get("params")
        self._ask(step.get("as", ""), method, params, self._number(step))

    def _notify(self, step: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "method": step["notify"], **_params(step.get("params"))})

    def _cancel(self, step: Mapping[str, Any]) -> None:
        newest = [one for one in self.asked if one.name == step["cancel"]][-1]
        params = {"requestId": newest.number, "reason": "the client has no use for it"}
        method = "notifications/cancelled"
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _program(self, step: Mapping[str, Any]) -> None:
        server = self._server
        before, after = server.wrap
        names = server.arguments
        arguments: Any = {
            **server.fixed_arguments,
            names["program"]: before + self._say(text_of(step["program"])) + after,
            **step.get("with", {}),
        }
        if "timeout_ms" in step:
            arguments[names["options.timeout_ms"]] = step["timeout_ms"]
        params = {"name": server.tool, "arguments": step.get("arguments", arguments)}
        if "token" in step:
            params["_meta"] = {"progressToken": step["token"]}
        asked = self._ask(step.get("as", ""), CALL, params, self._number(step))
        if "token" in step:
            asked.token = step["token"]
            self._tokens[strict.key(step["token"])] = asked

    def _tool(self, step: Mapping[str, Any]) -> None:
        known = {"unknown": {"tool": _UNKNOWN}, **self._server.direct}
        call = known[step["tool"]]
        params = {"name": call["tool"], "arguments": call.get("arguments", {})}
        self._ask(step.get("as", ""), CALL, params, self._number(step))

    def _say(self, text: str) -> str:
        for name, expression in self._server.expressions.items():
            text = text.replace(f"{{{{server.{name}}}}}", expression)
        filled: str = self._premises.canaries.fill(text)
        return filled

    def _number(self, step: Mapping[str, Any]) -> Any:
        if "id_json" in step:
            return json.loads(step["id_json"])
        return step["id"] if "id" in step else len(self.asked) + 1_000

    def _ask(self, name: str, method: str, params: Any, number: Any) -> Asked:
        message = {"jsonrpc": "2.0", "id": number, "method": method, **_params(params)}
        asked = self._note(name, method, number)
        self._send(message)
        return asked

    def _note(self, name: str, method: str, number: Any) -> Asked:
        odd = not method or not strict.is_id(number)
        odd = odd or (isinstance(number, int) and abs(number) > LARGEST)
        asked = Asked(name, method, number, time.monotonic(), odd=odd)
        self.asked.append(asked)
        self._open.setdefault(strict.key(number), []).append(asked)
        return asked

    def _raw(self, step: Mapping[str, Any]) -> None:
        times = int(step.get("times", 1))
        if "line" in step:
            if "as" in step:
                self._note(step["as"], "", step.get("id"))
            data = (str(step["line"]) + "\n").encode()
        elif "text" in step:
            data = str(step["text"]).encode() * times
        else:
            data = bytes.fromhex(step["hex"]) * times
        if self._transcript is not None:
            self._transcript.raw("->", data)
        self.process.send(data)
        # A server that reads no more has the time of an answer to take it.
        self._flush()

    def _send(self, message: Mapping[str, Any]) -> None:
        self._queue(message)
        self._pump(0.0)

    def _queue(self, message: Mapping[str, Any]) -> None:
        if self._transcript is not None:
            self._transcript.sent(message)
        text = json.dumps(message, ensure_ascii=True, separators=(",", ":"))
        self.process.send(text.encode() + b"\n")

    def _read(self, name: str) -> None:
        wanted = [one for one in self.asked if one.name == name]
        if not self._until(lambda: all(one.answered for one in wanted), self._patience):
            self.heard.unanswered = "" if self.over else name

    def _close(self, names: Sequence[str]) -> None:
        self._flush()
        if self._transcript is not None:
            self._transcript.event(f"the client closes its end of {' and '.join(names)}")
        self.left = True
        if "stdout" in names:
            self.process.close_output()
        if "stdin" in names:
            self.process.close_input()

    def _flush(self) -> None:
        """Until what is queued for the server is written, or its patience is over."""
        until = time.monotonic() + self._patience
        while self.process.unsent and not self.over and time.monotonic() < until:
            self._pump(until - time.monotonic(), written=True)

    # Hearing

    def _until(self, done: Any, seconds: float) -> bool:
        """Hear what comes until something holds or the time is over; whether it holds."""
        until = time.monotonic() + seconds
        while not done():
            left = until - time.monotonic()
            if self.over or left <= 0:
                return bool(done())
            self._pump(min(left, 0.1))
        return True

    def _gone(self, seconds: float) -> str | None:
        if not self.over:
            self._pump(seconds)
        return ("lost" if self.heard.lost else "exit") if self.over else None

    def _pump(self, seconds: float, *, written: bool = False) -> None:
        events = self.process.pump(seconds, written=written)
        self.heard.peak = max(self.heard.peak, peak_of(self.process.pid))
        now = time.monotonic()
        for event in events:
            self._event(event, now)

    def _event(self, event: Event, now: float) -> None:
        heard = self.heard
        match event:
            case Chunk(data):
                self._premises.note("stdout", heard.rest[-200:] + data)
                *lines, heard.rest = (heard.rest + data).split(b"\n")
                for line in lines:
                    self._line(line, now)
            case Errors(data):
                self._premises.note_errors(data)
            case Exited(status):
                heard.status = status
                if self._transcript is not None:
                    if heard.rest:
                        self._transcript.raw("<-", heard.rest)
                    self._transcript.event(f"the server has exited with {status}")
            case Swollen(measured, limit):
                held, most = measured // MEBIBYTE, limit // MEBIBYTE
                heard.lost = f"it holds {held} MiB of memory, the watchdog's limit is {most} MiB"
            case Flooded(total):
                heard.lost = f"it printed {total // MEBIBYTE} MiB"
            case _:
                pass

    def _line(self, line: bytes, now: float) -> None:
        message, fault = strict.read(line)
        if fault:
            self.heard.faults.append(fault)
        if self._transcript is not None:
            if message:
                self._transcript.received(message)
            else:
                self._transcript.raw("<-", line)
        if "method" in message:
            self._called(message)
        elif "result" in message or "error" in message:
            self._answered(message, now)

    def _called(self, message: Mapping[str, Any]) -> None:
        """The server asks or tells something; a client answers each request."""
        if message["method"] == "notifications/progress":
            params = message.get("params")
            params = params if isinstance(params, dict) else {}
            asked = self._tokens.get(strict.key(params.get("progressToken")))
            is_open = asked is not None and not asked.answered
            self.heard.reports.append(Report(asked if is_open else None, params))
        if "id" in message:
            answer: dict[str, Any] = {"result": {}}
            if message["method"] != "ping":
                text = "this client has no such method"
                answer = {"error": {"code": _METHOD_NOT_FOUND, "message": text}}
            # Queued only: who heard more here would take later lines before the rest of these, and
            # a server that asks on and on would end the suite.
            self._queue({"jsonrpc": "2.0", "id": message["id"], **answer})

    def _answered(self, message: Mapping[str, Any], now: float) -> None:
        number = message.get("id")
        waiting = [one for one in self._open.get(strict.key(number), ()) if not one.answered]
        if number is None and not waiting:
            waiting = [one for one in self.asked if one.odd and not one.answered]
        if number is None and not waiting:
            self.heard.answers.append(Answered(None, message, 0.0))
            return
        if not waiting:
            again = strict.key(number) in self._open
            what = "a second answer to" if again else "an answer to an id that was never sent,"
            self.heard.strays.append(f"{what} {strict.key(number)[:60]}")
            for one in self._open.get(strict.key(number), ())[:1]:
                self.heard.answers.append(Answered(one, message, (now - one.at) * 1_000))
            return
        waiting[0].answered += 1
        took = (now - waiting[0].at) * 1_000
        self.heard.answers.append(Answered(waiting[0], message, took))


def _params(params: Any) -> dict[str, Any]:
    return {} if params is None else {"params": params}
