"""The legal orders of a program's branches, one after the other."""

from __future__ import annotations

from random import Random
from typing import Final

MOST: Final = 200
"""So many are tried one after the other, which is all of them for most programs."""

SAMPLED: Final = 120
"""So many more are tried at random where there are more than that."""

_FIRST: Final = 0.6
"""How often a random order takes what has waited longest, as engines mostly do."""


class Orders:
    """Choices for `turns`: call `more`, then run with `choose`, until there are no more.

    The last choice that has another option takes it. `exhausted` says that all orders were there.
    """

    def __init__(self) -> None:
        self.exhausted = False
        self._tried = 0
        self._path: list[tuple[int, int]] = []
        self._position = 0
        self._random = Random(0)  # noqa: S311  no secret: the same orders each time

    def more(self) -> bool:
        """Go on to the next order; false when there is none, or when enough were tried."""
        self._position = 0
        self._tried += 1
        if self._tried == 1:
            return True
        if self._tried > MOST:
            return self._tried <= MOST + SAMPLED
        while self._path:
            taken, options = self._path.pop()
            if taken + 1 < options:
                self._path.append((taken + 1, options))
                return True
        self.exhausted = True
        return False

    def choose(self, options: int) -> int:
        """The choice of the order that is being tried."""
        if self._tried > MOST:
            early = self._random.random() < _FIRST
            return 0 if early else self._random.randrange(options)
        if self._position == len(self._path):
            self._path.append((0, options))
        taken, _ = self._path[self._position]
        self._position += 1
        return taken
