"""A transcript of what the suite and a target say to each other, message by message."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LINE_CHARACTERS: Final = 2_000
MOST_LINES: Final = 2_000
_SECRET: Final = ("k", "key")
"""The key of an adapter is left out: it is different in each process, and nobody's business."""


class Transcript:
    """Writes one line for each message: milliseconds since the first, direction, message.

    What goes over a worker's channel is marked as a frame.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._started: float | None = None
        self._lines = 0

    def sent(self, message: Mapping[str, Any]) -> None:
        """A message of the suite."""
        self._line("->", message)

    def received(self, message: Mapping[str, Any]) -> None:
        """A message of the target."""
        self._line("<-", message)

    def frame(self, arrow: str, data: bytes, size: int = 0, at: float | None = None) -> None:
        """Bytes of a worker's channel, `size` in all: `->` from the suite, `<-` from the target.

        `at` is when, in monotonic seconds, where it was not now.
        """
        self._put(f"{arrow} frame {_shown(data, size)}", at)

    def raw(self, arrow: str, data: bytes) -> None:
        """Bytes that need be no message: `->` from the suite, `<-` from the target."""
        self._put(f"{arrow} bytes {_shown(data)}")

    def event(self, text: str) -> None:
        """What one side did besides talking, in words of the suite."""
        self._put(f"-- {text}")

    def noise(self, text: str) -> None:
        """Something else that the target printed, escaped already."""
        self._put(f"<- noise {text}")

    def _line(self, arrow: str, message: Mapping[str, Any]) -> None:
        shown = {name: value for name, value in message.items() if name not in _SECRET}
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        more = len(text) - LINE_CHARACTERS
        cut = text[:LINE_CHARACTERS] + (f"... ({len(text)} characters)" if more > 0 else "")
        self._put(f"{arrow} {for_terminal(cut, backslash=False)}")

    def _put(self, text: str, at: float | None = None) -> None:
        now = time.monotonic() if at is None else at
        self._started = self._started if self._started is not None else now
        self._lines += 1
        if self._lines <= MOST_LINES:
            self._write(f"{(now - self._started) * 1_000:>9.1f} {text}")
        elif self._lines == MOST_LINES + 1:
            self._write(f"          ... more than {MOST_LINES} messages; the rest is not shown")


def _shown(data: bytes, size: int = 0) -> str:
    text = data[:LINE_CHARACTERS].decode("utf-8", "backslashreplace")
    whole = max(size, len(data))
    more = f"... ({whole} bytes)" if whole > min(len(data), LINE_CHARACTERS) else ""
    return for_terminal(text, backslash=False) + more
