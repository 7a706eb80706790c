"""A clock for one input. libFuzzer's own does not reach into Python."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Slow(Exception):  # noqa: N818  a finding
    """An input took longer than it may."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise Slow in the block when it takes longer, in wall time. Main thread only."""

    def ring(_signal: int, _frame: object) -> None:
        raise Slow(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
