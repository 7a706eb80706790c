"""A batch of host calls: which entries may run, and whose results are due. No I/O, no clock.

Consecutive entries that only read run together, every other one alone; with hooks all do. Results
are given out in the order of the entries, in whatever order they come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(slots=True)
class Batch:
    """The entries of a batch, as (operation, arguments), from the call `first` on.

    `alone` says of each entry whether it is a barrier; at most `limit` run at once.
    """

    first: int
    entries: Sequence[tuple[str, Any]]
    alone: Sequence[bool]
    limit: int
    _next: int = 0
    _due: int = 0
    _running: set[int] = field(default_factory=set)
    _held: dict[int, Any] = field(default_factory=dict)
    _stopped: bool = False

    @property
    def over(self) -> bool:
        """Whether every result was given out."""
        return self._due == len(self.entries)

    def __contains__(self, call_id: int) -> bool:
        return 0 <= call_id - self.first < len(self.entries)

    def ready(self) -> int | None:
        """The next entry that may run now, by its index; it counts as running from here on."""
        index = self._next
        if self._stopped or index == len(self.entries) or len(self._running) >= self.limit:
            return None
        if self._running and (self.alone[index] or any(self.alone[one] for one in self._running)):
            return None
        self._next += 1
        self._running.add(index)
        return index

    def stop(self, index: int) -> None:
        """It is too late for this entry: it does not run, nor does any after it."""
        self._running.discard(index)
        self._stopped = True

    def hold(self, index: int, result: Any) -> None:
        """What came of an entry."""
        self._running.discard(index)
        self._held[index] = result

    def due(self) -> Iterator[tuple[int, Any]]:
        """The results that may be given out now, with the ids of their calls."""
        while self._due in self._held:
            index = self._due
            self._due += 1
            yield self.first + index, self._held.pop(index)
