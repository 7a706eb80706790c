"""A private copy of the reference with one fault in it, and the proof that it was used."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from codemode_conformance.failures import HarnessError, UsageError
from codemode_conformance.mutants.mutant import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codemode_conformance.mutants.mutant import Mutant

_IN_ACCESS: Final = 0x1
_IN_NONBLOCK: Final = os.O_NONBLOCK
_EVENT: Final = struct.Struct("iIII")
_BUFFER: Final = 1 << 16


@contextmanager
def mutated(mutant: Mutant, package: Path) -> Iterator[Copy]:
    """A folder for `PYTHONPATH` that holds `package` with the fault; gone afterwards.

    HarnessError unless each change could be made exactly once.
    """
    folder = Path(tempfile.mkdtemp(prefix="cmconf-mutant-")).resolve()
    try:
        there = folder / PACKAGE
        # With the compiled form of what is not changed, which saves most of the time of a start.
        # Another process may be writing one: then it has another name, and is gone at once.
        shutil.copytree(package, there, ignore=shutil.ignore_patterns("*.pyc.*"))
        for patch in mutant.patches:
            file = there / patch.file
            for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
                compiled.unlink()
            try:
                changed = patch.applied(file.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                text = f"mutant {mutant.name} does not fit the reference any more: {error}"
                raise HarnessError(text) from None
            file.write_text(changed, encoding="utf-8")
        with Readings([there / patch.file for patch in mutant.patches]) as readings:
            yield Copy(folder, readings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Copy:
    """The copy in `folder`, and who has read what was changed in it."""

    def __init__(self, folder: Path, readings: Readings) -> None:
        self.folder = folder
        self._readings = readings

    @property
    def unread(self) -> list[str]:
        """The changed files that no process has read since the change; empty: it was used."""
        missing = self._readings.missing()
        return sorted(str(path.relative_to(self.folder / PACKAGE)) for path in missing)


class Readings:
    """Which of some files were read, by any process, since this was made. Linux only."""

    def __init__(self, paths: Sequence[Path]) -> None:
        if sys.platform != "linux":
            raise UsageError(
                "mutants run on Linux only: elsewhere nothing proves that one was used"
            )
        self._library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._library.inotify_init1(_IN_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise HarnessError(f"inotify: {os.strerror(ctypes.get_errno())}")
        self._missing: dict[int, Path] = {}
        for path in dict.fromkeys(paths):
            number = self._library.inotify_add_watch(
                self._descriptor, os.fsencode(path), _IN_ACCESS
            )
            if number < 0:
                self.close()
                raise HarnessError(f"inotify: {path}: {os.strerror(ctypes.get_errno())}")
            self._missing[number] = path

    def __enter__(self) -> Self:
        """The readings themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stops watching."""
        self.close()

    def missing(self) -> list[Path]:
        """The files that nobody has read yet."""
        while True:
            try:
                data = os.read(self._descriptor, _BUFFER)
            except BlockingIOError:
                return list(self._missing.values())
            at = 0
            while at < len(data):
                number, _, _, length = _EVENT.unpack_from(data, at)
                self._missing.pop(number, None)
                at += _EVENT.size + length

    def close(self) -> None:
        """Stop watching."""
        os.close(self._descriptor)
