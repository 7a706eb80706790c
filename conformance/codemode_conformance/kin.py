"""All processes that came from one: found, measured, killed and reaped."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import weakref
from collections import Counter
from functools import cache
from typing import Final, Protocol

from codemode_conformance.processtable import (
    Entry,
    all_entries,
    command_line,
    descendants,
    family,
    has_variable,
    proportional,
    read_entry,
)

_PR_SET_CHILD_SUBREAPER: Final = 36
_REAP_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.005

COMMAND_CHARACTERS: Final = 300
"""Of the command line of a process that is told."""


class Endable(Protocol):
    """Something with kin."""

    def end(self) -> tuple[Entry, ...]:
        """Kill and reap all of it."""


living: weakref.WeakSet[Endable] = weakref.WeakSet()
helpers: set[int] = set()
"""Children of the harness that serve it and came from no target."""

_alone = False


def claim_all() -> None:
    """Say that this process starts nothing but targets: each orphan it adopts came from one.

    Then a process that left its session and cleared its environment at once is ended too, as soon
    as no more than one target lives. Not for a process that has other children.
    """
    global _alone  # noqa: PLW0603  a property of the process, like being a subreaper
    _alone = True


@atexit.register
def end_all() -> None:
    """End every process that is still held; the last resort when the harness goes."""
    for process in list(living):
        with contextlib.suppress(Exception):
            process.end()


@cache
def adopt_orphans() -> bool:
    """Become the parent of orphaned descendants, so that they can be seen and reaped (Linux)."""
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def exit_status(pid: int) -> int | None:
    """The exit status of our child, minus the number of its signal, None while it runs.

    The child is not reaped: its pid, and so its group, cannot be given to another process.
    """
    try:
        result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    if result is None:
        return None
    return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status


class Kin:
    """The process `pid`, which leads its session, and whatever came from it.

    A `marker` variable finds those that left the session before anybody looked.
    """

    def __init__(self, pid: int, marker: str, value: str) -> None:
        self.pid = pid
        self._marker = (marker, value)
        self._seen: set[tuple[int, int]] = set()
        self._reaped = False
        self._left: tuple[Entry, ...] | None = None

    def look(self, limit: int) -> int:
        """Bytes of resident memory of all of them; remembers who they are.

        Above `limit` the figure is read again with shared pages counted once.
        """
        found = family(self._roots())
        self._remember(found)
        self._reap()
        entries = [entry for entry in found if entry.alive]
        total = sum(entry.resident for entry in entries)
        if total <= limit:
            return total
        return sum(proportional(entry.pid) or entry.resident for entry in entries)

    def living(self) -> list[Entry]:
        """Those that run now, the first one included; looks at every process there is."""
        entries = all_entries()
        known = set(self._roots())
        roots = [entry.pid for entry in entries if entry.pid in known or self._is_ours(entry)]
        found = descendants(roots, entries)
        self._remember(found)
        return [entry for entry in found if entry.alive]

    def left(self, seconds: float) -> Counter[str]:
        """The command lines of those that outlive the first, which has exited; not yet ended here.

        They may take so long to go.
        """
        until = time.monotonic() + seconds
        while True:
            there = [entry.pid for entry in self.living() if entry.pid != self.pid]
            if not there or time.monotonic() > until:
                return Counter(command_line(pid)[:COMMAND_CHARACTERS] for pid in there)
            time.sleep(_POLL_SECONDS * 4)

    def end(self, popen: subprocess.Popen[bytes]) -> tuple[Entry, ...]:
        """Kill them all and reap those that are ours; returns those that outlived the first."""
        if self._left is not None:
            return self._left
        dead = exit_status(self.pid) is not None
        entries = self.living()
        self._left = tuple(entry for entry in entries if dead and entry.pid != self.pid)
        # The first process is not reaped before this, so the group's number is still its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        until = time.monotonic() + _REAP_SECONDS
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(_REAP_SECONDS)
            self._reaped = True
        while True:
            for entry in entries:
                _kill(entry)
            self._reap()
            entries = [entry for entry in self.living() if entry.pid != self.pid]
            if not entries or time.monotonic() > until:
                self._reap()
                return self._left
            time.sleep(_POLL_SECONDS)

    def _roots(self) -> list[int]:
        # A pid counts only as long as it names the same process.
        known = [pid for pid, started in self._seen if _is(pid, started)]
        return known if self._reaped else [self.pid, *known]

    def _remember(self, entries: list[Entry]) -> None:
        self._seen = {entry.identity for entry in entries if entry.pid != self.pid}

    def _is_ours(self, entry: Entry) -> bool:
        if self.pid in (entry.group, entry.session):
            return not self._reaped or entry.pid != self.pid
        if entry.parent != os.getpid() or entry.pid in helpers:
            return False
        if _alone and len(living) <= 1:
            return not self._reaped or entry.pid != self.pid
        name, value = self._marker
        return bool(name) and has_variable(entry.pid, name, value)

    def _reap(self) -> None:
        for pid, started in self._seen:
            entry = read_entry(pid)
            adopted = entry is not None and entry.parent == os.getpid()
            if adopted and _is(pid, started):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _is(pid: int, started: int) -> bool:
    entry = read_entry(pid)
    return entry is not None and entry.started == started


def _kill(entry: Entry) -> None:
    """Kill exactly this process, not another one that got its pid."""
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(entry.pid, signal.SIGKILL)
            return
        descriptor = os.pidfd_open(entry.pid)
    except OSError:
        return
    try:
        if _is(entry.pid, entry.started):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:
        pass
    finally:
        os.close(descriptor)
