"""How one invocation is asked to stop: by its parent, or by the event of its caller."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Stop:
    """Set once asked, or once `event` is set. At most one listener, which is told once."""

    def __init__(self, event: asyncio.Event | None) -> None:
        self._event = event
        self._asked = False
        self._listener: Callable[[], None] | None = None
        self._waiter: asyncio.Task[bool] | None = None

    def is_set(self) -> bool:
        """Whether to stop."""
        return self._asked or (self._event is not None and self._event.is_set())

    def ask(self) -> None:
        """The parent asks."""
        self._asked = True
        self._tell()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` when asked, soon if that has been already, until `close`."""
        self._listener = listener
        loop = asyncio.get_running_loop()
        if self.is_set():
            loop.call_soon(self._tell)
        elif self._event is not None:
            self._waiter = loop.create_task(self._event.wait())
            self._waiter.add_done_callback(lambda _: self._tell())

    def close(self) -> None:
        """Tell nobody any more."""
        self._listener = None
        if self._waiter is not None:
            self._waiter.cancel()

    def _tell(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener()
