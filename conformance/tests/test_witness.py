"""The workers of a target are killed where they can be told from other processes, and no others."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from codemode_conformance.channel import UnsupportedError
from codemode_conformance.processtable import command_line, family
from codemode_conformance.watch import visible
from codemode_conformance.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_conformance.adapter import Adapter

needs_proc = pytest.mark.skipif(not visible(), reason="processes cannot be looked at here")
PARENT = """
import subprocess, sys
for name in ("worker-one", "worker-two", "helper"):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", name])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A process with two workers and a helper, none of which it ever reaps."""
    started = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    yield started
    below = [entry for entry in family([started.pid]) if entry.pid != started.pid]
    started.kill()
    for entry in below:
        subprocess.run(["kill", "-9", str(entry.pid)], check=False, stderr=subprocess.DEVNULL)
    started.communicate()


def witness(pid: int, pattern: str | None, rig: Any = None) -> Witness:
    """One that looks at the processes below this one."""
    adapter = SimpleNamespace(worker_pattern=pattern, process=SimpleNamespace(pid=pid))
    return Witness(cast("Adapter", adapter), rig)


def alive(pid: int) -> set[str]:
    """The last words of what runs below a process."""
    return {
        command_line(entry.pid).split()[-1]
        for entry in family([pid])
        if entry.pid != pid and entry.alive
    }


@needs_proc
def test_workers_are_killed_and_gone(parent: subprocess.Popen[bytes]) -> None:
    """When it returns none of them runs; the helper does, and so does the parent."""
    until = time.monotonic() + 20
    while alive(parent.pid) != {"worker-one", "worker-two", "helper"}:
        assert time.monotonic() < until
        time.sleep(0.05)
    witness(parent.pid, "worker-(one|two)$").kill_workers()
    assert alive(parent.pid) == {"helper"}
    assert parent.poll() is None


@needs_proc
@pytest.mark.parametrize(
    ("pattern", "rig", "words"),
    [
        (None, None, "cannot be told from other processes"),
        ("worker-", object(), "cannot be told from other processes"),
        ("worker-three", None, "it keeps no worker ready"),
    ],
)
def test_what_cannot_be_killed_is_not_asked(
    pattern: str | None, rig: Any, words: str, parent: subprocess.Popen[bytes]
) -> None:
    """No pattern, our own worker, or none there: the case is unsupported, nothing is killed."""
    with pytest.raises(UnsupportedError, match=words):
        witness(parent.pid, pattern, rig).kill_workers()
    assert "helper" in alive(parent.pid)
