"""The worker processes of a target while it runs a program, as the system shows them.

A thread looks at what is below the adapter about every millisecond (level B); with a tracer each
process is known from its first moment to its last besides (level A). A worker is what the target
file's `worker_pattern` fits; before its own program is loaded a process still has the command line
of its parent, and is not looked at. What a worker started, whatever it is called, is looked at only
for whether it is left.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_conformance.descriptors import Held, ends_of, read_opened
from codemode_conformance.evidence import Fact, State
from codemode_conformance.processtable import Entry, command_line, family, read_entry
from codemode_conformance.tracing.tracer import obstacle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_conformance.descriptors import End
    from codemode_conformance.tracing.tracer import Tracer

LOOK_SECONDS: Final = 0.001
FOLDER_SECONDS: Final = 1.0
"""How long the directory of a worker may be there after it."""

PATIENCE_SECONDS: Final = 4.0
"""How long a worker may still be there after its outcome: `reap_ms`, and as long again on a slow
machine."""

OVERHEAD_BYTES: Final = 64 << 20
"""What a worker process may take beside the heap of its engine."""


@cache
def visible() -> bool:
    """Whether processes can be watched here; found out by looking at this one."""
    entry = read_entry(os.getpid()) if sys.platform == "linux" else None
    return entry is not None and bool(command_line(os.getpid()))


def level() -> tuple[str, str]:
    """The best level of evidence that there is here, and why it is not A.

    A where processes can be followed, B where they can only be looked at, C elsewhere.
    """
    if not visible():
        return "C", "the system has no /proc"
    why = obstacle()
    return ("B", why) if why else ("A", "")


@dataclass(slots=True)
class Seen:
    """One worker process. What could never be read is None: it hides it, or was gone too soon."""

    pid: int
    started: int
    variables: list[str] | None = None
    directory: str | None = None
    held: Held = field(default_factory=Held)
    peak_bytes: int = 0

    @property
    def identity(self) -> tuple[int, int]:
        """What a reused pid does not share."""
        return self.pid, self.started


class Watch:
    """Looks from its creation until `stop`. `root` is the adapter's process.

    `tracer` follows it, if there is one.
    """

    def __init__(self, root: int, pattern: str, tracer: Tracer | None = None) -> None:
        self._root = root
        self._tracer = tracer
        if tracer is not None:
            tracer.begin()
        self._pattern = re.compile(pattern)
        self.workers: dict[tuple[int, int], Seen] = {}
        self._all: dict[tuple[int, int], Seen] = {}
        self._offspring: dict[tuple[int, int], tuple[Seen, Seen]] = {}
        self._programs = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="cmconf-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()
        self._thread.join()

    @property
    def level(self) -> tuple[str, str]:
        """On which level what was seen rests, and why it is not A."""
        if self._tracer is None:
            return "B", "no tracer was used"
        return ("B", self._tracer.lost) if self._tracer.lost else ("A", "")

    def forget(self) -> None:
        """Begin anew with the next program."""
        self.workers.clear()
        self._offspring.clear()
        if self._tracer is not None:
            self._tracer.begin()

    def left(self, patience: float = PATIENCE_SECONDS, kept: int = 0) -> list[Seen]:
        """The workers that are still there when the patience is over, zombies included.

        It is over early where so many are there as are `kept` for programs that come.
        """
        until = time.monotonic() + patience
        self._take_followed()
        while True:
            left = [one for one in list(self.workers.values()) if _is_there(one)]
            done = len(left) == kept and not self._orphans()
            if done or time.monotonic() > until:
                return left
            time.sleep(LOOK_SECONDS * 10)

    def facts(
        self, known: set[tuple[int, int]], memory_bytes: int | None, kept: int = 0
    ) -> tuple[Fact, ...]:
        """What holds of the workers seen; `known` are those of earlier programs, and these then.

        Waits until they are gone, all but those that are `kept` for programs that come: which of
        them was given a program cannot be seen, but for each program one has to end.
        """
        left = self.left(kept=kept)
        self._take_followed()
        orphans = len(self._orphans())
        more = f", and {orphans} that they started" if orphans else ""
        workers = list(self.workers.values())
        refused = _none_started(workers, known, kept)
        if not workers:
            return (refused,)
        self._programs += 1
        self._all |= self.workers
        again = [one.pid for one in workers if one.identity in known]
        ended = [one for one in self._all.values() if not _is_there(one)]
        enough = len(ended) >= self._programs if kept else not again
        known |= set(self.workers)
        return (
            _fact("fresh", enough, f"process {again[:1]} ran an earlier program"),
            _fact(
                "gone",
                len(left) <= kept and not orphans,
                f"{len(left)} of {len(workers)} are still there{more}",
            ),
            _fact("kept", len(left) == kept, f"{len(left)} wait, and not {kept}"),
            refused,
            _environment(workers),
            *_directory(workers, left),
            self._descriptors(workers),
            _memory(workers, memory_bytes),
        )

    def _take_followed(self) -> None:
        """Add what the tracer knows: workers too short for a look, and what a look comes late for.

        What one was given as it was loaded stands before what was read of it later.
        """
        if self._tracer is None:
            return
        self._tracer.sync()
        followed = self._tracer.seen()
        for one in followed:
            if one.pid == self._root or not self._pattern.search(one.command):
                continue
            seen = self.workers.setdefault(one.identity, Seen(one.pid, one.started))
            seen.variables = seen.variables if one.variables is None else one.variables
            seen.directory = one.directory or seen.directory
            seen.peak_bytes = max(seen.peak_bytes, one.peak_bytes)
            if one.opened is not None:
                seen.held.add(one.opened, loaded=True)
        for one in sorted(followed, key=lambda one: one.started):
            self._take_offspring(one.pid, one.started, one.parent)

    def _take_offspring(self, pid: int, started: int, parent: int) -> None:
        if (pid, started) in self.workers:
            return
        known = [(worker, worker) for worker in list(self.workers.values())]
        for worker, one in [*known, *list(self._offspring.values())]:
            # A pid may have been that of another process before.
            if one.pid == parent and one.started <= started:
                self._offspring[pid, started] = (worker, Seen(pid, started))

    def _orphans(self) -> list[Seen]:
        """What workers started that are gone, and that did not go with them."""
        return [
            one
            for worker, one in list(self._offspring.values())
            if one.identity not in self.workers and _is_there(one) and not _is_there(worker)
        ]

    def _look_on(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            found = {entry.pid: entry for entry in family([self._root])}
            for entry in found.values():
                if entry.pid != self._root and entry.alive:
                    self._look(entry, found)

    def _look(self, entry: Entry, found: Mapping[int, Entry]) -> None:
        seen = self.workers.get(entry.identity)
        if seen is None:
            if not self._pattern.search(command_line(entry.pid)):
                self._take_offspring(entry.pid, entry.started, entry.parent)
                return
            seen = self.workers[entry.identity] = Seen(entry.pid, entry.started)
        seen.peak_bytes = max(seen.peak_bytes, _peak(entry.pid))
        place = Path(f"/proc/{entry.pid}")
        with contextlib.suppress(OSError):
            if seen.variables is None:
                data = (place / "environ").read_bytes()
                # Read and then found to be the same program: what was read was not its parent's.
                if self._pattern.search(command_line(entry.pid)):
                    seen.variables = [os.fsdecode(one.partition(b"=")[0]) for one in _split(data)]
        with contextlib.suppress(OSError):
            # The last one counts: a process may go to its own directory after it was loaded.
            seen.directory = str((place / "cwd").readlink()).removesuffix(" (deleted)")
        with contextlib.suppress(OSError):
            seen.held.add(read_opened(place))
            if seen.held.due(now := time.monotonic()):
                # Of nobody else is asked: for most workers nothing is open.
                seen.held.compare(self._above(entry, found), now)

    def _above(self, entry: Entry, found: Mapping[int, Entry]) -> set[End]:
        """What the processes have open from which a worker comes, other workers left out."""
        pids, ends = {self._root}, set()
        above = found.get(entry.parent)
        while above is not None and above.pid not in pids:
            # What is below a worker has from it what it has.
            pids = {self._root} if above.identity in self.workers else {*pids, above.pid}
            above = found.get(above.parent)
        for pid in pids:
            with contextlib.suppress(OSError):
                ends |= ends_of(read_opened(Path(f"/proc/{pid}")))
        return ends

    def _descriptors(self, workers: list[Seen]) -> Fact:
        """Whether a worker has a pipe or a socket of its parent beside its channel."""
        fact, hidden = "three_descriptors", False
        if any(one.held.undecided for one in workers):
            try:
                ours = ends_of(read_opened(Path(f"/proc/{self._root}")))
            except OSError:
                hidden = True
            else:
                for one in workers:
                    one.held.settle(ours)
        if shared := {name for one in workers for name in list(one.held.parents)}:
            return Fact(fact, State.BROKEN, ", ".join(sorted(shared))[:200])
        if not all(one.held.known for one in workers):
            return Fact(fact, State.PROTECTED, "descriptors of the worker")
        if hidden:
            return Fact(fact, State.UNOBSERVABLE, "descriptors of the adapter")
        return Fact(fact, State.HOLDS)


def _environment(workers: list[Seen]) -> Fact:
    names = sorted({name for one in workers for name in one.variables or ()})
    if names:
        return Fact("empty_environment", State.BROKEN, ", ".join(names)[:200])
    if any(one.variables is None for one in workers):
        return Fact("empty_environment", State.PROTECTED, "the environment of the worker")
    return Fact("empty_environment", State.HOLDS)


def _none_started(workers: list[Seen], known: set[tuple[int, int]], kept: int) -> Fact:
    """Whether no worker was seen that was not there before."""
    if kept or not known:
        why = "workers are started ahead" if kept else "no worker was ever seen"
        return Fact("none_started", State.UNOBSERVABLE, why)
    new = [one.pid for one in workers if one.identity not in known]
    return _fact("none_started", not new, f"process {new[:1]} was started")


def _directory(workers: list[Seen], left: list[Seen]) -> tuple[Fact, Fact]:
    places = [one.directory for one in workers if one.directory is not None]
    if len(places) < len(workers):
        return (
            Fact("own_directory", State.PROTECTED, "the directory of the worker"),
            Fact("directory_removed", State.PROTECTED, "the directory of the worker"),
        )
    used = {one.directory for one in left}
    until = time.monotonic() + FOLDER_SECONDS
    # A target may remove the directory after the worker, while it does other things.
    while there := [place for place in places if place not in used and Path(place).is_dir()]:
        if time.monotonic() > until:
            break
        time.sleep(LOOK_SECONDS)
    own = len(set(places)) == len(places)
    return (
        _fact("own_directory", own, "two workers in one directory"),
        _fact("directory_removed", not there, "it is still there"),
    )


def _memory(workers: list[Seen], memory_bytes: int | None) -> Fact:
    if memory_bytes is None:
        return Fact("memory_peak", State.UNOBSERVABLE, "no number for memory_bytes")
    limit, peak = memory_bytes + OVERHEAD_BYTES, max(one.peak_bytes for one in workers)
    return _fact("memory_peak", peak <= limit, f"{peak} bytes resident, {limit} allowed")


def _fact(name: str, holds: object, detail: str) -> Fact:
    return Fact(name, State.HOLDS) if holds else Fact(name, State.BROKEN, detail[:200])


def _is_there(one: Seen) -> bool:
    entry = read_entry(one.pid)
    if entry is None or entry.started != one.started:
        return False
    # An orphan that has ended comes to us to be reaped, and not to its parent's parent.
    return entry.alive or entry.parent != os.getpid()


def _split(data: bytes) -> list[bytes]:
    return [word for word in data.split(b"\0") if word]


def _peak(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
