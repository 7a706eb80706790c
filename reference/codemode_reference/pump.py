"""How a worker runs an asynchronous program: jobs, frames and replies in turn. See `worker`."""

from __future__ import annotations

from time import monotonic

from codemode_reference import worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# The engine counts processor time. It gets a little more than the wall has left, so that an
# interrupt always means that the deadline has passed.
_INTERRUPT_MARGIN = 0.005
# First letters of what `control` returns; see js/main.js.
_PENDING, _SETTLING, _NULL_THROWN = "psn"


class DeadlineError(Exception):
    """The engine was stopped at the deadline."""


def main(data: Any, words: list[str]) -> NoReturn:
    """Run one invocation and leave the process."""
    worker.main(Pump(data), data, words)


class Pump(worker.Worker):
    """Alternates jobs of the engine, the frames that the program sends and single replies."""

    def execute(self, line: bytes, limits: dict[str, int]) -> None:
        """Run the program of the `execute` frame in `line` until its result is written."""
        codes, reasons = self._data.codes, self._data.reasons
        try:
            if not self._pump(self._boot(line, limits)):
                self._fail(codes.code_rejected, reason=reasons.stalled)
        except DeadlineError:
            self._fail(codes.deadline_exceeded, limit=limits["wall_time_ms"])
        except worker.HeapError:
            self._fail(codes.code_rejected, reason=reasons.memory)

    def _enter(self, function: Any, *arguments: str) -> Any:
        """Call into the engine with the time that is left."""
        self._context.set_time_limit(self._left() + _INTERRUPT_MARGIN)
        try:
            return function(*arguments)
        except self._engine.JSException:
            # Told by the clock and never by the text: a job fails with what the program throws.
            self._left()
            raise worker.HeapError from None

    def _left(self) -> float:
        """The seconds that the program may still take; DeadlineError if there are none."""
        left: float = self._deadline - monotonic()
        if left <= 0:
            raise DeadlineError
        return left

    def _first_word(self) -> str:
        """What `control` is told with `start`."""
        return ""

    def _pump(self, control: Any) -> bool:
        """Run the program until its result is written; False if it can never settle."""
        replies_due = 0
        kind, text = "start", self._first_word()
        broken = False
        while True:
            state, calls = self._hand_out(self._enter(control, kind, text))
            if state not in (_PENDING, _SETTLING):
                return True
            replies_due += calls
            kind, text = "drain", ""
            try:
                ran = self._enter(self._context.execute_pending_job)
            except worker.HeapError:
                # A job of the program may fail; only with a full heap was it ours.
                ran, broken = True, broken or self._heap_was_full()
            if ran and not self._inbox:
                continue
            if not ran and not replies_due:
                if broken or state == _SETTLING:
                    raise worker.HeapError
                return False
            reply = self._next_reply(wait=not ran)
            if reply is not None:
                replies_due -= 1
                kind, text = "settle", worker.literal(reply)

    def _next_reply(self, *, wait: bool) -> bytes | None:
        while wait and not self._inbox:
            if not self._arrived.acquire(timeout=max(self._deadline - monotonic(), 0)):
                raise DeadlineError
        return self._inbox.popleft() if self._inbox else None

    def _hand_out(self, output: str) -> tuple[str, int]:
        """Write what the program sent: the state it is in and the number of host calls."""
        state = output[0]
        frames = worker.plain(output[1:])
        ended = state not in (_PENDING, _SETTLING)
        if state == _NULL_THROWN and self._heap_was_full():
            raise worker.HeapError
        calls = self._calls_in(frames, ended=ended)
        self._in_flight.update(range(self._sent + 1, self._sent + calls + 1))
        self._sent += calls
        self._write(frames, ended=ended)
        return state, calls

    def _calls_in(self, frames: bytes, *, ended: bool) -> int:
        """How many of the frames are host calls: all but the last one, which is the result."""
        return frames.count(b"\n") - ended
