"""Other implementations, each in a Node process of its own; installed at pinned versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from lines import Line, against
from starts import AHEAD, BARE, COLD

if TYPE_CHECKING:
    from collections.abc import Iterator

PEER_SECONDS = 120
HERE = Path(__file__).parent
RUN, UTCP = "Node 22: npm run", "Node 22: npm @utcp/code-mode"
# A fresh thread with nothing around it is what both could reach.
PEERS = {"Node 22: a thread": "thread", RUN: "run", UTCP: "utcp-code-mode"}


def lines(found: dict[str, list[float]], rounds: int) -> Iterator[Line]:
    """What our times are beside theirs."""
    peers = {name: peer(kind, rounds) for name, kind in PEERS.items()}
    for name, times in peers.items():
        yield against(name, times, found[BARE], BARE, None)
    yield against(COLD, found[COLD], peers[RUN], "npm run", 2.2)
    yield against(AHEAD, found[AHEAD], peers[UTCP], "npm @utcp/code-mode", 0.75)


def peer(name: str, rounds: int) -> list[float]:
    """The milliseconds of each call of one peer, which runs by itself."""
    cache = Path(os.environ.get("CMCONF_CACHE", ".cmconf-cache"), "bench-peers").resolve()
    if not (cache / "node_modules").exists():
        cache.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(HERE / "peers" / file, cache)
        npm = shutil.which("npm") or sys.exit("the peers need npm on PATH")
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit"], cwd=cache, check=True)
    node = next(cache.glob("node_modules/node-*/bin/node"), None)
    if node is None:
        sys.exit("there is no Node 22 package for this machine")
    # isolated-vm asks for the option, and does not always let its process end by itself.
    options = ["--no-node-snapshot", str(HERE / "peers" / "peers.mjs"), str(cache)]
    with subprocess.Popen(
        [node, *options, name, str(rounds)], stdout=subprocess.PIPE, start_new_session=True
    ) as running:
        assert running.stdout is not None
        alarm = threading.Timer(PEER_SECONDS, running.kill)
        alarm.start()
        line = running.stdout.readline()
        alarm.cancel()
        running.kill()
    if not line:
        sys.exit(f"{name} gave no times within {PEER_SECONDS} s")
    times: list[float] = json.loads(line)
    return times
