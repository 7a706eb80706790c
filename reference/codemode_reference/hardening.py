"""What a worker gives up before it reads a byte, layer by layer. The worker runs this, nobody else.

A layer that cannot be had leaves the others in place and says why: it is the parent that requires.
"""

from __future__ import annotations

import posix
import resource
from _signal import ITIMER_REAL, SIGKILL, setitimer  # type: ignore[import-not-found]
from resource import RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC

from codemode_reference import landlock
from codemode_reference.native import Buffer, call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

ACTIVE, UNAVAILABLE, OFF = "active", "unavailable", "off"

# Address space for the interpreter and the engine, beside the heap.
_BESIDE_HEAP = 64 * 1024 * 1024
# The parent kills at the deadline. These are for a worker that has lost its parent while the
# engine is in a builtin that never looks at its clock.
_BACKSTOP_FACTOR, _BACKSTOP_SECONDS = 2, 1
_MOST_DESCRIPTORS = 65536
_M_ARENA_MAX = -8
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAPABILITIES_VERSION = 0x20080522
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_FILTER_MODE, _ALL_THREADS = 1, 1
_INSTRUCTION_BYTES = 8
_SYNCHRONIZE = "a thread could not be synchronized"


class _NotNeededError(Exception):
    """Other layers cover what this one would."""


class Hardening:
    """The layers of one worker: `apply` them, then look at `report`, {layer: (state, why)}.

    `data` has the largest heap and deadline that may come, whether this is Linux, and the number of
    `seccomp` with its filter, or None. `parent` must be the parent, 0: whoever it is.
    """

    def __init__(self, data: Any, parent: int, skipped: Sequence[str] = ()) -> None:
        self._data = data
        self._parent = parent
        self._skipped = skipped
        self.report: dict[str, tuple[str, str]] = {}

    def apply(self, load: Callable[[], Any], start_threads: Callable[[], None]) -> Any:
        """Put on every layer, in the one order that works; gives what `load` gave.

        `load` opens the last files and starts no thread, `start_threads` starts the last ones.
        """
        _one_arena()
        self._layer("descriptors", _close_descriptors)
        self._layer("session", _own_session)
        self._layer("rlimits", self._lower_limits)
        # Before `dumpable`, after which this file of /proc belongs to root.
        self._kernel_layer("oom_score", _be_killed_first)
        loaded = load()
        self._kernel_layer("no_new_privs", _gain_nothing)
        # These change credentials, at which the kernel forgets the death signal.
        self._kernel_layer("landlock", landlock.restrict)
        self._kernel_layer("namespaces", self._own_namespaces)
        self._kernel_layer("capabilities", _drop_capabilities)
        self._kernel_layer("parent_death", self._die_with_parent)
        self._kernel_layer("dumpable", _hide_from_proc)
        # Landlock covers the threads that start later; after seccomp none can start.
        start_threads()
        self._layer("last_rlimits", _open_and_start_nothing)
        self._kernel_layer("seccomp", self._filter_calls)
        return loaded

    def active(self, name: str) -> bool:
        """Whether the layer is on."""
        return self.report.get(name, (OFF, ""))[0] == ACTIVE

    def _kernel_layer(self, name: str, put_on: Callable[[], str | None]) -> None:
        if self._data.linux:
            self._layer(name, put_on)
        else:
            self.report[name] = UNAVAILABLE, "only on Linux"

    def _layer(self, name: str, put_on: Callable[[], str | None]) -> None:
        if name in self._skipped:
            self.report[name] = OFF, "left out"
            return
        try:
            self.report[name] = ACTIVE, put_on() or ""
        except _NotNeededError as reason:
            self.report[name] = OFF, str(reason)
        except OSError as error:
            self.report[name] = UNAVAILABLE, posix.strerror(error.errno or 0)
        except (AttributeError, ValueError) as error:
            self.report[name] = UNAVAILABLE, str(error)

    def _lower_limits(self) -> None:
        seconds = _late(self._data.longest_seconds)
        memory = self._data.largest_heap + _BESIDE_HEAP
        _lower((RLIMIT_FSIZE, 0), (RLIMIT_CORE, 0), (RLIMIT_CPU, int(seconds) + 1))
        _lower((RLIMIT_AS, memory))

    def _own_namespaces(self) -> None:
        if self.active("landlock") and self._data.seccomp is not None:
            raise _NotNeededError("0.7 ms for what Landlock and seccomp deny as well")
        call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET)

    def _die_with_parent(self) -> None:
        call("prctl", _PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        # It may have died before.
        if self._parent and posix.getppid() != self._parent:
            posix._exit(0)  # noqa: SLF001  the only way out without the interpreter's own end

    def _filter_calls(self) -> str:
        if self._data.seccomp is None:
            raise ValueError("no list of system calls for this machine")
        number, program = self._data.seccomp
        instructions = Buffer(program)
        length = len(program) // _INSTRUCTION_BYTES
        header = length.to_bytes(8, "little") + instructions.address.to_bytes(8, "little")
        if call("syscall", number, _FILTER_MODE, _ALL_THREADS, header):
            raise ValueError(_SYNCHRONIZE)
        return f"{length} instructions"


def limit_memory(heap: int) -> None:
    """Bound the address space for an engine heap of `heap` bytes."""
    try:  # noqa: SIM105  contextlib takes longer to import than all of this
        _lower((RLIMIT_AS, heap + _BESIDE_HEAP))
    except (OSError, ValueError):
        pass  # macOS cannot; the report says so of `rlimits`.


def backstop(seconds: float) -> None:
    """End this process by a signal at its default action well after `seconds`; 0: never."""
    setitimer(ITIMER_REAL, _late(seconds) if seconds else 0)


def _late(seconds: float) -> float:
    return seconds * _BACKSTOP_FACTOR + _BACKSTOP_SECONDS


def _lower(*limits: tuple[int, int]) -> None:
    """Lower each limit, never raise one; the first error comes after all were tried."""
    failed: Exception | None = None
    for kind, most in limits:
        hard = resource.getrlimit(kind)[1]
        value = hard if 0 <= hard < most else most
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError) as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _close_descriptors() -> None:
    highest = resource.getrlimit(RLIMIT_NOFILE)[0]
    posix.closerange(3, highest if 0 < highest < _MOST_DESCRIPTORS else _MOST_DESCRIPTORS)


def _own_session() -> None:
    # It leads one already if the parent has seen to it.
    if posix.getsid(0) != posix.getpid():
        posix.setsid()


def _be_killed_first() -> None:
    file = posix.open("/proc/self/oom_score_adj", posix.O_WRONLY)
    try:
        posix.write(file, b"1000")
    finally:
        posix.close(file)


def _gain_nothing() -> None:
    call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _drop_capabilities() -> None:
    # Root without them is a user like any other, and a namespace of its own would give it all.
    header = _CAPABILITIES_VERSION.to_bytes(4, "little") + bytes(4)
    call("capset", header, bytes(24))


def _hide_from_proc() -> None:
    call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)


def _open_and_start_nothing() -> None:
    _lower((RLIMIT_NOFILE, 3), (RLIMIT_NPROC, 0))


def _one_arena() -> None:
    # A second thread would reserve 64 MiB of address space for an arena of its own.
    try:  # noqa: SIM105  as above
        call("mallopt", _M_ARENA_MAX, 1)
    except (AttributeError, OSError):
        pass  # Not glibc: there are no arenas.
