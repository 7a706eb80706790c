"""What the operating system says of processes: parents, groups, resident memory.

Linux is read through /proc; elsewhere through `ps`, which knows no start time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINUX: Final = sys.platform == "linux"
_PROC: Final = Path("/proc")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Entry:
    """One process. `started` is in clock ticks since boot: pid and start time name it for good.

    `resident` is in bytes, shared pages included; a zombie has none.
    """

    pid: int
    parent: int
    group: int
    session: int
    started: int
    state: str
    resident: int

    @property
    def identity(self) -> tuple[int, int]:
        """What a reused pid does not share."""
        return self.pid, self.started

    @property
    def alive(self) -> bool:
        """Whether it still runs: a zombie does not."""
        return self.state not in ("Z", "X")


def read_entry(pid: int) -> Entry | None:
    """The process with this pid, None when there is none (Linux)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name may hold spaces and parentheses; everything after the last one is numbers.
    fields = text.rpartition(")")[2].split()
    return Entry(
        pid=pid,
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        started=int(fields[19]),
        resident=int(fields[21]) * _PAGE,
    )


def all_entries() -> list[Entry]:
    """Every process that can be seen."""
    if not _LINUX:
        return _ps()
    pids = [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]
    return [entry for entry in map(read_entry, pids) if entry is not None]


def family(roots: Iterable[int]) -> list[Entry]:
    """These processes and everything below them, without looking at any other process."""
    if not (_PROC / "self" / "task" / str(os.getpid()) / "children").exists():
        return descendants(roots, all_entries())
    found: dict[int, Entry] = {}
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found and (entry := read_entry(pid)) is not None:
            found[pid] = entry
            waiting += _children(pid)
    return list(found.values())


def _children(pid: int) -> list[int]:
    folder = _PROC / str(pid) / "task"
    pids: list[int] = []
    try:
        # Children hang on the thread that started them.
        for thread in folder.iterdir():
            text = (thread / "children").read_text(encoding="ascii")
            pids += map(int, text.split())
    except OSError:
        pass
    return pids


def descendants(roots: Iterable[int], entries: Iterable[Entry]) -> list[Entry]:
    """The entries of these pids and of everything below them."""
    children: dict[int, list[Entry]] = {}
    by_pid = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry)
        by_pid[entry.pid] = entry
    found: dict[int, Entry] = {}
    waiting = [by_pid[pid] for pid in roots if pid in by_pid]
    while waiting:
        entry = waiting.pop()
        if entry.pid not in found:
            found[entry.pid] = entry
            waiting += children.get(entry.pid, [])
    return list(found.values())


def command_line(pid: int) -> str:
    """Its words, empty ones left out, with spaces between them; empty if it cannot be read."""
    try:
        data = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return " ".join(os.fsdecode(word) for word in data.split(b"\0") if word)


def proportional(pid: int) -> int | None:
    """Bytes of the process with shared pages divided among their users; None if unreadable."""
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return None


def has_variable(pid: int, name: str, value: str) -> bool:
    """Whether the process was started with this environment variable (Linux)."""
    try:
        data = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{name}={value}".encode() in data.split(b"\0")


def _ps() -> list[Entry]:
    words = ["ps", "-axo", "pid=,ppid=,pgid=,stat=,rss="]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    return parse_ps(result.stdout)


def parse_ps(text: str) -> list[Entry]:
    """The entries of `ps -o pid=,ppid=,pgid=,stat=,rss=` (session unknown: the group's)."""
    entries = []
    for line in text.splitlines():
        pid, parent, group, state, kibibytes = line.split()[:5]
        entries.append(
            Entry(int(pid), int(parent), int(group), int(group), 0, state[0], int(kibibytes) * 1024)
        )
    return entries
