"""Whose turn it is: what a program can go on with, and in which order it may.

A branch goes on at once where nothing settles it: behind a call that is only sent, and at its
start. What a promise settles has its turn later, and engines differ in how much later. So an order
is an input, like the order of replies: the first is that of arrival, a search takes the others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
R = TypeVar("R")


def first(options: int) -> int:
    """The order of arrival: every turn is that of the first."""
    del options
    return 0


@dataclass
class Turns(Generic[T, R]):
    """Branches of type T with the value they go on with, and replies of type R on their way.

    `choose` is given a number of options and returns the one to take: branches that can go on, in
    the order in which they were settled, then the first reply, then the host's next answer.
    """

    choose: Callable[[int], int] = first
    replies: deque[R] = field(default_factory=deque)
    _now: deque[tuple[T, Any]] = field(default_factory=deque)
    _ready: deque[tuple[T, Any]] = field(default_factory=deque)

    def at_once(self, *branches: T, value: Any = None) -> None:
        """These go on in this order before anything else does, each with the value."""
        self._now.extendleft((branch, value) for branch in reversed(branches))

    def settled(self, branch: T, value: Any) -> None:
        """This goes on with a value, after what is running."""
        self._ready.append((branch, value))

    def take(self, *, answers: bool) -> tuple[T, Any] | R | None:
        """The branch with its value, or the reply, whose turn it is; None for the next answer.

        `answers` says whether the host has an answer that may overtake what is there.
        """
        if self._now:
            return self._now.popleft()
        options = len(self._ready) + bool(self.replies) + answers
        chosen = self.choose(options) if options > 1 else 0
        if chosen < len(self._ready):
            taken = self._ready[chosen]
            del self._ready[chosen]
            return taken
        if self.replies and chosen == len(self._ready):
            return self.replies.popleft()
        return None
