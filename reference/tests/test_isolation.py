"""What a worker process has, as seen from outside while it runs."""

import asyncio
import os
import resource
from pathlib import Path

import pytest
from codemode_reference import Operation, Parent, Success

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")


@pytest.fixture
def seen(limits, monkeypatch):
    """What /proc shows of a worker that waits in a host call."""
    monkeypatch.setenv("CANARY", "canary")
    found = {}

    async def look(arguments):
        pid = parents[0].last_stats.pid
        folder = Path("/proc", str(pid))
        found["pid"] = pid
        found["environ"] = (folder / "environ").read_bytes()
        found["fds"] = sorted(entry.name for entry in (folder / "fd").iterdir())
        found["cwd"] = (folder / "cwd").readlink()
        found["mode"] = found["cwd"].stat().st_mode & 0o777
        found["session"] = os.getsid(pid)
        found["limits"] = {
            name: resource.prlimit(pid, getattr(resource, f"RLIMIT_{name}"))
            for name in ("AS", "FSIZE", "CORE", "NOFILE", "CPU")
        }

    parents = []

    async def run():
        parents.append(Parent(limits, [Operation("look", look)]))
        assert await parents[0].invoke("await codemode.look(); return 1") == Success(True, 1)
        found["gone"] = not found["cwd"].exists()
        first = found["pid"]
        await parents[0].invoke("await codemode.look(); return 1")
        found["fresh"] = found["pid"] != first
        await parents[0].close()

    asyncio.run(run())
    return found


def test_a_worker_has_nothing_of_its_parent(seen, limits):
    """No environment, three descriptors, a private directory, a session and limits of its own."""
    assert seen["environ"] == b""
    assert seen["fds"] == ["0", "1", "2"]
    assert (seen["mode"], seen["gone"], seen["fresh"]) == (0o700, True, True)
    assert seen["session"] == seen["pid"]
    assert seen["limits"]["AS"] == (limits["memory_bytes"] + 2**26,) * 2
    assert seen["limits"]["FSIZE"] == seen["limits"]["CORE"] == (0, 0)
    assert seen["limits"]["NOFILE"] == (3, 3)
    assert seen["limits"]["CPU"][0] == 22
