"""An adapter of nothing: each program gives 1 at once. With a word, a process is started for it."""

import os
import subprocess
import sys
from pathlib import Path

import codemode_conformance

sys.path.insert(0, str(Path(codemode_conformance.__file__).parent / "kits"))

from cmconf_kit import ok, serve

IDENTITY = {
    "target": "null",
    "version": "1.0",
    "language": ["javascript"],
    "settable": [],
    "alternatives": {"isolation": "process"},
    "capabilities": ["raw"],
    "mapping": "typed",
    "sessions": 1,
    "runs_per_session": 1,
    "host_values": [],
}
WORKER = os.environ.get("NULL_WORKER", "")


class Session:
    """Runs nothing."""

    prelude = ""
    effective = {"wall_time_ms": {"value": 10_000, "from": "documented"}}  # noqa: RUF012

    async def run(self, _source, _options, _call, _state):
        """Give 1."""
        if WORKER:
            words = [WORKER, "null-worker"]
            subprocess.run(words, env={}, cwd="/", check=False)  # noqa: ASYNC221  nothing waits
        return ok(1)

    async def close(self):
        """Nothing is open."""


async def opener(_policy, _ops, _session):
    """Open one."""
    return Session()


serve(IDENTITY, opener)
