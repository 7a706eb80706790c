"""The private directories of workers: made for one invocation, removed without following links.

What a killed parent leaves behind is removed by the next one that starts.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import tempfile
from hashlib import blake2s
from itertools import count, islice
from pathlib import Path

# What a worker may leave behind before its directory is left to the end of the parent; what a
# start looks at and removes of dead parents.
_MOST_ENTRIES = 10_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Where process numbers mean the same, the number and the start of the parent, something random.
_NAME = re.compile(r"codemode-([0-9a-f]{8})-([0-9]{1,9})-([0-9]{1,20})-[a-z0-9_]+")


class Scratch:
    """A directory of the parent with one subdirectory for each invocation, all of mode 0700.

    It belongs to the process that makes it: once that has ended, others may remove it.
    """

    def __init__(self) -> None:
        sweep(Path(tempfile.gettempdir()))
        place, start = _place(), _start_of(os.getpid())
        owner = f"{place}-{os.getpid()}-{start}-" if place and start else ""
        self.path = Path(tempfile.mkdtemp(prefix=f"codemode-{owner}"))
        self._numbers = count()

    def make(self) -> Path:
        """A new empty directory. Raises OSError."""
        path = self.path / str(next(self._numbers))
        path.mkdir(mode=0o700)
        return path

    def close(self) -> None:
        """Remove everything."""
        remove(self.path)


def sweep(folder: Path) -> None:
    """Remove the directories in `folder` that parents of this user left when they were killed.

    Only those whose parent is known to be gone, by its number and start time. Without /proc, none.
    """
    place = _place()
    left = _MOST_ENTRIES
    try:
        here = os.open(folder, _FOLDER)
    except OSError:
        return
    try:
        for name in _entries(here):
            found = _NAME.fullmatch(name)
            if left and found and found[1] == place and _gone(int(found[2]), found[3]):
                left = _remove_at(here, name, left)
    finally:
        os.close(here)


def remove(path: Path) -> None:
    """Remove `path` and what is in it, by descriptor and without following a link.

    Does nothing about what it may not remove: a worker must not be able to break its parent.
    """
    try:
        path.rmdir()
    except FileNotFoundError:
        return
    except OSError:
        with contextlib.suppress(OSError):
            _empty(os.open(path, _FOLDER), _MOST_ENTRIES)
            path.rmdir()


def _remove_at(here: int, name: str, left: int) -> int:
    with contextlib.suppress(OSError):
        folder = os.open(name, _FOLDER, dir_fd=here)
        if os.fstat(folder).st_uid != os.geteuid():
            os.close(folder)
            return left
        left = _empty(folder, left)
        os.rmdir(name, dir_fd=here)
    return left


def _empty(top: int, left: int) -> int:
    """Remove what is in `top`, at most `left` entries, and close it; how many more may be."""
    # A directory in a directory is moved up before it is emptied: no path is ever joined, no depth
    # takes a descriptor for each level, and each one is listed once.
    moved = count()
    token = secrets.token_hex(4)
    names = _entries(top)
    try:
        while names and left:
            left -= 1
            name = names.pop()
            if not _is_folder(name, top):
                os.unlink(name, dir_fd=top)
                continue
            folder = os.open(name, _FOLDER, dir_fd=top)
            try:
                for entry in _entries(folder)[:left]:
                    if _is_folder(entry, folder):
                        names.append(f"{token}-{next(moved)}")
                        os.rename(entry, names[-1], src_dir_fd=folder, dst_dir_fd=top)
                    else:
                        os.unlink(entry, dir_fd=folder)
                        left -= 1
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)
    except OSError:
        left = 0
    finally:
        os.close(top)
    return left


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _entries(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in islice(entries, _MOST_ENTRIES)]


def _place() -> str | None:
    """This boot of this machine and this namespace of process numbers; None without /proc.

    A temporary directory may be shared with containers and other machines, where a number that is
    gone here is in use.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115  it names no path
    except OSError:
        return None
    return blake2s(boot + namespace.encode(), digest_size=4).hexdigest()


def _gone(pid: int, start: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        # Another user's, with a number that was given again; the time tells.
        pass
    # A process may be there and hidden.
    return _start_of(pid) not in (None, start)


def _start_of(pid: int) -> str | None:
    """When a process started, in clock ticks since the boot; None if nothing tells."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the command stands in brackets and may hold anything.
    return status.rpartition(")")[2].split()[19]
