"""The private directories of workers: made for one invocation, removed without following links."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from itertools import islice
from pathlib import Path

# What a worker may leave behind before its directory is left to the end of the parent.
_MOST_ENTRIES = 10_000


class Scratch:
    """A directory of the parent with one subdirectory for each invocation, all of mode 0700."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="codemode-"))

    def make(self) -> Path:
        """A new empty directory. Raises OSError."""
        return Path(tempfile.mkdtemp(dir=self.path))

    def close(self) -> None:
        """Remove everything."""
        remove(self.path)


def remove(path: Path) -> None:
    """Remove `path` and what is in it, by descriptor and without following a link.

    Does nothing about what it may not remove: a worker must not be able to break its parent.
    """
    try:
        path.rmdir()
    except FileNotFoundError:
        return
    except OSError:
        _remove_below(path)


def _remove_below(path: Path) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    left = _MOST_ENTRIES
    # Each directory is emptied from its parent, so the deepest one first; no path is ever joined.
    # One listing for each: to look for the next entry anew would take time in their square.
    try:
        folders = [os.open(path, flags)]
    except OSError:
        return
    listings = [_entries(folders[0])]
    names: list[str] = []
    while folders:
        folder = folders[-1]
        entry = listings[-1].pop() if left and listings[-1] else None
        left = max(left - 1, 0)
        try:
            if entry is None:
                os.close(folders.pop())
                listings.pop()
                if names:
                    os.rmdir(names.pop(), dir_fd=folders[-1])
            elif stat.S_ISDIR(os.stat(entry, dir_fd=folder, follow_symlinks=False).st_mode):
                folders.append(os.open(entry, flags, dir_fd=folder))
                listings.append(_entries(folders[-1]))
                names.append(entry)
            else:
                os.unlink(entry, dir_fd=folder)
        except OSError:
            left = 0
    with contextlib.suppress(OSError):
        path.rmdir()


def _entries(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in islice(entries, _MOST_ENTRIES)]
