"""One worker process and what it is told: the first line at once, the next whenever it calls."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from atexit import register
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from codemode_reference.bundle import worker_program
from codemode_spec.tables import DEFAULT_PROFILE

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS: Final = 8.0
"""How long a worker may live: far above the deadline that scripts set."""
MOST_OUTPUT: Final = 1 << 20
_CHUNK: Final = 65_536


@dataclass(frozen=True, slots=True)
class Said:
    """What a worker wrote and how it left; `status` is None where it had to be killed.

    `told` is the number of lines that it was sent.
    """

    output: bytes
    status: int | None
    told: int


@cache
def command() -> tuple[str, ...]:
    """The words that start the worker, from a file that goes with this process."""
    place = TemporaryDirectory(prefix="codemode-fuzz-")
    register(place.cleanup)
    path = Path(place.name) / "worker.pyc"
    path.write_bytes(worker_program(DEFAULT_PROFILE))
    return sys.executable, "-I", "-S", "-E", str(path)


def talk(lines: Sequence[bytes], words: Sequence[str] | None = None) -> Said:
    """Start a worker, tell it `lines`, close its input when there are no more, wait for its end.

    The first goes at once, and one more for each line that it writes.
    """
    with subprocess.Popen(
        words or command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    ) as process:
        try:
            return _talk(process, lines)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def _talk(process: subprocess.Popen[bytes], lines: Sequence[bytes]) -> Said:
    assert process.stdin is not None
    assert process.stdout is not None
    until = time.monotonic() + SECONDS
    output = bytearray()
    told = 0
    os.set_blocking(process.stdout.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < until and len(output) <= MOST_OUTPUT:
            while told <= output.count(b"\n") and told < len(lines):
                _write(process, lines[told] + b"\n")
                told += 1
            if told == len(lines) and output.count(b"\n") >= told:
                _close(process)
            if not selector.select(until - time.monotonic()):
                break
            data = process.stdout.read(_CHUNK)
            if not data:
                break
            output += data
    _close(process)
    try:
        status: int | None = process.wait(max(until - time.monotonic(), 0.5))
    except subprocess.TimeoutExpired:
        status = None
    return Said(bytes(output), status, told)


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ValueError):
        process.stdin.write(data)
        process.stdin.flush()


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
