"""What a worker gives up before it reads a byte. The worker runs this, nobody else.

Kernel layers (Landlock, seccomp, namespaces, the parent-death signal) belong at the end of
`harden`; none is active yet.
"""

from __future__ import annotations

import posix
import resource
from _signal import ITIMER_REAL, setitimer  # type: ignore[import-not-found]
from resource import RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NOFILE

# Address space for the interpreter and the engine, beside the heap.
_BESIDE_HEAP = 64 * 1024 * 1024
# The parent kills at the deadline. These are for a worker that has lost its parent while the
# engine is in a builtin that never looks at its clock.
_BACKSTOP_FACTOR, _BACKSTOP_SECONDS = 2, 1
_MOST_DESCRIPTORS = 65536
_M_ARENA_MAX = -8


def harden(largest_heap: int) -> None:
    """Own session, no descriptors but 0 to 2, rlimits for a heap of `largest_heap` bytes."""
    _one_arena()
    highest = resource.getrlimit(RLIMIT_NOFILE)[0]
    posix.closerange(3, highest if 0 < highest < _MOST_DESCRIPTORS else _MOST_DESCRIPTORS)
    try:  # noqa: SIM105  contextlib takes longer to import than all of this
        posix.setsid()
    except PermissionError:
        pass  # It leads a session already: the parent has seen to it.
    _lower(RLIMIT_FSIZE, 0)
    _lower(RLIMIT_CORE, 0)
    limit_memory(largest_heap)


def no_more_files() -> None:
    """Nothing can be opened from here on."""
    _lower(RLIMIT_NOFILE, 3)


def limit_memory(heap: int) -> None:
    """Bound the address space for an engine heap of `heap` bytes."""
    _lower(RLIMIT_AS, heap + _BESIDE_HEAP)


def backstop(seconds: float) -> None:
    """End this process by a signal at its default action well after `seconds`."""
    late = seconds * _BACKSTOP_FACTOR + _BACKSTOP_SECONDS
    setitimer(ITIMER_REAL, late)
    _lower(RLIMIT_CPU, int(late) + 1)


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if 0 <= hard < value:
        value = hard
    try:  # noqa: SIM105  as above
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError):
        pass  # macOS has limits that it cannot set; the others still hold.


def _one_arena() -> None:
    # A second thread would reserve 64 MiB of address space for an arena of its own.
    try:
        import _ctypes  # noqa: PLC0415

        program = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
        mallopt = _ctypes.dlsym(program, "mallopt")
        _ctypes.call_function(mallopt, (_M_ARENA_MAX, 1))
    except (ImportError, OSError):
        pass  # Not glibc: there are no arenas.
