"""A worker process: started from a long-lived thread, watched and killed by its pidfd."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import resource
    from collections.abc import Sequence

# Of the kernel: the clock of a whole process that counts what the scheduler gave it.
_PROCESS_CLOCK = 2


@dataclass(frozen=True, slots=True)
class Worker:
    """A running worker and the parent's ends of its pipes, not blocking; no `pidfd` on macOS."""

    pid: int
    pidfd: int | None
    stdin: int
    stdout: int
    stderr: int

    def kill(self) -> None:
        """Kill the worker and its process group. It must not have been reaped."""
        try:
            if self.pidfd is None:
                os.kill(self.pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            # A zombie still holds the number of its group, so this cannot hit another one.
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def wait(self) -> None:
        """Block until the worker has exited; it stays to be reaped."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    def status(self) -> int | None:
        """The exit status of a worker that has exited (negative: the signal), else None.

        0 if somebody else has reaped it: a process may ignore SIGCHLD or wait for any child.
        """
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            return 0
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def memory_peak(self) -> int:
        """The most bytes of memory that it has had resident; 0 where that cannot be told."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            status = Path(f"/proc/{self.pid}/status").read_bytes()
            return int(status.split(b"VmHWM:", 1)[1].split()[0]) * 1024
        return 0

    def processor_ms(self) -> float | None:
        """The processor time that it has used, all threads together; None where that is not told.

        Only Linux tells it of another process.
        """
        if sys.platform != "linux":
            return None
        try:
            # The clock of a process has its number in its own, as `clock_getcpuclockid` gives it.
            return time.clock_gettime(~self.pid << 3 | _PROCESS_CLOCK) * 1000
        except OSError:
            return None

    def hang_up(self) -> None:
        """Close its stdin; what is written from now on fails. Nothing may watch `stdin` any more.

        The number stays in use until `close`, so that it never is that of another file.
        """
        os.dup2(self.stderr, self.stdin, inheritable=False)

    def reap(self) -> resource.struct_rusage | None:
        """Free the number of a worker that has exited: what it used, if nobody else has done so."""
        with contextlib.suppress(ChildProcessError):
            return os.wait4(self.pid, 0)[2]
        return None

    def close(self) -> None:
        """Close the parent's descriptors."""
        for descriptor in (self.stdin, self.stdout, self.stderr, self.pidfd):
            if descriptor is not None:
                os.close(descriptor)


class _Unwatched(subprocess.Popen[bytes]):
    """A Popen that leaves the child to us: no wait at the end, no list of children."""

    def __del__(self, *_: Any) -> None:
        pass


def start(command: Sequence[str], folder: Path) -> Worker:
    """Start `command` in `folder` with an empty environment and a session of its own.

    Blocks until the exec has succeeded; raises OSError if it fails, with every descriptor closed.
    """
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for reads in (False, True, True):
            ends = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
            ours.append(ends[0] if reads else ends[1])
            theirs.append(ends[1] if reads else ends[0])
            os.set_blocking(ours[-1], False)
        child = _Unwatched(
            command,
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2],
            cwd=folder,
            env={},
            start_new_session=True,
            close_fds=True,
        )
        try:
            pidfd = os.pidfd_open(child.pid) if hasattr(os, "pidfd_open") else None
        except BaseException:
            child.kill()
            child.wait()
            raise
    except BaseException:
        for descriptor in ours:
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return Worker(child.pid, pidfd, *ours)
