"""The errors of this package; `exit_code` is what `cmconf` ends with."""

from __future__ import annotations

from typing import ClassVar


class ConformanceError(Exception):
    """The root: something other than a verdict went wrong."""

    exit_code: ClassVar[int] = 5


class TargetError(ConformanceError):
    """The target file cannot be used; names the file, the key path, the reason and what to do."""

    exit_code: ClassVar[int] = 2

    def __init__(self, file: str, path: str, reason: str, advice: str) -> None:
        self.file = file
        self.path = path
        self.reason = reason
        self.advice = advice
        where = f"{file}: {path}" if path else file
        super().__init__(f"{where}: {reason}; {advice}")


class InstallError(ConformanceError):
    """The target could not be installed, or another version than the pinned one is there."""

    exit_code: ClassVar[int] = 3


class StartError(ConformanceError):
    """The target's command did not start, did not answer, or did not say who it is."""

    exit_code: ClassVar[int] = 3


class ClaimError(ConformanceError):
    """The claims of the target file and what the target says of itself differ."""

    exit_code: ClassVar[int] = 2


class HarnessError(ConformanceError):
    """A fault of the suite itself."""


class UsageError(ConformanceError):
    """What was asked for on the command line cannot be done; says why and what to do."""

    exit_code: ClassVar[int] = 2
