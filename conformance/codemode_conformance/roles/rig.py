"""The worker command that a target's parent is told to start, and what was written to it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import frames
from codemode_conformance.evidence import Fact, State
from codemode_conformance.processtable import read_entry

if TYPE_CHECKING:
    from codemode_conformance.frames import FrameSeen
    from codemode_conformance.transcript import Transcript

PROGRAM: Final = Path(__file__).parent / "hostile" / "worker.py"
START: Final = b"#"
"""What begins a line of the record that tells of a start."""

PATIENCE_SECONDS: Final = 4.0
"""How long a killed worker may still be there: `reap_ms`, and as long again on a slow machine."""

_LOOK_SECONDS: Final = 0.02
_RAN_BEFORE: Final = "a process that had run before"


class Rig:
    """A folder with an executable `command` that plays the scenario that was set last.

    `transcript` gets, by `tell`, what its worker has read and written.
    Without words, in any directory and with any environment. Call `close` in the end.
    """

    def __init__(self, transcript: Transcript | None = None) -> None:
        self._transcript = transcript
        self._folder = Path(tempfile.mkdtemp(prefix="cmconf-worker-")).resolve()
        self.command = self._folder / "worker"
        self._file = self._folder / "scenario.json"
        self._seen = self._folder / "scenario.json.seen"
        self._told = self._folder / "scenario.json.told"
        if transcript is not None:
            self._told.touch()
        self.healthy_value = secrets.randbelow(1 << 50)
        """What a worker gives after `be_healthy`: a parent that started another would not know."""
        self._known: set[tuple[int, int]] = set()
        self._directories: set[str] = set()
        self.be_healthy()

    @property
    def data(self) -> bytes:
        """All that the worker has read since its script was set."""
        return b"\n".join(line for line in self._lines() if not line.startswith(START))

    @property
    def started(self) -> bool:
        """Whether the command was started since its script was set."""
        return bool(self._starts())

    @property
    def reused(self) -> bool:
        """Whether a worker of an earlier script was given the program of this one."""
        return not self.started and any(one.kind == "execute" for one in self.frames())

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
            # No shell between: it would add variables of its own.
            interpreter = Path(sys.executable).resolve()
            text = PROGRAM.read_text(encoding="utf-8")
            self.command.write_text(f"#!{interpreter} -IS\n{text}", encoding="utf-8")
            self.command.chmod(0o644 if script == "not_executable" else 0o755)

    def tell(self) -> None:
        """Put what the worker has read and written since the last call into the transcript."""
        if self._transcript is None:
            return
        lines = self._told.read_bytes().split(b"\n")[:-1]
        self._told.write_bytes(b"")
        for line in lines:
            one = json.loads(line)
            self._transcript.frame(one["way"], one["text"].encode(), one["bytes"], one["at"])

    def frames(self) -> tuple[FrameSeen, ...]:
        """The lines that the worker has read since its script was set."""
        lines = [line for line in self._lines() if not line.startswith(START)]
        return tuple(frames.read(line)[0] for line in lines)

    def facts(self) -> tuple[Fact, ...]:
        """What the last worker was given, and what is left of it; waits until all is gone."""
        started = self._starts()
        if not started:
            return (_fact("fresh", None, _RAN_BEFORE),) if self.reused else ()
        first = started[0]
        if "started" not in first:
            names = ("fresh", "gone", "empty_environment", "three_descriptors")
            return tuple(Fact(name, State.UNOBSERVABLE, "no /proc") for name in names)
        workers = {(one["pid"], one["started"]) for one in started if "child" not in one}
        used = first["directory"] in self._directories
        found = (
            _fact("fresh", not workers & self._known, _RAN_BEFORE),
            _fact("empty_environment", not first["variables"], ", ".join(first["variables"])),
            _fact("three_descriptors", first["descriptors"] == [0, 1, 2], first["descriptors"]),
            _fact("own_directory", not used, "the directory of another run"),
            *_left(started),
        )
        self._known |= workers
        self._directories.add(first["directory"])
        return found

    def _lines(self) -> list[bytes]:
        # What stands after the last line feed is still being written.
        return [line for line in self._seen.read_bytes().split(b"\n")[:-1] if line]

    def _starts(self) -> list[dict[str, Any]]:
        return [json.loads(line[1:]) for line in self._lines() if line.startswith(START)]

    def close(self) -> None:
        """Delete the folder. May be called again."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _fact(name: str, holds: object, detail: object) -> Fact:
    return Fact(name, State.HOLDS) if holds else Fact(name, State.BROKEN, str(detail)[:200])


def _left(started: list[dict[str, Any]]) -> tuple[Fact, Fact]:
    """Whether processes of the worker's session, and its directory, are gone in time."""
    session = started[0]["session"]
    inside = [one for one in started if one["session"] == session]
    directory = Path(started[0]["directory"])
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        left = [one["pid"] for one in inside if _is_there(one)]
        there = directory.exists()
        if not (left or there) or time.monotonic() > until:
            break
        time.sleep(_LOOK_SECONDS)
    what = f"{len(left)} of {len(inside)} processes are still there"
    return _fact("gone", not left, what), _fact("directory_removed", not there, "it is there")


def _is_there(one: dict[str, Any]) -> bool:
    entry = read_entry(one["pid"])
    if entry is None or entry.started != one["started"]:
        return False
    # An orphan that has ended comes to us to be reaped, and not to its parent's parent.
    return entry.alive or entry.parent != os.getpid()
