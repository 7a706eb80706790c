"""What a process leaves running once it has exited as it was asked to: one rule for every role."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.process import Process

STOP_SECONDS: Final = 1.0
"""How long a process may take to exit once it has been asked to."""

LEAVING_SECONDS: Final = 1.0
"""How long what it started may run on after that."""


def left_by(process: Process, gone: Callable[[float], str | None]) -> Counter[str]:
    """Wait for a process that was asked to exit; the command lines of what it left running.

    `gone` hears it for so many seconds at most, and says why it is gone once it is. Nothing is
    told of one that has to be ended: then nobody knows what it would have left.
    """
    until = time.monotonic() + STOP_SECONDS
    while True:
        why = gone(max(until - time.monotonic(), 0.0))
        if why is not None or time.monotonic() >= until:
            return process.kin.left(LEAVING_SECONDS) if why == "exit" else Counter()
