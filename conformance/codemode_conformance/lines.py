"""A byte stream cut into lines, with a cap on how much of one line is held. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT_OF_A_LONG_LINE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its LF, or several lines without the key that came together.

    `cut` marks a line over the cap: only its start is here; `marked` says whether the key stood
    anywhere in it. An empty key marks every line.
    """

    data: bytes
    cut: bool
    marked: bool


class LineSplitter:
    """Cuts a stream at LF; a line over `limit` bytes is read on but not kept.

    `scan` sees every byte of such a line, in pieces that overlap by at least `overlap`.
    """

    def __init__(
        self, limit: int, key: bytes, scan: Callable[[bytes], None] | None = None, overlap: int = 0
    ) -> None:
        self._limit = limit
        self._key = key
        self._scan = scan or (lambda _: None)
        self._overlap = max(len(key), overlap)
        self._parts = bytearray()
        self._start = b""
        self._long = self._marked = False

    def feed(self, data: bytes) -> list[Line]:
        """The lines that these bytes complete; blank lines are left out."""
        first, last = data.find(b"\n"), data.rfind(b"\n")
        if first < 0:
            self._add(data)
            return []
        self._add(data[:first])
        lines = [self.rest()]
        middle = data[first + 1 : last]
        if self._key in middle:
            for part in middle.split(b"\n"):
                self._add(part)
                lines.append(self.rest())
        elif middle.strip():
            # A program may print lines by the million: what cannot be a message is not cut up.
            lines.append(Line(middle, cut=False, marked=False))
        self._add(data[last + 1 :])
        return [line for line in lines if line is not None]

    def rest(self) -> Line | None:
        """The unfinished line, which is then forgotten; None when nothing is held."""
        parts, long, start = self._parts, self._long, self._start
        marked = self._marked or self._key in parts
        self._parts, self._long, self._marked = bytearray(), False, False
        if long:
            return Line(start, cut=True, marked=marked)
        return Line(bytes(parts), cut=False, marked=marked) if parts.strip() else None

    def _add(self, data: bytes) -> None:
        self._parts += data
        if not self._long and len(self._parts) <= self._limit:
            return
        if not self._long:
            self._long, self._start = True, bytes(self._parts[:KEPT_OF_A_LONG_LINE])
        self._marked = self._marked or self._key in self._parts
        self._scan(bytes(self._parts))
        del self._parts[: -self._overlap]
