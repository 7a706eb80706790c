"""Which of the pipes and sockets that a worker has open are its parent's.

Both processes hold the pipes between them by right, each its own end; an end is told by the way it
is open. A parent closes what it was to hand over only after the worker was loaded, so that for a
moment it has both ends: one end alone is its own only if it still has it later. A worker that has
both ends of a pipe of its parent has its parent's, whenever that is seen.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SETTLED_SECONDS: Final = 0.1
"""How long after a worker is seen its parent may still have what it was to hand over."""

READ, WRITE = "r", "w"
OWN_WAY: Final = {0: READ, 1: WRITE, 2: WRITE}
"""The streams, and the end of a pipe that is the worker's there."""

_PIPE: Final = "pipe:"


class Opened(NamedTuple):
    """A descriptor, what it stands for, and how it is open: `r`, `w` or `rw`."""

    number: int
    name: str
    ways: str


class End(NamedTuple):
    """One end of a pipe, by its way; or a socket or the like, which has only one and no way."""

    name: str
    way: str


def read_opened(place: Path) -> list[Opened]:
    """The descriptors of the process whose folder of /proc this is; OSError if they are hidden."""
    found = []
    with os.scandir(place / "fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                name = os.readlink(entry.path)  # noqa: PTH115  no path: `pipe:[123]`
                # The mode of the link says how it is open, at less cost than `fdinfo`.
                mode = entry.stat(follow_symlinks=False).st_mode if _shareable(name) else 0
                found.append(Opened(int(entry.name), name, ways_of(mode)))
    return found


def ways_of(mode: int) -> str:
    """How a descriptor is open, by the mode of its link in /proc."""
    return READ * bool(mode & stat.S_IRUSR) + WRITE * bool(mode & stat.S_IWUSR)


def ends_of(opened: Iterable[Opened]) -> set[End]:
    """What two processes can share of it."""
    return {end for one in opened if _shareable(one.name) for end in _ends(one)}


def _ends(one: Opened) -> set[End]:
    if not one.name.startswith(_PIPE):
        return {End(one.name, "")}
    return {End(one.name, way) for way in one.ways}


def _whole(ends: set[End]) -> set[str]:
    """The pipes of which both ends are among them."""
    return {end.name for end in ends if end.way == READ and End(end.name, WRITE) in ends}


def _shareable(name: str) -> bool:
    return not name.startswith(("/", "anon_inode:"))


@dataclass(slots=True)
class Held:
    """What one worker was seen to hold, and what of it is its parent's.

    `known` says whether it could be read at all.
    """

    known: bool = False
    parents: set[str] = field(default_factory=set)
    _channel: set[End] = field(default_factory=set)
    _beside: set[End] = field(default_factory=set)
    _first: float | None = None
    _due: float = 0.0
    _compared: frozenset[End] = frozenset()

    def add(self, opened: Iterable[Opened], *, loaded: bool = False) -> None:
        """Take in what it has open; `loaded`: as its program was loaded, when nothing is its own.

        A process that is about to end has nothing open any more: that says nothing.
        """
        channel: set[End] = set()
        beside: set[End] = set()
        for one in opened:
            self.known = True
            for end in ends_of([one]):
                own = one.number in OWN_WAY and end.way in ("", OWN_WAY[one.number])
                (channel if own else beside).add(end)
        self._channel |= channel
        self._beside |= beside
        if loaded:
            self.parents |= _whole(channel | beside) & {end.name for end in channel}

    @property
    def undecided(self) -> set[End]:
        """What may be its parent's: beside its streams or a whole pipe, and not known to be."""
        ends = self._channel | self._beside
        whole, beside = _whole(ends), self._beside - self._channel
        found = {end for end in ends if end in beside or end.name in whole}
        return {end for end in found if end.name not in self.parents}

    def due(self, now: float) -> bool:
        """Whether what its parent has is to be read: for each new thing, and ever less often."""
        undecided = self.undecided
        if self._first is None:
            self._first = now
        return bool(undecided) and (now >= self._due or not undecided <= self._compared)

    def compare(self, parents: set[End], now: float) -> None:
        """Hold it against what its parent has open now, while it lives."""
        first = now if self._first is None else self._first
        self._compared = frozenset(self.undecided)
        self._due = max(first + SETTLED_SECONDS, now + (now - first))
        self.parents |= _whole(self._channel | self._beside) & {end.name for end in parents}
        if now - first >= SETTLED_SECONDS:
            self.settle(parents)

    def settle(self, parents: set[End]) -> None:
        """Hold it against what its parent has open when the worker was long started, or is gone."""
        self.parents |= {end.name for end in self.undecided & parents}
