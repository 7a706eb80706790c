"""What `cmconf` ends with, and the version of the suite. Nothing here is slow to load."""

from __future__ import annotations

from typing import Final

CONFORMING: Final = 0
FAILED: Final = 1
CANNOT_START: Final = 3
STALE_BASELINE: Final = 4
SUITE_FAULT: Final = 5
INTERRUPTED: Final = 130


def suite_version() -> str:
    """The version of this distribution."""
    from importlib.metadata import version  # noqa: PLC0415  it takes a while

    return version("codemode-conformance")
