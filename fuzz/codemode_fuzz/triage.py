"""Findings: one signature, one directory, with the smallest input seen and how to replay it."""

from __future__ import annotations

import hashlib
import re
import time
import traceback
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INPUT: Final = "input.bin"
_SHRINKING_STEPS = 400
# One that is found by its slowness is as slow in each part of it.
_SHRINKING_SECONDS = 60.0
_REPRODUCE: Final = """\
#!/bin/sh
# $PYTHON is an interpreter that has this project installed.
cd "$(dirname "$0")" && exec "${{PYTHON:-python3}}" -m codemode_fuzz replay {target} {input}
"""


def signature(error: BaseException) -> str:
    """What two occurrences of one finding share: no digits, addresses or line numbers."""
    text = f"{type(error).__name__}: {error}"
    text = re.sub(r"0x[0-9a-fA-F]+", "ADDRESS", text)
    text = re.sub(r"\d+(?:\.\d+)?(?:, \d+)*(?:, \.\.\.)?", "N", text)
    places = [frame.name for frame in traceback.extract_tb(error.__traceback__)[-3:]]
    return f"{text} in {' > '.join(places)}"


def record(folder: Path, target: str, data: bytes, check: Callable[[bytes], None]) -> Path | None:
    """Run `check` on `data`; what it raises gets or keeps its directory, which is returned.

    The directory holds the smallest input known for the signature, the traceback, and a script.
    """
    error = failure(data, check)
    if error is None:
        return None
    name = signature(error)
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    words = re.sub(r"[^a-z]+", "-", name.lower())[:40].strip("-")
    home = folder / f"{words}-{digest}"
    known = home / INPUT
    if known.exists() and known.stat().st_size <= len(data):
        return home
    smallest = shrink(data, lambda part: _same(part, check, name))
    home.mkdir(parents=True, exist_ok=True)
    known.write_bytes(smallest)
    report = "".join(traceback.format_exception(error))
    (home / "finding.txt").write_text(f"{name}\n\n{report}", encoding="utf-8")
    script = home / "reproduce.sh"
    script.write_text(_REPRODUCE.format(target=target, input=INPUT), encoding="utf-8")
    script.chmod(0o755)
    return home


def failure(data: bytes, check: Callable[[bytes], None]) -> Exception | None:
    """What `check` raises for `data`."""
    try:
        check(data)
    except Exception as error:  # noqa: BLE001  any exception of a check is a finding
        return error
    return None


def shrink(data: bytes, still: Callable[[bytes], bool]) -> bytes:
    """A part of `data` for which `still` holds, by leaving out ever smaller pieces."""
    steps, began = _SHRINKING_STEPS, time.monotonic()
    size = len(data) // 2
    while size:
        start = 0
        while start < len(data) and steps and time.monotonic() - began < _SHRINKING_SECONDS:
            steps -= 1
            part = data[:start] + data[start + size :]
            if still(part):
                data = part
            else:
                start += size
        size //= 2
    return data


def _same(data: bytes, check: Callable[[bytes], None], name: str) -> bool:
    error = failure(data, check)
    return error is not None and signature(error) == name
