"""The worker command that a target's parent is told to start, and what was written to it."""

from __future__ import annotations

import json
import secrets
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import frames

if TYPE_CHECKING:
    from codemode_conformance.frames import FrameSeen

PROGRAM: Final = Path(__file__).parent / "hostile" / "worker.py"


class Rig:
    """A folder with an executable `command` that plays the scenario that was set last.

    Without words, in any directory and with any environment. Call `close` in the end.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cmconf-worker-")).resolve()
        self.command = self._folder / "worker"
        self._file = self._folder / "scenario.json"
        self._seen = self._folder / "scenario.json.seen"
        self.healthy_value = secrets.randbelow(1 << 50)
        """What a worker gives after `be_healthy`: a parent that started another would not know."""
        self.be_healthy()

    @property
    def started(self) -> bool:
        """Whether the command was started since its script was set."""
        return self._seen.stat().st_size > 0

    def be_healthy(self) -> None:
        """From now on the worker takes its frame and gives `healthy_value`."""
        value = {"type": "result", "ok": True, "value_present": True, "value": self.healthy_value}
        self.play([{"read": "execute"}, {"send": value}])

    def play(self, script: Any) -> None:
        """Set the steps of a scenario, or what is wrong with the command: see the case schema."""
        scenario = {"format": 1, "run": "case", "scenarios": {"case": {"steps": script}}}
        self._file.write_text(json.dumps(scenario), encoding="utf-8")
        self._seen.write_bytes(b"")
        if self.command.is_dir():
            self.command.rmdir()
        self.command.unlink(missing_ok=True)
        if script == "folder":
            self.command.mkdir()
        elif script != "missing":
            words = [sys.executable, "-I", "-S", str(PROGRAM), str(self._file)]
            self.command.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n", encoding="utf-8")
            self.command.chmod(0o644 if script == "not_executable" else 0o755)

    def frames(self) -> tuple[FrameSeen, ...]:
        """The lines that the worker has read since its script was set."""
        # Each start is an empty line of the record.
        lines = [line for line in self._seen.read_bytes().split(b"\n") if line]
        return tuple(frames.read(line)[0] for line in lines)

    def close(self) -> None:
        """Delete the folder. May be called again."""
        shutil.rmtree(self._folder, ignore_errors=True)
