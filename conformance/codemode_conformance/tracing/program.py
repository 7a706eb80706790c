"""The tracer: follows fork, exec and exit of what it is told to, and tells them. Linux.

It runs apart from the harness, since a process has one tracer, and it alone may wait for what it
traces. It looks and never touches: signals are passed on as they came, stopped processes stay
stopped, and a process is let go before it ends, so that its own parent reaps it as ever. When this
program ends, by whatever cause, the kernel lets all of them run on untraced.

Commands are lines on standard input, as JSON: {"seize": PID} and {"sync": N}. The end of the input
ends the program. What it tells are lines of JSON on standard output. Standard library only: it is
started by its path, alone.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import stat
import sys

CONT, DETACH = 7, 17
GETEVENTMSG, SEIZE, LISTEN = 0x4201, 0x4206, 0x4208
FORK, VFORK, CLONE, EXEC, EXIT, STOP = 1, 2, 3, 4, 6, 128
OPTIONS = sum(1 << event for event in (FORK, VFORK, CLONE, EXEC, EXIT))
STOPPING = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
ANY_THREAD = 0x40000000  # __WALL
MOST_BYTES = 1 << 16  # of a command line or an environment
MOST_NAMES = 1_000  # of descriptors and of variables
MOST_LOOKS = 100  # at the threads of a process, until no new one is found

_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request: int, tid: int, data: int = 0) -> int:
    """The call; minus the error number when it fails."""
    ctypes.set_errno(0)
    result = int(_ptrace(request, tid, None, data))
    return result if result >= 0 else -(ctypes.get_errno() or errno.EIO)


def message_of(tid: int) -> int:
    """What an event says: the new process, or the status of an exit."""
    number = ctypes.c_ulong()
    _ptrace(GETEVENTMSG, tid, None, ctypes.addressof(number))
    return number.value


def tell(**words: object) -> None:
    """One line to the harness."""
    data = json.dumps(words).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


def read(path: str) -> bytes | None:
    """As much of a file as is looked at; None where it may not be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, MOST_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def fields(pid: int) -> dict[str, str]:
    """What /proc/PID/status says."""
    lines = (read(f"/proc/{pid}/status") or b"").decode(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def started(pid: int) -> int:
    """When it was started, in ticks since the machine was; pid and this name it for good."""
    text = (read(f"/proc/{pid}/stat") or b"").decode(errors="replace")
    rest = text.rpartition(")")[2].split()
    return int(rest[19]) if len(rest) > 19 else 0


def numbers_in(folder: str) -> list[int]:
    """The entries of a folder that are numbers."""
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def directory(pid: int) -> str | None:
    """Its working directory."""
    try:
        return os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")  # noqa: PTH115
    except OSError:
        return None


def opened(pid: int) -> list[tuple[int, str, int]] | None:
    """Its descriptors, each with the mode of its link; None where they may not be read."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")[:MOST_NAMES]  # noqa: PTH208
    except OSError:
        return None
    found = []
    for name in names:
        path = f"/proc/{pid}/fd/{name}"
        try:
            found.append((int(name), os.readlink(path), os.lstat(path).st_mode))  # noqa: PTH115
        except OSError:
            continue
    return found


def weakened(pid: int) -> bool:
    """Whether its program would have had privileges of its own, which a traced one does not get."""
    if os.geteuid() == 0:
        return False
    path = f"/proc/{pid}/exe"
    try:
        if os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):  # noqa: PTH116
            return True
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def look(pid: int, *, whole: bool) -> dict[str, object]:
    """What a process has just been given. Names of variables only: their values may be secrets."""
    words = read(f"/proc/{pid}/cmdline")
    data = read(f"/proc/{pid}/environ") if whole else None
    names = None
    if data is not None:
        entries = [entry for entry in data.split(b"\0") if entry][:MOST_NAMES]
        names = [os.fsdecode(entry.partition(b"=")[0])[:200] for entry in entries]
    return {
        "pid": pid,
        "started": started(pid),
        "parent": int(fields(pid).get("PPid") or 0),
        "words": [os.fsdecode(word) for word in (words or b"").split(b"\0") if word],
        "variables": names,
        "directory": directory(pid),
        "opened": opened(pid) if whole else None,
    }


class Tracer:
    """The threads that are followed: each by its number, with that of its process."""

    def __init__(self) -> None:
        self.threads: dict[int, int] = {}
        # Those that were heard of by themselves, before the fork that made them.
        self._early: set[int] = set()

    def seize(self, root: int) -> None:
        """Follow a process with all that there is below it, from now on."""
        refused = self._seize_process(root)
        if refused:
            tell(seized=root, refused=os.strerror(refused), error=refused, **self._why(root))
            return
        tell(event="found", **look(root, whole=False))
        waiting = [root]
        while waiting:
            for child in self._children(waiting.pop()):
                if child in self.threads:
                    continue
                if refused := self._seize_process(child):
                    tell(event="missed", pid=child, refused=os.strerror(refused))
                    continue
                tell(event="found", **look(child, whole=False))
                waiting.append(child)
        tell(seized=root)

    def wait(self) -> None:
        """Deal with all that has happened."""
        while True:
            try:
                tid, status = os.waitpid(-1, os.WNOHANG | ANY_THREAD)
            except ChildProcessError:
                return
            if tid == 0:
                return
            if os.WIFSTOPPED(status):
                self._stopped(tid, status >> 16, os.WSTOPSIG(status))
            elif self.threads.pop(tid, None) == tid:
                # Gone without the event: what it was cannot be read any more.
                tell(event="exit", pid=tid, status=status, peak=0, directory=None, late=True)

    def _stopped(self, tid: int, event: int, number: int) -> None:
        if tid not in self.threads:
            # Events of several come in any order; its parent stands still until its own is taken.
            self._early.add(tid)
            self._new(tid, int(fields(tid).get("PPid") or 0))
        if event in (FORK, VFORK, CLONE):
            self._born(tid, message_of(tid))
        elif event == EXEC:
            self.threads.pop(message_of(tid), None)
            self.threads[tid] = tid
            tell(event="exec", weakened=weakened(tid), **look(tid, whole=True))
        elif event == EXIT:
            self._leave(tid)
            return
        elif event == STOP:
            if number in STOPPING:
                ptrace(LISTEN, tid)
                return
        else:
            ptrace(CONT, tid, number)
            return
        ptrace(CONT, tid)

    def _born(self, parent: int, child: int) -> None:
        if child in self._early:
            self._early.discard(child)  # it may have ended by now
        else:
            self._new(child, self.threads.get(parent, parent))

    def _new(self, tid: int, parent: int) -> None:
        process = int(fields(tid).get("Tgid") or tid)
        self.threads[tid] = process
        if process == tid:
            tell(event="fork", pid=tid, started=started(tid), parent=parent)

    def _leave(self, tid: int) -> None:
        process = self.threads.pop(tid, tid)
        if int(fields(tid).get("Tgid") or process) == tid:
            status = message_of(tid)
            peak = fields(tid).get("VmHWM", "0 kB").split()[0]
            tell(
                event="exit",
                pid=tid,
                status=status,
                peak=int(peak) * 1024,
                directory=directory(tid),
                late=False,
            )
        # Let go before its end: its parent is told, and reaps, as if nobody had looked.
        ptrace(DETACH, tid)

    def _seize_process(self, pid: int) -> int:
        """Follow all its threads; the error number of its first one, 0 when it is followed."""
        for _ in range(MOST_LOOKS):
            new = [tid for tid in numbers_in(f"/proc/{pid}/task") if tid not in self.threads]
            if not new:
                break
            for tid in new:
                result = ptrace(SEIZE, tid, OPTIONS)
                if result == 0:
                    self.threads[tid] = pid
                elif tid == pid:
                    return -result
        return 0 if pid in self.threads else errno.ESRCH

    @staticmethod
    def _children(pid: int) -> list[int]:
        found: list[int] = []
        for tid in numbers_in(f"/proc/{pid}/task"):
            found += map(int, (read(f"/proc/{pid}/task/{tid}/children") or b"").split())
        return found

    @staticmethod
    def _why(pid: int) -> dict[str, object]:
        """What may have refused: another tracer, a filter over this program, Yama."""
        yama = read("/proc/sys/kernel/yama/ptrace_scope")
        return {
            "tracer": int(fields(pid).get("TracerPid") or 0),
            "filtered": fields(os.getpid()).get("Seccomp") == "2",
            "yama": int(yama) if yama is not None else None,
        }


def main() -> None:
    """Take commands and events until the input ends."""
    waking, woken = os.pipe()
    for descriptor in (waking, woken, 0):
        os.set_blocking(descriptor, False)
    fcntl.fcntl(woken, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    tracer, commands = Tracer(), b""
    tell(ready=os.getpid())
    while True:
        ready, _, _ = select.select([0, waking], [], [])
        if waking in ready:
            os.read(waking, MOST_BYTES)
        tracer.wait()
        if 0 not in ready:
            continue
        data = os.read(0, MOST_BYTES)
        if not data:
            return
        *lines, commands = (commands + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if "seize" in command:
                tracer.seize(command["seize"])
            tracer.wait()
            if "sync" in command:
                tell(synced=command["sync"])


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        # The harness is gone, and with it whoever would be told.
        sys.exit(0)
