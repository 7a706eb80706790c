"""One invocation on an event loop: pipes, timers and host calls around a `Session`."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from codemode_spec.tables import load_tables

from codemode_reference.actions import Closed, Dispatch, Progress, Settled, Write
from codemode_reference.clock import Clock
from codemode_reference.codes import Code
from codemode_reference.errors import failure
from codemode_reference.evidence import Stats, effects
from codemode_reference.fairness import NoTurnError
from codemode_reference.operations import invocation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from codemode_reference.actions import Action, Outcome
    from codemode_reference.fairness import Slots
    from codemode_reference.operations import Catalogue
    from codemode_reference.process import Worker
    from codemode_reference.session import Session
    from codemode_reference.stop import Stop

Hook: TypeAlias = "Callable[[str, Any], Awaitable[None]]"

_log = logging.getLogger(__name__)
_TURNS = load_tables().turns
_CHUNK = 65536
# Linux counts in KiB, macOS in bytes.
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
# Beyond log_bytes nothing is counted any more; a flood then costs one read in this many seconds.
_FLOOD_PAUSE = 0.001
# A time that stands still is looked at so often.
_LOOK_MS = 10


@dataclass(frozen=True, slots=True)
class Host:
    """What the runs of a parent share. `keep` is told of each task that an operation runs in.

    `excluded`: waiting for the host is no part of the deadline. `hook` is asked before each call,
    `progress` is told what the program reports, `metered` runs look at the memory of their worker.
    """

    policy: Mapping[str, int]
    slots: Slots
    keep: Callable[[asyncio.Task[None]], None]
    excluded: bool = False
    hook: Hook | None = None
    progress: Callable[[dict[str, Any]], None] | None = None
    metered: bool = False


class Run:
    """Drives one worker to its one outcome. Use `outcome` once, then `end`, then perhaps `gone`.

    `reaped` is called when the worker is gone for good, which may be after `gone`.
    """

    def __init__(
        self,
        worker: Worker,
        session: Session,
        catalogue: Catalogue,
        host: Host,
        reaped: Callable[[], None],
    ) -> None:
        self.stats = Stats(worker.pid, calls=session.calls)
        self._worker = worker
        self._session = session
        self._policy = host.policy
        self._catalogue = catalogue
        self._host = host
        self._reaped = reaped
        self._loop = asyncio.get_running_loop()
        self._outcome: asyncio.Future[Outcome] = self._loop.create_future()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._stop: Stop | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._longest_ms = host.policy["wall_time_ms"] + host.policy["kill_grace_ms"]
        self._queue = bytearray()
        self._writing = False
        self._unsent = 0
        self._clock = Clock(excluded=host.excluded)
        self._processor_ms = 0.0

    async def outcome(self, execute: bytes, stop: Stop) -> Outcome:
        """Hand over the `execute` frame and wait for the end, which `stop` may bring."""
        self._stop = stop
        self._unsent = len(execute)
        # First of all: a worker that was started ahead waits for nothing else.
        self._write(execute)
        if not self._clock.started:
            self._after("start_timeout", self._policy["start_timeout_ms"])
        self._watch_exit()
        self._loop.add_reader(self._worker.stdout, self._read_stdout)
        self._loop.add_reader(self._worker.stderr, self._on_stderr)
        stop.listen(partial(self._last_word, "cancel"))
        try:
            return await self._outcome
        finally:
            stop.close()

    def end(self) -> bool:
        """Stop everything and kill what is left of the worker; whether it is gone and reaped."""
        # Without an outcome yet if the calling task was cancelled: an operation that answers later
        # must not write, because the numbers of the pipes may be those of other files by then.
        self._session.event("cancel")
        for timer in self._timers.values():
            timer.cancel()
        self._stop_calls()
        self.stats.wall_ms = self._elapsed_ms()
        self._look_at_memory()
        self._loop.remove_writer(self._worker.stdin)
        self._loop.remove_reader(self._worker.stdout)
        self._loop.remove_reader(self._worker.stderr)
        # Before reaping: the worker's number, and with it its group, is still its own.
        self._worker.kill()
        if self._exited.done():
            self._reap()
        return self._exited.done()

    async def gone(self) -> None:
        """After `end`: wait until the worker can be reaped, at most `reap_ms`, and reap it."""
        try:
            await asyncio.wait([self._exited], timeout=self._policy["reap_ms"] / 1000)
        except asyncio.CancelledError:
            # The loop is closing, so there is no later. What was killed is gone in a moment.
            if self._worker.pidfd is not None:
                self._loop.remove_reader(self._worker.pidfd)
            self._reap()
            raise
        if self._exited.done():
            self._reap()
        else:
            self._exited.add_done_callback(lambda _: self._reap())

    def _reap(self) -> None:
        usage = self._worker.reap()
        if usage is not None:
            self.stats.cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000
            self.stats.memory_bytes = max(self.stats.memory_bytes, _peak(usage))
        self._worker.close()
        self._reaped()

    def _look_at_memory(self) -> None:
        # While it lives: of a process that is gone only a peak above our own is known.
        if self._host.metered:
            self.stats.memory_bytes = max(self.stats.memory_bytes, self._worker.memory_peak())

    def _take_leave(self) -> None:
        """A metered worker has said its last word: it stays until we have looked at it."""
        self._look_at_memory()
        if self._host.metered:
            self._drop_writes()
            self._worker.hang_up()

    # Exit

    def _watch_exit(self) -> None:
        if self._worker.pidfd is not None:
            self._loop.add_reader(self._worker.pidfd, self._on_exit)
            return
        waiting = self._loop.run_in_executor(None, self._worker.wait)
        waiting.add_done_callback(lambda _: self._on_exit())

    def _on_exit(self) -> None:
        if self._worker.pidfd is not None:
            self._loop.remove_reader(self._worker.pidfd)
        self._exited.set_result(None)
        self._last_word("exit_failure" if self._worker.status() else "exit_zero")

    def _last_word(self, event: str) -> None:
        """An event that counts only if the worker has not said the last word already."""
        self._last_step(partial(self._session.event, event))

    def _last_step(self, step: Callable[[], Sequence[Action]]) -> None:
        while not self._outcome.done() and self._read_stdout():
            pass
        if not self._outcome.done():
            self._take(step)

    # Bytes

    def _read_stdout(self) -> bool:
        """Take one chunk; False if there is none now."""
        try:
            data = os.read(self._worker.stdout, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            if self._loop.remove_reader(self._worker.stdout):
                self._take(partial(self._session.event, "stdout_eof"))
            return False
        self._take(partial(self._session.receive, data, self._elapsed_ms()))
        self.stats.frames = self._session.frames
        return True

    def _on_stderr(self) -> None:
        try:
            data = os.read(self._worker.stderr, _CHUNK)
        except BlockingIOError:
            return
        total = self.stats.stderr_bytes + len(data)
        self.stats.stderr_bytes = min(total, self._policy["log_bytes"])
        self.stats.stderr_truncated |= total > self._policy["log_bytes"]
        if not data or self.stats.stderr_truncated:
            self._loop.remove_reader(self._worker.stderr)
        if data and self.stats.stderr_truncated:
            self._timers["stderr"] = self._loop.call_later(
                _FLOOD_PAUSE, self._loop.add_reader, self._worker.stderr, self._on_stderr
            )

    def _write(self, data: bytes) -> None:
        # Bounded: every reply answers one of at most `host_calls` calls, in at most one frame.
        self._queue += data
        self._flush()

    def _flush(self) -> None:
        # Taken before the write, so that the worker's clock never runs ahead of ours.
        now = self._loop.time()
        try:
            written = os.write(self._worker.stdin, self._queue)
        except BlockingIOError:
            written = 0
        except OSError:
            # The worker is gone or does not read: its exit or a timer decides.
            self._drop_writes()
            return
        del self._queue[:written]
        if self._queue and not self._writing:
            self._loop.add_writer(self._worker.stdin, self._flush)
        elif self._writing and not self._queue:
            self._loop.remove_writer(self._worker.stdin)
        self._writing = bool(self._queue)
        self._unsent -= written
        if not self._clock.started and self._unsent <= 0:
            self._clock.start(now)
            self._look_at_memory()
            self._after("deadline", self._longest_ms)
            self._watch_processor()
            self._take(partial(self._session.event, "execute_sent"))

    def _drop_writes(self) -> None:
        self._queue.clear()
        self._writing = False
        self._loop.remove_writer(self._worker.stdin)

    # Time

    def _elapsed_ms(self) -> float:
        return self._clock.elapsed_ms(self._loop.time())

    def _keep_time(self) -> None:
        """Let the time stand still where the program waits for us, and go on where it does not."""
        if self._session.waiting and not self._session.settled:
            self._clock.wait(self._loop.time())
        elif self._clock.stands:
            self._clock.go_on(self._loop.time())

    def _after(self, event: str, milliseconds: float) -> None:
        self._timers[event] = self._loop.call_later(milliseconds / 1000, self._on_timer, event)

    def _on_timer(self, event: str) -> None:
        counted = event != "deadline" or not self._host.excluded
        left = 0 if counted else self._longest_ms - self._elapsed_ms()
        if left > 0:
            # It has stood still since this timer was set, or does so now.
            self._after(event, max(left, _LOOK_MS))
            return
        stopped = self._stop is not None and self._stop.is_set()
        self._last_word("cancel" if stopped else event)

    def _watch_processor(self) -> None:
        """End a program that uses more processor time than it may and does not end by itself.

        The engine looks at its time between steps, and a built-in may be one long step.
        """
        limit, used = self._policy.get("cpu_time_ms"), self._worker.processor_ms()
        if limit is None or used is None:
            return
        self._processor_ms = used
        self._timers["processor"] = self._loop.call_later(limit / 1000, self._on_processor, limit)

    def _on_processor(self, limit: int) -> None:
        used = self._worker.processor_ms()
        if used is None or self._outcome.done() or self._session.settled:
            return
        # One thread computes, so that this is the earliest time at which it can be used up.
        left = limit + self._policy["kill_grace_ms"] - (used - self._processor_ms)
        if left > 0:
            wait = max(left, _LOOK_MS) / 1000
            self._timers["processor"] = self._loop.call_later(wait, self._on_processor, limit)
        else:
            self._last_step(self._session.used_up)

    # Actions

    def _take(self, step: Callable[[], Sequence[Action]]) -> None:
        """Apply what the session asks for; a fault of ours ends the invocation, not the parent."""
        try:
            self._apply(step())
            if self._host.excluded:
                self._keep_time()
        except Exception:  # noqa: BLE001  it is reported, and becomes the outcome
            _log.exception("the parent failed")
            if not self._outcome.done():
                self._outcome.set_result(failure(Code.internal_error))

    def _apply(self, actions: Sequence[Action]) -> None:
        for action in actions:
            if isinstance(action, Dispatch):
                self._dispatch(action)
            elif isinstance(action, Write):
                self._write(action.data)
            elif isinstance(action, Progress):
                if self._host.progress is not None:
                    self._host.progress(action.report)
            elif isinstance(action, Settled):
                self._take_leave()
                self._timers["deadline"].cancel()
                self._stop_calls()
                self._after("exit_wait_over", self._policy["exit_wait_ms"])
            elif isinstance(action, Closed):
                self._after("exit_wait_over", self._policy["exit_wait_ms"])
            elif not self._outcome.done():
                self._outcome.set_result(action.outcome)

    def _dispatch(self, call: Dispatch) -> None:
        task = self._loop.create_task(self._run_operation(call))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        self._host.keep(task)

    def _stop_calls(self) -> None:
        for task in self._calls:
            task.cancel()

    async def _run_operation(self, call: Dispatch) -> None:
        invocation.set(self._session.invocation_id)
        # A call that gets its turn at the last moment could do nothing with it.
        left = self._policy["wall_time_ms"] - _TURNS.least_left_ms - self._elapsed_ms()
        if self._host.excluded:
            left = _TURNS.longest_wait_ms
        try:
            async with self._host.slots.turn(self, left / 1000):
                value = await self._perform(call)
        except KeyboardInterrupt:
            raise
        except NoTurnError:
            late = Code.server_host_operations_limit
            self._take(partial(self._session.fail, call.call_id, self._elapsed_ms(), late))
        except BaseException:  # noqa: BLE001  whatever it raises, its text stays here
            self._take(partial(self._session.fail, call.call_id, self._elapsed_ms()))
        else:
            self._take(partial(self._session.answer, call.call_id, value, self._elapsed_ms()))

    async def _perform(self, call: Dispatch) -> Any:
        """Let the operation do its work, in the time that it has where no deadline counts it."""
        operation = self._catalogue[call.operation]
        record = self._session.dispatched(call.call_id)
        record.untracked = operation.untracked
        effects.set(record)
        milliseconds = self._policy.get("operation_time_ms")
        async with asyncio.timeout(None if milliseconds is None else milliseconds / 1000):
            if self._host.hook is not None:
                await self._host.hook(call.operation, call.arguments)
            return await operation.handler(call.arguments)


def _peak(usage: resource.struct_rusage) -> int:
    """The most memory of a process that is gone, in bytes; 0 where it cannot be told.

    What the kernel says includes the peak of the process that it was started from, which is ours:
    only a larger one is its own.
    """
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage.ru_maxrss * _MAXRSS_UNIT if usage.ru_maxrss > ours else 0
