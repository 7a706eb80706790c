"""A clock for one input. libFuzzer's own does not reach into Python."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_WAITING = 20


class Slow(Exception):  # noqa: N818  a finding
    """An input took longer than it may."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise Slow in the block when it takes longer, in processor time. Main thread only.

    A busy machine makes no input slow. One that waits is ended too, by wall time, much later.
    """

    def ring(_signal: int, _frame: object) -> None:
        raise Slow(f"longer than {seconds} s")

    before = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * _WAITING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
