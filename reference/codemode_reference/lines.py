"""A bounded decoder of lines. The worker runs this too: it imports nothing."""

from __future__ import annotations


class LineDecoder:
    """Cuts a stream into lines of at most `limit` bytes, in time linear in the bytes given."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self.oversized = False

    @property
    def pending(self) -> int:
        """The bytes of the line that has not ended yet."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """The complete lines, without their LF.

        Sets `oversized` as soon as a line passes the limit, with or without its LF; nothing after
        that line is decoded.
        """
        lines: list[bytes] = []
        if self.oversized:
            return lines
        if b"\n" not in data and len(self._rest) + len(data) <= self._limit:
            self._rest += data
            return lines
        start = 0
        while True:
            end = data.find(b"\n", start)
            stop = len(data) if end < 0 else end
            # One byte above the limit decides; keeping more would let the sender fill memory.
            room = self._limit + 1 - len(self._rest)
            self._rest += data[start : min(stop, start + room)]
            self.oversized = len(self._rest) > self._limit
            if end < 0 or self.oversized:
                return lines
            lines.append(bytes(self._rest))
            self._rest.clear()
            start = end + 1
