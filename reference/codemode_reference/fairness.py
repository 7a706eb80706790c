"""The slots for operations that all invocations of a server share, and whose turn is next.

`Turns` is the order, without I/O and clock: first come, first served within an invocation, and one
after the other between invocations. `Slots` lets the calls of an event loop wait for their turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable

CallT = TypeVar("CallT")


class Turns(Generic[CallT]):
    """At most `limit` calls run; those that wait are kept by their owner, an invocation.

    Both methods return the calls that may start now, in order. A call is in here from `arrive`
    until `leave`.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._running: set[CallT] = set()
        # In the order of their turns; the owner that was served last is the last one.
        self._waiting: dict[Hashable, deque[CallT]] = {}

    @property
    def running(self) -> int:
        """How many calls hold a slot."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """How many calls wait for one."""
        return sum(map(len, self._waiting.values()))

    def arrive(self, owner: Hashable, call: CallT) -> list[CallT]:
        """A new call of `owner`."""
        self._waiting.setdefault(owner, deque()).append(call)
        return self._start()

    def leave(self, owner: Hashable, call: CallT) -> list[CallT]:
        """`call` is done, or waits no longer; nothing happens if it is not here."""
        self._running.discard(call)
        queue = self._waiting.get(owner)
        if queue is not None and call in queue:
            queue.remove(call)
            if not queue:
                del self._waiting[owner]
        return self._start()

    def _start(self) -> list[CallT]:
        started: list[CallT] = []
        while self._waiting and len(self._running) < self.limit:
            owner, queue = next(iter(self._waiting.items()))
            del self._waiting[owner]
            call = queue.popleft()
            if queue:
                self._waiting[owner] = queue
            self._running.add(call)
            started.append(call)
        return started


class NoTurnError(Exception):
    """The turn did not come in time."""


class Slots:
    """`async with slots.turn(owner, seconds)` holds a slot; NoTurnError if that comes too late."""

    def __init__(self, limit: int) -> None:
        self.turns: Turns[asyncio.Future[None]] = Turns(limit)

    @asynccontextmanager
    async def turn(self, owner: Hashable, seconds: float) -> AsyncIterator[None]:
        """Wait at most `seconds` for a slot; one that is free is taken at once, however late."""
        call: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        _tell(self.turns.arrive(owner, call))
        try:
            if not call.done():
                await asyncio.wait({call}, timeout=max(seconds, 0))
            if not call.done():
                raise NoTurnError
            yield
        finally:
            _tell(self.turns.leave(owner, call))


def _tell(calls: list[asyncio.Future[None]]) -> None:
    for call in calls:
        call.set_result(None)
