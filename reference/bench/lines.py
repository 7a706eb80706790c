"""One line of the table: what was measured, beside what it is held to."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

HEAD = f"{'':34}{'median':>11}{'least':>11}  {'judged by':32}{'target':>9}"


@dataclass(frozen=True)
class Line:
    """`found` (of `unit`) may be at most `target`, or must be at least that; None: it is shown."""

    name: str
    times: Sequence[float]
    found: float = 0.0
    unit: str = ""
    target: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the target is reached, if there is one."""
        if self.target is None:
            return True
        return self.found >= self.target if self.at_least else self.found <= self.target

    def __str__(self) -> str:
        median, least = (shown(pick(self.times)) for pick in (statistics.median, min))
        text = f"{self.name:34}{median:>11}{least:>11}"
        if not self.unit:
            return text
        text += f"  {f'{self.found:.3g} {self.unit}':32}"
        if self.target is None:
            return text
        bound = ">=" if self.at_least else "<="
        return f"{text}{f'{bound} {self.target:g}':>9}  {'met' if self.met else 'MISSED'}"


def shown(milliseconds: float) -> str:
    """A time for people."""
    return f"{milliseconds:.3f} ms" if milliseconds < 1 else f"{milliseconds:.2f} ms"


def against(
    name: str, times: Sequence[float], base: Sequence[float], of: str, target: float | None
) -> Line:
    """A line judged by the ratio of the medians."""
    ratio = statistics.median(times) / statistics.median(base)
    return Line(name, times, ratio, f"x {of}", target)


def median(name: str, times: Sequence[float], target: float) -> Line:
    """A line judged by its own median, in milliseconds."""
    return Line(name, times, statistics.median(times), "ms", target)


def spent(call: Callable[[], object]) -> float:
    """The milliseconds that a call takes."""
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1000


async def awaited(call: Callable[[], Awaitable[object]]) -> float:
    """The milliseconds until a call has its answer."""
    begin = time.perf_counter()
    await call()
    return (time.perf_counter() - begin) * 1000


async def in_turns(
    rounds: int, kinds: dict[str, Callable[[], Awaitable[object]]], pause: float = 0
) -> dict[str, list[float]]:
    """The times of each kind, measured in turns, so that a busy machine slows all of them alike."""
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, call in kinds.items():
            await asyncio.sleep(pause)
            found[name].append(await awaited(call))
    return found
