"""Where the work of a program is done: in which process, and in which of its threads.

A thread of the harness sums up what each thread below the adapter has worked, while the program
does nothing but work. By that the declared isolation is judged (CM-ISO-020).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_conformance.evidence import Fact, State
from codemode_conformance.processtable import family

if TYPE_CHECKING:
    from collections.abc import Callable

NAME: Final = "isolated_as_declared"
LOOK_SECONDS: Final = 0.02
LEAST_TICKS: Final = 10
"""With less work than this, in ticks of a hundredth of a second, nothing is said."""

PROCESS, THREAD = "process", "thread"

Thread = tuple[int, int, int]
"""Process, thread, and when the process was started: what a reused number does not share."""


class Work:
    """Looks from its creation until `stop`. `root` is the adapter's process."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._before = ticks(root)
        self._now = dict(self._before)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="cmconf-work", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more. May be called again."""
        self._stopping.set()
        self._thread.join()

    def fact(self, isolation: str) -> Fact:
        """Whether the work was done where this isolation puts it."""
        self.stop()
        done = {one: n - self._before.get(one, 0) for one, n in self._now.items()}
        return judged(done, self._root, {one[0::2] for one in self._before}, isolation)

    def _look_on(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            # What has ended stays as it was seen last.
            self._now.update(ticks(self._root))


def judged(
    done: dict[Thread, int], root: int, before: set[tuple[int, ...]], isolation: str
) -> Fact:
    """The fact, from what each thread has worked in ticks; `before` are processes that were there.

    A program in a process of its own works below the adapter, one in a thread not in the first
    thread of a process, and one in an isolate or an interpreter in no process that was started
    for it.
    """
    total = sum(done.values())
    if total < LEAST_TICKS:
        return Fact(NAME, State.UNOBSERVABLE, f"{total} ticks of work were seen")
    if isolation == PROCESS:
        share, where = _share(done, lambda one: one[0] != root), "below the adapter"
    elif isolation == THREAD:
        share, where = _share(done, lambda one: one[0] != one[1]), "in a thread beside the first"
    else:
        share = _share(done, lambda one: one[0::2] in before)
        where = "in a process that was there before"
    # The rest is the adapter's own, and what the engine does beside the program.
    if 2 * share > total:
        return Fact(NAME, State.HOLDS)
    text = f"declared is {isolation}; of {total} ticks of work {share} were done {where}"
    return Fact(NAME, State.BROKEN, text)


def _share(done: dict[Thread, int], fits: Callable[[Thread], bool]) -> int:
    return sum(number for one, number in done.items() if fits(one))


def ticks(root: int) -> dict[Thread, int]:
    """What each thread of this process and of all below it has worked, in ticks."""
    found: dict[Thread, int] = {}
    for entry in family([root]):
        try:
            for task in Path(f"/proc/{entry.pid}/task").iterdir():
                text = (task / "stat").read_text(encoding="utf-8", errors="replace")
                fields = text.rpartition(")")[2].split()
                one = (entry.pid, int(task.name), entry.started)
                found[one] = int(fields[11]) + int(fields[12])
        except (OSError, IndexError):
            continue
    return found
