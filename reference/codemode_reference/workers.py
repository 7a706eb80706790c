"""The workers of a parent: where they live, how they start, those that are started ahead.

A worker that was started ahead is still a fresh process: it has seen no byte of any invocation, has
its limits and its deadline from the one `execute` frame that it gets, and runs one program.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from codemode_reference import process, scratch
from codemode_reference.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

# Before a worker that died while it waited is replaced: one that dies at once would never end.
_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class StartedAhead:
    """How many workers wait, how old one gets, when a parent that is not used lets go of them.

    A program that finds none makes one more wait from then on, up to `most`; one of those that
    nobody needs before it is old is not replaced.
    """

    workers: int = 0
    age_seconds: float = 30.0
    idle_seconds: float = 60.0
    most: int = 0


def pool(policy: Mapping[str, int]) -> StartedAhead:
    """The pool of a policy with the row `pool_min`, none for another one (CM-FAI-010).

    So many workers are kept however long nobody comes, and none waits longer than `pool_idle_ms`.
    """
    least = policy.get("pool_min")
    if least is None:
        return StartedAhead()
    age = policy["pool_idle_ms"] / 1000
    return StartedAhead(least, age, float("inf"), policy["server_workers"])


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A worker and its private directory."""

    worker: process.Worker
    folder: Path

    def end(self) -> None:
        """Kill it, reap it, remove its directory. Blocks until it is gone."""
        self.worker.kill()
        self.worker.wait()
        self.worker.reap()
        self.worker.close()
        scratch.remove(self.folder)


class Workers:
    """Starts workers with `command`, each one in a directory of its own below `folder`.

    `room` says how many more workers the server may have now, beside those that wait here. Raises
    RuntimeError where no thread can be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: scratch.Scratch,
        ahead: StartedAhead,
        room: Callable[[], int],
    ) -> None:
        self._command = command
        self._folder = folder
        self._ahead = ahead
        self._room = room
        self._wanted = ahead.workers
        self._filled = False
        # One thread for as long as this parent lives: the kernel ties a worker to the life of the
        # thread that started it.
        self._spawner = ThreadPoolExecutor(1, thread_name_prefix="codemode-spawn")
        # Now: where there is no room for a thread, a later start would fail half-way.
        self._spawner.submit(int).result()
        # Where a busy disk keeps nobody waiting.
        self._janitor = ThreadPoolExecutor(1, thread_name_prefix="codemode-tidy")
        self._idle: dict[Place, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Future[None]] = set()
        self._filling: asyncio.Task[None] | None = None
        self._used = float("-inf")
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many workers wait."""
        return len(self._idle)

    async def start(self, stop: Stop, unwanted: Callable[[], None]) -> Place | None:
        """A fresh worker, None if `stop` came first. Raises OSError.

        If the calling task is cancelled, the worker is ended and `unwanted` called after that.
        """
        starting = self._spawner.submit(self._start, stop)
        try:
            return await asyncio.wrap_future(starting)
        except asyncio.CancelledError:
            loop = asyncio.get_running_loop()
            starting.add_done_callback(partial(_discard, loop=loop, unwanted=unwanted))
            raise

    async def take(self) -> Place | None:
        """A worker that waits, if there is one; it is the caller's from now on."""
        self._used = asyncio.get_running_loop().time()
        if not self._idle and self._filling is not None:
            # It was started before another one could be.
            await asyncio.wait([self._filling])
        while self._idle:
            place = next(iter(self._idle))
            self._forget(place)
            if place.worker.status() is None:
                return place
            place.end()
        # One that came before any could be started shows no need of more.
        if self._filled:
            self._wanted = max(self._wanted, min(self._wanted + 1, self._ahead.most))
        # They count until they are gone.
        if self._ending:
            await asyncio.wait(self._ending)
        return None

    def tidy(self, place: Place) -> None:
        """Remove the directory of a worker that is gone, in the background."""
        try:
            self._janitor.submit(scratch.remove, place.folder)
        except RuntimeError:
            scratch.remove(place.folder)  # The parent was closed under a running program.

    def change(self, ahead: StartedAhead) -> None:
        """End all workers that wait, and keep others from now on."""
        self._ahead = ahead
        self._wanted = ahead.workers
        self.empty()

    def fill(self) -> None:
        """Start what is missing of the workers that wait, in the background."""
        if self._filling is None and not self._closed and len(self._idle) < self._most_idle():
            self._filling = asyncio.get_running_loop().create_task(self._fill())

    async def filled(self) -> None:
        """Wait until `fill` has done what it can."""
        self.fill()
        if self._filling is not None:
            await asyncio.wait([self._filling])

    def empty(self) -> None:
        """End all workers that wait."""
        for place in list(self._idle):
            self._drop(place)

    async def close(self, seconds: float) -> None:
        """End the workers that wait, for at most so many seconds, and the thread."""
        self._closed = True
        try:
            if self._filling is not None:
                await asyncio.wait([self._filling])
            self.empty()
            if self._ending:
                await asyncio.wait(self._ending, timeout=seconds)
        finally:
            self._spawner.shutdown()
            self._janitor.shutdown()

    def _start(self, stop: Stop) -> Place | None:
        # Others may have been started before it while it waited for the thread.
        if stop.is_set():
            return None
        folder = self._folder.make()
        try:
            return Place(process.start(self._command, folder), folder)
        except OSError:
            scratch.remove(folder)
            raise

    def _most_idle(self) -> int:
        return min(self._wanted, self._room() - len(self._ending))

    async def _fill(self) -> None:
        try:
            while not self._closed and len(self._idle) < self._most_idle():
                place = await self.start(Stop(None), lambda: None)
                assert place is not None
                self._watch(place)
        except OSError:
            pass  # Nobody waits for it: the next invocation starts its own, and says why it cannot.
        finally:
            self._filled = True
            self._filling = None

    def _watch(self, place: Place) -> None:
        loop = asyncio.get_running_loop()
        self._idle[place] = loop.call_later(self._ahead.age_seconds, self._on_age, place)
        if place.worker.pidfd is not None:
            loop.add_reader(place.worker.pidfd, self._on_death, place)

    def _on_age(self, place: Place) -> None:
        self._drop(place)
        # Nobody has needed all of them in its time.
        self._wanted = max(self._wanted - 1, self._ahead.workers)
        self._replace()

    def _on_death(self, place: Place) -> None:
        self._drop(place)
        asyncio.get_running_loop().call_later(_PAUSE, self._replace)

    def _replace(self) -> None:
        if asyncio.get_running_loop().time() - self._used <= self._ahead.idle_seconds:
            self.fill()

    def _drop(self, place: Place) -> None:
        self._forget(place)
        ending = asyncio.get_running_loop().run_in_executor(None, place.end)
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def _forget(self, place: Place) -> None:
        self._idle.pop(place).cancel()
        if place.worker.pidfd is not None:
            asyncio.get_running_loop().remove_reader(place.worker.pidfd)


def _discard(
    starting: Future[Place | None],
    loop: asyncio.AbstractEventLoop,
    unwanted: Callable[[], None],
) -> None:
    """End a worker that nobody waits for any more."""
    if not starting.cancelled() and starting.exception() is None:
        place = starting.result()
        if place is not None:
            place.end()
    # A loop that is closed counts nothing any more.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(unwanted)
