"""What the workers of a target show while a case runs: their processes, their work, our own one."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from typing import TYPE_CHECKING

from codemode_conformance import work
from codemode_conformance.channel import FaultError, UnsupportedError
from codemode_conformance.evidence import Fact, State
from codemode_conformance.identity import numbers_of
from codemode_conformance.leaks import HOST_PATH, HOST_PLACE
from codemode_conformance.observation import CanaryHit, End
from codemode_conformance.processtable import command_line, family, read_entry
from codemode_conformance.watch import LOOK_SECONDS, PATIENCE_SECONDS, Watch, visible
from codemode_conformance.work import Work

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from codemode_spec.cases import ReadyCase
    from codemode_spec.expectations import Expectation

    from codemode_conformance.adapter import Adapter
    from codemode_conformance.liverun import LiveRun
    from codemode_conformance.processtable import Entry
    from codemode_conformance.roles.rig import Rig


class Witness:
    """Looks at the workers of one adapter while one case is put to it; call `stop` at its end.

    `rig` is the worker that the target was told to start, where it is ours. `level` is the level of
    evidence of what was seen, and why it is not A; `written` are secrets in frames to our worker.
    """

    def __init__(self, adapter: Adapter, rig: Rig | None) -> None:
        self.level = ("", "")
        self.written: list[CanaryHit] = []
        self._adapter = adapter
        self._rig = rig
        self._watch: Watch | None = None
        self._work: Work | None = None

    def look_for_workers(self, ready: ReadyCase) -> bool:
        """Watch the target's own workers, where the case asks and the target file tells them.

        Returns whether they are watched.
        """
        pattern = self._adapter.worker_pattern
        if not (ready.asks_for_processes and self._rig is None and pattern and visible()):
            return False
        assert self._adapter.process is not None
        self._watch = Watch(self._adapter.process.pid, pattern, self._adapter.tracer)
        return True

    def look_at_work(self, expected: Expectation | None) -> None:
        """Sum up the work of the next program, where the case asks where it is done."""
        asked = any(work.NAME in legal.processes for legal in (expected.any_of if expected else ()))
        if asked and self._rig is None and visible():
            assert self._adapter.process is not None
            self._work = Work(self._adapter.process.pid)

    def kill_workers(self) -> None:
        """Kill every worker of the target that runs now, and wait until none of them does.

        UnsupportedError where workers cannot be told from other processes, or none is there.
        """
        pattern = self._adapter.worker_pattern
        if self._rig is not None or not pattern or not visible():
            raise UnsupportedError("its workers cannot be told from other processes")
        assert self._adapter.process is not None
        root = self._adapter.process.pid
        waiting = [
            entry
            for entry in family([root])
            if entry.pid != root and entry.alive and re.search(pattern, command_line(entry.pid))
        ]
        if not waiting:
            raise UnsupportedError("it keeps no worker ready")
        for entry in waiting:
            with contextlib.suppress(ProcessLookupError):
                os.kill(entry.pid, signal.SIGKILL)
        until = time.monotonic() + PATIENCE_SECONDS
        while any(map(_runs, waiting)) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)

    def orphans(self) -> tuple[Fact, ...]:
        """Whether the workers that are watched outlive their parent, once it is gone."""
        assert self._watch is not None
        left = self._watch.left()
        seen = list(self._watch.workers)
        state = State.BROKEN if left else State.HOLDS
        detail = f"{len(left)} of {len(seen)} workers outlive their parent" if left else ""
        self.level = max(self.level, self._watch.level)
        return (Fact("die_with_parent", state, detail),) if seen else ()

    def note(self, run: LiveRun, ready: ReadyCase, effective: Mapping[str, Any]) -> None:
        """Add what the workers have shown to a run that is over.

        FaultError where the target was to start our worker and did not: it was not tested.
        """
        if self._work is not None:
            isolation = str(self._adapter.identity.alternatives.get("isolation", ""))
            run.facts = (*run.facts, self._work.fact(isolation))
            self.level = max(self.level, ("B", "work is summed up by looking"))
            self._work = None
            return
        if self._watch is not None and not run.facts:
            numbers = numbers_of(effective)
            memory, kept = numbers.get("memory_bytes"), numbers.get("pool_min", 0)
            run.facts = self._watch.facts(self._adapter.known_workers, memory, kept)
            self.level = max(self.level, self._watch.level)
            self._watch.forget()
        if self._rig is not None:
            self._note_ours(run, self._rig, ready)

    def _note_ours(self, run: LiveRun, rig: Rig, ready: ReadyCase) -> None:
        run.frames = rig.frames()
        rig.tell()
        if ready.asks_for_processes:
            run.facts = rig.facts()
            self.level = "B", "the worker itself says what it was given"
        data = rig.data.decode(errors="replace")
        found = self._adapter.find(data)
        found += [(HOST_PATH, "raw")] if HOST_PLACE.search(data) else []
        self.written += [CanaryHit(*hit, "a frame to the worker") for hit in found]
        ended = run.end is End.VALUE or (run.outcome or {}).get("category") == "protocol"
        came = rig.started or rig.reused
        if ended and isinstance(run.spec.script, list) and not came:
            raise FaultError("adapter", "the run ended, and ${worker} was not started")

    def stop(self) -> None:
        """Look no more. May be called again."""
        if self._watch is not None:
            self._watch.stop()
        if self._work is not None:
            self._work.stop()


def _runs(entry: Entry) -> bool:
    now = read_entry(entry.pid)
    return now is not None and now.started == entry.started and now.alive
