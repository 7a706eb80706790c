"""A request under way, and small things to do with tasks and their errors."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from codemode_conformance.escape import quoted


class Request:
    """One tool call under way. `task` is done when the answer came or none can come."""

    def __init__(self, task: asyncio.Future[Any], number: int | str | None) -> None:
        self.task = task
        self.number = number
        self.started = self.ended = time.monotonic()
        task.add_done_callback(self._end)

    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.task.done()

    def _end(self, _: object) -> None:
        self.ended = time.monotonic()


def told(error: BaseException | None) -> str:
    """What an error says, that of the first one inside of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return quoted(str(error) or type(error).__name__)


async def abandon(task: asyncio.Future[Any]) -> None:
    """Let a task end now, whatever it does; nothing of it is left to warn about."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.exception()
