"""The worker of programs whose result is their last expression. See `worker` and `pump`.

Processor time is limited besides wall time: only this process knows how much it has used.
"""

from __future__ import annotations

from time import process_time

from codemode_reference import worker
from codemode_reference.pump import Pump
from codemode_reference.statements import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# So long it stays for a parent that looks at what it has used before it closes our input.
_SECONDS_TO_LOOK = 0.05
_CALL = b'\n{"type":"host_call",'


class ProcessorError(Exception):
    """The program has used the processor for as long as it may."""


def main(data: Any, words: list[str]) -> NoReturn:
    """Run one invocation and leave the process."""
    worker.main(Remote(data), data, words)


class Remote(Pump):
    """A pump that finds the last expression, and counts processor time."""

    def execute(self, line: bytes, limits: dict[str, int]) -> None:
        """Run the program of the `execute` frame in `line` until its result is written."""
        limit = limits["cpu_time_ms"]
        self._processor_deadline = process_time() + limit / 1000
        try:
            super().execute(line, limits)
        except ProcessorError:
            self._fail(self._data.codes.cpu_time_exceeded, limit=limit)

    def linger(self) -> None:
        """Stay until the parent has looked at what was used, which it tells by closing stdin."""
        self._closed.acquire(timeout=_SECONDS_TO_LOOK)

    def _left(self) -> float:
        wall = super()._left()
        processor = self._processor_deadline - process_time()
        if processor <= 0:
            raise ProcessorError
        return min(wall, processor)

    def _first_word(self) -> str:
        """Where the last expression is, in UTF-16 units, as the engine counts."""
        source = self._source
        last = Reader(source).last
        if last is None:
            return "null"
        # No codec can be loaded any more; what lies beyond 16 bits counts twice.
        first, end = (offset + sum(c > "\uffff" for c in source[:offset]) for offset in last)
        return f"[{first},{end}]"

    def _calls_in(self, frames: bytes, *, ended: bool) -> int:  # noqa: ARG002
        # Among them may be progress. A value holds no line end.
        return (b"\n" + frames).count(_CALL)
