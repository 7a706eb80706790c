"""How a worker runs a synchronous program: calls return directly. See `worker`.

The engine has one Python callable, `bridge`, and no time limit of its own: a limit would forbid it.
A thread watches the time instead, which stands still while the program waits for the host. What
ends a program ends the process from inside, so that no `catch` and no `finally` runs after it.
"""

from __future__ import annotations

import _thread
import posix
from time import monotonic

from codemode_reference import worker
from codemode_reference.hardening import backstop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# First letters of what the script says; see js/results.js and js/direct.js.
_CALL, _BUDGET, _NULL_THROWN = "pbn"
# Of a reply, and of the frame of a call or a batch: where what is charged begins.
_VALUE, _OPERATION = b'"value":', b'"operation":'
_BATCH = b'{"type":"host_batch",'
# A record of a call has this in front of what its frame shows, one of its end this around a value.
_CALL_RECORD, _END_RECORD = b'{"call_id":%d,', b'{"call_id":%d,"fate":"succeeded","result":}\n'
_FAILED_RECORD = b'{"call_id":%d,"fate":"failed","result":null}\n'
# While the time stands still it is looked at so often.
_SECONDS_BETWEEN_LOOKS = 0.005


def main(data: Any, words: list[str]) -> NoReturn:
    """Run one invocation and leave the process."""
    worker.main(Inline(data), data, words)


class Inline(worker.Worker):
    """Runs the program in one go; its host calls wait here."""

    def prepare(self) -> None:
        """The callable, and the thread that watches the time."""
        self._context.add_callable("bridge", self._bridge)
        self._running = worker.held_lock()
        # Held while bytes are written, so that no frame is cut by the last one.
        self._output = _thread.allocate_lock()
        self._delivered = 0
        self._recorded = 0
        started = worker.held_lock()
        _thread.start_new_thread(self._watch, (started,))
        started.acquire()

    def execute(self, line: bytes, limits: dict[str, int]) -> None:
        """Run the program of the `execute` frame in `line` until its result is written."""
        self._limits = limits
        self._seconds = limits["wall_time_ms"] / 1000
        # The seconds that were waited, and since when it waits now, told in one.
        self._waited: tuple[float, float | None] = (0.0, None)
        self._begin = self._deadline - self._seconds
        self._running.release()
        codes, reasons = self._data.codes, self._data.reasons
        try:
            output = self._boot(line, limits)()
        except self._engine.JSException:
            self._output.acquire()
            self._fail(codes.code_rejected, reason=reasons.memory)
            return
        self._last(output)

    def _last(self, output: str) -> None:
        """Write the result. Whoever has the output keeps it: there is one result."""
        self._output.acquire()
        if output[0] == _NULL_THROWN and self._heap_was_full():
            self._fail(self._data.codes.code_rejected, reason=self._data.reasons.memory)
        else:
            self._write(worker.plain(output[1:]), ended=True)

    def _bridge(self, output: str) -> str:
        # Nothing may be raised into the engine, where the program could catch it and go on.
        try:
            return self._answer(output)
        except MemoryError:
            if self._output.acquire(blocking=False):
                self._fail(self._data.codes.code_rejected, reason=self._data.reasons.memory)
                self._leave()
            posix._exit(self._data.bad_frame)  # noqa: SLF001  in the middle of a frame
        except BaseException:  # noqa: BLE001  the parent is gone, or worse
            posix._exit(self._data.bad_frame)  # noqa: SLF001

    def _answer(self, output: str) -> str:
        kind = output[0]
        if kind not in (_CALL, _BUDGET):
            self._last(output)
            self._leave()
        if kind == _BUDGET:
            return self._budget()
        count, _, frame = output[1:].partition("%20")
        return self._exchange(int(count), worker.plain(frame))

    def _leave(self) -> NoReturn:
        """End the process while the program still runs: nothing of it runs any more."""
        posix.close(1)
        posix._exit(0)  # noqa: SLF001

    def _exchange(self, count: int, frame: bytes) -> str:
        """Send a frame that takes `count` ids, and wait for as many replies."""
        self._in_flight.update(range(self._sent + 1, self._sent + count + 1))
        self._sent += count
        with self._output:
            self._write(frame, ended=False)
        waited, _ = self._waited
        since = monotonic()
        self._waited = waited, since
        backstop(0)
        replies: list[bytes] = []
        while len(replies) < count:
            self._arrived.acquire()
            while self._inbox:
                replies.append(self._inbox.popleft())
        self._waited = waited + monotonic() - since, None
        backstop(max(self._left(), 0))
        self._charge(frame, replies)
        return worker.literal(b"[%b]" % b",".join(replies))

    def _budget(self) -> str:
        """What is left, beside calls, as JSON. Of what the parent keeps it is an account."""
        told = [_budget("wall_time_ms", self._limits["wall_time_ms"], int(self._left() * 1000))]
        limit = self._budgets.get("cumulative_host_result_bytes")
        if limit is not None:
            left = limit - self._delivered
            told.append(_budget("cumulative_host_result_bytes", limit, left))
        history = self._budgets.get("history_bytes")
        if history is not None:
            least = self._budgets["history_headroom_bytes"]
            left = max(history - self._recorded, 0)
            told.append(f'"history_bytes":{{"least":{least},"left":{left}}}')
        return f"{{{','.join(told)}}}"

    def _charge(self, frame: bytes, replies: list[bytes]) -> None:
        """Count what calls and their replies take of the data and of the history.

        The history is shared, and what others write there is not seen from here.
        """
        count = len(replies)
        # From the first name to the end of the line; between the entries of a batch there is more
        # than between lines.
        self._recorded += len(frame) - frame.index(_OPERATION)
        self._recorded -= count + 1 if frame.startswith(_BATCH) else 0
        for call_id, reply in enumerate(replies, self._sent - count + 1):
            start = reply.find(_VALUE)
            size = 0 if start < 0 else len(reply) - start - len(_VALUE) - 1
            ended = _END_RECORD if size else _FAILED_RECORD
            self._delivered += size
            self._recorded += len(_CALL_RECORD % call_id) + len(ended % call_id) + size

    def _left(self) -> float:
        """The seconds that the program may still compute."""
        waited, since = self._waited
        now = monotonic()
        waiting = 0.0 if since is None else now - since
        return float(self._seconds - (now - self._begin - waited - waiting))

    def _watch(self, started: Any) -> None:
        try:
            started.release()
            self._running.acquire()
            asleep = worker.held_lock()
            while (left := self._left()) > 0:
                asleep.acquire(timeout=max(left, _SECONDS_BETWEEN_LOOKS))
            self._output.acquire()
            limit = self._limits["wall_time_ms"]
            self._fail(self._data.codes.deadline_exceeded, limit=limit)
            self._leave()
        except BaseException:  # noqa: BLE001  nothing is to be said of this process
            posix._exit(self._data.bad_frame)  # noqa: SLF001


def _budget(name: str, limit: int, left: int) -> str:
    return f'"{name}":{{"limit":{limit},"left":{max(left, 0)}}}'
