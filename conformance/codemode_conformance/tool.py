"""A command of somebody else's run to its end: no shell, no terminal, own group, bounded."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from typing import TYPE_CHECKING, Final

from codemode_conformance import kin
from codemode_conformance.escape import for_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OUTPUT_BYTES: Final = 1 << 20
_LAST_LINES: Final = 5


class ToolError(Exception):
    """It did not start, did not end in time, or ended with another status than 0."""


def run_tool(words: list[str], env: Mapping[str, str], folder: Path, timeout_ms: int) -> str:
    """Run it and return what it printed on stdout, the first MiB; ToolError says what failed.

    Whatever it started is ended with it.
    """
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            popen = subprocess.Popen(
                words,
                env=dict(env),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ToolError(f"cannot be started: {reason}") from None
        relatives = kin.Kin(popen.pid, "", "")
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                popen.wait(timeout_ms / 1_000)
            status = popen.returncode
        finally:
            relatives.end(popen)
        if status == 0:
            stdout.seek(0)
            return stdout.read(OUTPUT_BYTES).decode(errors="replace")
        how = f"no end within {timeout_ms} ms" if status is None else f"status {status}"
        lines = []
        for file in (stdout, stderr):
            file.seek(max(0, file.seek(0, 2) - OUTPUT_BYTES))
            lines += file.read().decode(errors="replace").splitlines()
        told = [for_terminal(line[:300]) for line in lines if line.strip()]
        last = "\n  ".join(told[-_LAST_LINES:])
        raise ToolError(f"{how}\n  {last}" if last else how)
