"""The rate that a server admits, kept from our side."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Final

WINDOW_SECONDS: Final = 60.0


class Pace:
    """Lets at most `limit` tool calls begin in any window of 60 s; None lets all."""

    def __init__(self, limit: int | None, window: float = WINDOW_SECONDS) -> None:
        self._limit = limit
        self._window = window
        self._times: deque[float] = deque()

    async def wait(self) -> None:
        """Wait until one more call may begin, and count it."""
        if self._limit is None:
            return
        now = time.monotonic()
        if len(self._times) >= self._limit:
            await asyncio.sleep(max(self._times[0] + self._window - now, 0.0))
            self._times.popleft()
        self._times.append(time.monotonic())
