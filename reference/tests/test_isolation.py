"""What a worker process has, as seen from outside while it runs."""

import asyncio
import os
import resource
from pathlib import Path

import pytest
from codemode_reference import Operation, Parent, Success
from codemode_reference.protection import LAYERS

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")


def only_folder(path):
    """The one directory in `path`, and its mode."""
    (place,) = [entry for entry in path.iterdir() if entry.is_dir()]
    return place, place.stat().st_mode & 0o777


@pytest.fixture
def seen(limits, monkeypatch):
    """What the kernel shows of a worker that waits in a host call."""
    monkeypatch.setenv("CANARY", "canary")
    found = {}

    async def look(arguments):
        pid = parents[0].last_stats.pid
        folder = Path("/proc", str(pid))
        found["pid"] = pid
        found["words"] = (folder / "cmdline").read_bytes().split(b"\0")[-3:]
        found["status"] = dict(
            line.split(":\t", 1) for line in (folder / "status").read_text().splitlines()
        )
        found["oom_score"] = int((folder / "oom_score_adj").read_text())
        found["place"], found["mode"] = only_folder(parents[0]._scratch.path)
        # A hardened worker's own files in /proc belong to root.
        found["owner"] = (folder / "environ").stat().st_uid
        if os.geteuid() == 0:
            found["environ"] = (folder / "environ").read_bytes()
            found["fds"] = sorted(entry.name for entry in (folder / "fd").iterdir())
            found["cwd"] = (folder / "cwd").readlink()
        found["session"] = os.getsid(pid)
        found["limits"] = {
            name: resource.prlimit(pid, getattr(resource, f"RLIMIT_{name}"))
            for name in ("AS", "FSIZE", "CORE", "NOFILE", "NPROC", "CPU")
        }

    parents = []

    async def run():
        parents.append(Parent(limits, [Operation("look", look)]))
        assert await parents[0].invoke("await codemode.look(); return 1") == Success(True, 1)
        parents[0]._workers._janitor.submit(int).result()
        found["gone"] = not found["place"].exists()
        first = found["pid"]
        await parents[0].invoke("await codemode.look(); return 1")
        found["active"] = parents[0].protection.active
        found["fresh"] = found["pid"] != first
        await parents[0].close()

    asyncio.run(run())
    return found


def test_a_worker_has_nothing_of_its_parent(seen, limits):
    """A private directory, a session and limits of its own, and words that tell nothing."""
    assert (seen["mode"], seen["gone"], seen["fresh"]) == (0o700, True, True)
    assert seen["session"] == seen["pid"]
    assert seen["limits"]["AS"] == (limits["memory_bytes"] + 2**26,) * 2
    assert seen["limits"]["FSIZE"] == seen["limits"]["CORE"] == (0, 0)
    assert seen["limits"]["NOFILE"] == (3, 3)
    assert seen["limits"]["NPROC"] == (0, 0)
    assert seen["limits"]["CPU"][0] == 22
    number, layers, end = seen["words"]
    assert (int(number), end) == (os.getpid(), b"")
    assert set(layers.decode().split(",")) <= set(LAYERS)


def test_the_kernel_says_so_too(seen):
    """What the report promised, seen from outside."""
    status = seen["status"]
    active = seen["active"]
    assert status["NoNewPrivs"] == "1"
    assert (status["Seccomp"] == "2") == ("seccomp" in active)
    assert {status[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert status["Threads"] == "2"
    assert seen["oom_score"] == 1000
    assert seen["owner"] == 0


def test_environment_and_descriptors_are_empty(seen):
    """Read as root, for whom nothing is hidden."""
    if "environ" not in seen:
        pytest.skip("a hardened worker hides them from its own user: run as root to look")
    assert seen["environ"] == b""
    assert seen["fds"] == ["0", "1", "2"]
    assert seen["cwd"] == seen["place"]
