"""Files that somebody else names, read up to a bound: a device or a pipe has no size to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path, most: int) -> bytes | None:
    """The bytes of a file, None where there are more than `most`. Raises OSError."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    return data if len(data) <= most else None
