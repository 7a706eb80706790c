"""Sessions and runs on one adapter process: the loop that keeps time, answers and ends."""

from __future__ import annotations

import itertools
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.adapter import Broken, Gone, Heard
from codemode_conformance.escape import QUOTE_CHARACTERS, cut, quoted
from codemode_conformance.liverun import LiveRun, Phase
from codemode_conformance.observation import End, Fault
from codemode_conformance.replies import Replies, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codemode_spec.programs import RunSpec

    from codemode_conformance.adapter import Adapter

SESSION_SECONDS: Final = 10.0
CANCEL_NEWS_SECONDS: Final = 1.0
NOTES: Final = 20
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_ids: Final = itertools.count(1)


class FaultError(Exception):
    """The case cannot go on: a fault of the adapter, the harness or the surroundings."""

    def __init__(self, side: str, text: str) -> None:
        self.fault = Fault(side, text)
        super().__init__(text)


class UnsupportedError(Exception):
    """The target cannot be asked this."""


class Channel:
    """What one case does on an adapter process. `spoiled` says that a fresh one is needed."""

    def __init__(self, adapter: Adapter, grace_ms: int, *, host_wait_excluded: bool) -> None:
        self.adapter = adapter
        self.runs: dict[int, LiveRun] = {}
        self.notes: list[str] = []
        self.spoiled = False
        self.replies = Replies((), adapter.canaries)
        self.last_look: Callable[[], None] = lambda: None
        """Called when the target was killed by the case, before all that came from it is ended."""
        self._killed = False
        self._grace_seconds = grace_ms / 1_000
        self._host_wait_excluded = host_wait_excluded
        self._answers: dict[tuple[str, int], dict[str, Any]] = {}
        self._pongs: set[int] = set()
        self._messages: dict[int, dict[str, Any]] = {}
        self._calls = 0
        self._session = 0
        self._news_over = False
        self._unsupported: str | None = None

    def open(
        self,
        policy: Mapping[str, Any],
        ops: list[dict[str, Any]],
        host: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Open a session; returns the `opened` or `refused` message.

        UnsupportedError when rows cannot be set, FaultError when no answer comes.
        """
        session = self._session = next(_ids)
        message = {"m": "open", "s": session, "policy": dict(policy), "ops": ops}
        self._send({**message, "host": dict(host)} if host else message)
        names = ("opened", "refused", "unsupported")
        answer = self._answer("open", names, session)
        if answer["m"] == "unsupported":
            raise UnsupportedError(f"the target cannot set {cut(', '.join(answer['fields']))}")
        return answer

    def advance(self, session: int, milliseconds: int) -> None:
        """Move the scripted clock of a session on; FaultError when `advanced` does not come."""
        self._send({"m": "advance", "s": session, "ms": milliseconds})
        self._answer("advance", ("advanced",), session)

    def close(self, session: int) -> None:
        """Close a session; FaultError when `closed` does not come."""
        if self.adapter.gone is not None:
            return
        self._send({"m": "close", "s": session})
        self._answer("close", ("closed",), session)

    def ping(self, seconds: float) -> bool:
        """Whether the adapter answers a ping in this time."""
        number = next(_ids)
        self._send({"m": "ping", "n": number})
        self._until(lambda: number in self._pongs, time.monotonic() + seconds)
        return number in self._pongs

    def add(
        self,
        spec: RunSpec,
        session: int,
        source: str,
        options: Mapping[str, Any],
        deadline_seconds: float,
    ) -> LiveRun:
        """A run that starts in `wait`, at once or after the call it waits for."""
        run = LiveRun(next(_ids), session, spec, deadline_seconds, self._grace_seconds)
        self.runs[run.id] = run
        message = {"m": "run", "r": run.id, "s": session, "source": source}
        self._messages[run.id] = {**message, "options": dict(options)}
        return run

    def wait(self) -> None:
        """Let all runs come to their end, one way or another.

        UnsupportedError when the target could not be asked; FaultError for a fault.
        """
        self._start_waiting()
        self._until(lambda: not any(run.going for run in self.runs.values()), None)
        if any(run.phase is Phase.SPENT for run in self.runs.values()):
            self.kill()
        if self._unsupported is not None:
            raise UnsupportedError(self._unsupported)

    def wait_for_cancel_news(self) -> None:
        """Give the target a moment to say that calls still open at the end are cancelled."""
        ended = [run for run in self.runs.values() if run.phase is Phase.ENDED]
        until = time.monotonic() + CANCEL_NEWS_SECONDS
        self._until(lambda: not any(run.open_calls for run in ended), until)
        # What is cancelled with its session was not cancelled with its program.
        self._news_over = True

    def linger(self, seconds: float) -> None:
        """Listen for what must not come any more: a second outcome of a run."""
        runs = self.runs.values()
        until = time.monotonic() + seconds
        self._until(lambda: any(run.end is End.TWO_OUTCOMES for run in runs), until)

    def kill(self) -> None:
        """End the process by its group."""
        self.spoiled = True
        left = self.adapter.end()
        if left:
            self.note(f"{len(left)} processes outlived the adapter")
        if self.adapter.gone is None:
            self.adapter.gone = Gone("killed", "the harness ended it", time.monotonic())

    def _answer(self, what: str, names: tuple[str, ...], session: int) -> dict[str, Any]:
        keys = [(name, session) for name in names]
        answers = self._answers
        self._until(lambda: any(key in answers for key in keys), time.monotonic() + SESSION_SECONDS)
        for key in keys:
            if key in answers:
                return answers.pop(key)
        gone = self.adapter.gone
        self.kill()
        text = gone.text if gone is not None else f"no answer in {SESSION_SECONDS:g} s"
        raise FaultError("adapter", f"{what}: {text}")

    def _until(self, done: Callable[[], bool], until: float | None) -> None:
        """Keep the loop going until something holds, the time is over, or the process is gone."""
        while not done() and self.adapter.gone is None:
            now = time.monotonic()
            if until is not None and now >= until:
                return
            self._work(now)
            if done():
                return
            times = [run.next_at for run in self.runs.values()] + [self.replies.next_at, until]
            next_at = min((at for at in times if at is not None), default=now + 1.0)
            for report in self.adapter.receive(min(next_at - time.monotonic(), 1.0)):
                self._hear(report)

    def _work(self, now: float) -> None:
        for reply in self.replies.due(now):
            self._reply(reply.run, reply.call, reply.message, now)
        for run in list(self.runs.values()):
            if run.going and run.cancel_at is not None and run.cancel_at <= now:
                self._cancel(run)
            if run.going and (run.step_at <= now or run.ping in self._pongs):
                self._next_step(run, now)

    def _next_step(self, run: LiveRun, now: float) -> None:
        phase = Phase(run.phase + 1)
        run.step(phase, now)
        if phase is Phase.ANSWERED:
            self.replies.drop(run.id)
            for call in run.open_calls:
                self._refuse(run, call.number, now)
        elif phase is Phase.CANCELLED:
            self._send({"m": "cancel", "r": run.id})
        elif phase is Phase.PINGED:
            run.ping = next(_ids)
            self._send({"m": "ping", "n": run.ping})
        else:
            run.label = "silent" if run.ping in self._pongs else "blocked"

    def _start_waiting(self) -> None:
        for run in list(self.runs.values()):
            if run.phase is Phase.WAITING and run.spec.after_call <= self._calls:
                self._send(self._messages[run.id])
                run.start(time.monotonic())

    def _cancel(self, run: LiveRun) -> None:
        run.cancel_at = None
        self._send({"m": "cancel", "r": run.id})

    def _refuse(self, run: LiveRun, number: int, now: float) -> None:
        reply = failure(run.id, number, "operation_failed", "the run is over its time")
        self._reply(run.id, number, reply.message, now)

    def _reply(self, run_id: int, number: int, message: Mapping[str, Any], now: float) -> None:
        call = self.runs[run_id].calls[number]
        if call.answered is None:
            call.answered = now
            self._send(message)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.adapter.gone is None:
            self.adapter.send(message)

    def _hear(self, report: Heard | Broken | Gone) -> None:
        match report:
            case Broken(reason):
                self.kill()
                raise FaultError("adapter", cut(reason, 2 * QUOTE_CHARACTERS))
            case Gone():
                self._lose(report)
            case Heard(message, at):
                self._take(message, at)

    def _lose(self, gone: Gone) -> None:
        if self._killed:
            self.last_look()
        self.kill()
        self.note(gone.text)
        if gone.why == "flood":
            raise FaultError("adapter", gone.text)
        for run in self.runs.values():
            if run.going:
                died = End.EXIT if self._killed else End.HOST_DIED
                run.lose(End.MEMORY if gone.why == "memory" else died, gone.at, gone.text)

    def _take(self, message: dict[str, Any], at: float) -> None:
        kind = message["m"]
        if kind in ("opened", "refused", "advanced", "closed"):
            self._answers[kind, message["s"]] = message
        elif kind in ("outcome", "call", "call_cancelled", "progress"):
            self._take_of_run(kind, message, at)
        elif kind == "pong":
            self._pongs.add(message["n"])
        elif kind == "note":
            self.note(f"{message['kind']}: {message['text']}")
        elif kind == "unsupported":
            self._take_unsupported(message)
        elif kind == "fault":
            self.spoiled = True
            raise FaultError("adapter", f"{cut(message['of'])}: {quoted(message['text'])}")
        else:
            self.spoiled = True
            raise FaultError("adapter", f"it sent {kind}, which nobody asked for")

    def _take_of_run(self, kind: str, message: dict[str, Any], at: float) -> None:
        run = self.runs.get(message["r"])
        if run is None or run.phase is Phase.WAITING:
            # Of an earlier case, which is closed: it proves nothing about this one.
            self.spoiled = True
            self.note(f"{kind} of run {message['r']!r}, which is not open")
        elif kind == "outcome":
            self.spoiled = self.spoiled or run.outcome is not None
            run.conclude(message, at)
            self.replies.ended(list(self.runs).index(run.id) + 1, at)
            if run.spec.cancel_after_outcome:
                self._cancel(run)
        elif kind == "progress":
            run.tell(message)
        elif kind == "call_cancelled":
            call = run.calls.get(message["c"])
            if call is not None and call.cancelled is None and not self._news_over:
                call.cancelled = at
        else:
            self._take_call(run, message, at)

    def _take_call(self, run: LiveRun, message: dict[str, Any], at: float) -> None:
        try:
            call = run.call(message, at)
        except KeyError:
            self.spoiled = True
            raise FaultError("adapter", f"call {message['c']} of one run came twice") from None
        self._calls += 1
        if run.ending:
            self._refuse(run, call.number, at)
        else:
            delay = self.replies.accept(run.id, call.number, call.op, at)
            if self._host_wait_excluded:
                run.extend(delay)
        for other in self.runs.values():
            if other.going and other.spec.cancel_after_call == self._calls:
                self._cancel(other)
            if other.going and other.spec.kill_after_call == self._calls:
                self._killed = True
                self.adapter.kill_alone()
        self._start_waiting()

    def _take_unsupported(self, message: dict[str, Any]) -> None:
        command = message.get("of")
        if command == "open" or (command is None and "s" in message):
            session = message.get("s", self._session)
            self._answers["unsupported", session] = {"fields": ["a row"], **message}
            return
        run = self.runs.get(message.get("r", 0))
        if command == "cancel" and (run is None or run.ending or not run.going):
            return
        asked = self._messages[run.id]["options"] if run is not None else {}
        if command != "cancel" and not (command == "run" and asked):
            # Nothing was asked for that a target may lack: a verdict must not be evaded so.
            self.kill()
            raise FaultError("adapter", f"it answers `unsupported` to a {quoted(str(command))}")
        fields = f" with {cut(', '.join(message['fields']))}" if "fields" in message else ""
        self._unsupported = f"the target does not support {command}{fields}"
        now = time.monotonic()
        for other in self.runs.values():
            # Only to get the adapter free again; nothing is judged.
            if other.phase is Phase.RUNNING and command == "run" and other is run:
                other.lose(End.NO_OUTCOME, now, "unsupported")
            elif other.phase is Phase.RUNNING:
                other.step_at = min(other.step_at, now)

    def note(self, text: str) -> None:
        """Keep a piece of evidence, escaped; only the first ones are kept."""
        if len(self.notes) < NOTES:
            self.notes.append(quoted(text))
