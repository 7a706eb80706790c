"""An adapter of a bad target: its first word says what is wrong with it.

`floods` prints without end; `leaves_children` starts a process for each program and never looks at
it again; `answers_twice` gives two outcomes; `lies` says that it can limit time, and does not.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "codemode_conformance" / "kits"))

from cmconf_kit import HOST_VALUES, ok, serve

FAULT = sys.argv[1]
SLEEPER = "import time; time.sleep(120)"
IDENTITY = {
    "target": "fake",
    "version": "1.0",
    "language": ["javascript"],
    "settable": ["wall_time_ms"],
    "alternatives": {"isolation": "process"},
    "capabilities": ["contract", "policy.wall_time_ms"],
    "mapping": "typed",
    "sessions": 1,
    "runs_per_session": 1,
    "host_values": HOST_VALUES,
}


class Session:
    """Gives 1 for every program, in its bad way."""

    prelude = "const host = null;"

    def __init__(self, policy):
        self.effective = {
            "wall_time_ms": {"value": policy.get("wall_time_ms", 5000), "from": "set"}
        }

    async def run(self, source, _options, _call, _state):
        """One program."""
        if FAULT == "floods":
            for _ in range(64):
                os.write(1, b"noise " * 16384 + b"\n")
        if FAULT == "leaves_children":
            leave_child()
            await asyncio.sleep(0.3)
        if FAULT == "lies" and not source.startswith("return"):
            await asyncio.sleep(60)
        return ok(0 if source.endswith("return 0") or "return 0" in source else 1)

    async def cancel(self, _state):
        """It does not listen."""

    async def close(self):
        """Nothing is kept."""


HOSTILE = "\x1b[31m<b>`|"


def leave_child():
    """A process that nobody waits for."""
    subprocess.Popen([sys.executable, "-c", SLEEPER, HOSTILE, "a-worker"])


def answer_twice():
    """Every outcome is written again."""
    import cmconf_kit  # noqa: PLC0415  only this fault needs its inside

    once = cmconf_kit._Adapter.emit

    def emit(self, kind, **fields):
        once(self, kind, **fields)
        if kind == "outcome":
            once(self, kind, **fields)

    cmconf_kit._Adapter.emit = emit


async def opener(policy, _ops, _session):
    """A session of any kind."""
    return Session(policy)


if FAULT == "answers_twice":
    answer_twice()
serve(IDENTITY, opener)
