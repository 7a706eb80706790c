"""What a process has and has started, as the kernel tells it. Linux only."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def children() -> list[str]:
    """The children of this process, the dead ones too."""
    tasks = Path("/proc/self/task").iterdir()
    return [child for task in tasks for child in (task / "children").read_text().split()]


def processes(folder: Path) -> list[str]:
    """The living processes that name the folder on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in path.read_bytes():
                found.append(path.parent.name)
    return found


def descriptors() -> int:
    """How many are open, without the one that looks."""
    return len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208  a count


def threads() -> int:
    """How many run."""
    return len(list(Path("/proc/self/task").iterdir()))


def resident() -> int:
    """The resident memory in KiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024
