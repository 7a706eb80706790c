"""The system calls of a worker that has started, as a BPF program. The parent builds it.

Whatever is not on the list fails with EPERM, so that a C library that asks for something new
degrades instead of dying. Another instruction set's numbers mean other calls: they kill.
"""

from __future__ import annotations

import errno
import struct
import sys
from dataclasses import dataclass

# In the order of `_NUMBERS`. What the interpreter, the engine and the C library use once every file
# is open and every thread runs. restart_syscall: a stopped or frozen worker goes on with it.
# getrusage: the pages that a full heap has touched. gettimeofday: where the clock is no memory.
_PLAIN = (
    *("read", "write", "close", "munmap", "mremap", "brk", "madvise", "futex"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "setitimer"),
    *("clock_gettime", "gettimeofday", "getrusage", "restart_syscall", "exit", "exit_group"),
)
# Memory, but none that can be executed.
_MEMORY = ("mmap", "mprotect")
# A worker's own address space is lowered once its limit is known; no other limit, no other process.
_OWN_LIMIT = "prlimit64"
_RLIMIT_AS = 9
_PROT_EXEC = 4

_NAMES = (*_PLAIN, *_MEMORY, _OWN_LIMIT, "seccomp")


@dataclass(frozen=True, slots=True)
class _Machine:
    """The audit number of an instruction set and its call numbers, in the order of `_NAMES`."""

    audit: int
    numbers: tuple[int, ...]


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        (
            *(0, 1, 3, 11, 25, 12, 28, 202),
            *(13, 14, 15, 131, 38),
            *(228, 96, 98, 219, 60, 231),
            *(9, 10, 302, 317),
        ),
    ),
    "aarch64": _Machine(
        0xC00000B7,
        (
            *(63, 64, 57, 215, 216, 214, 233, 98),
            *(134, 135, 139, 132, 103),
            *(113, 169, 165, 128, 93, 94),
            *(222, 226, 261, 277),
        ),
    ),
}

# Classic BPF over `struct seccomp_data`: number, instruction set, address, six arguments.
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_CALL, _SET, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.EPERM


def allowed() -> tuple[str, ...]:
    """The names of the calls that may succeed."""
    return (*_PLAIN, *_MEMORY, _OWN_LIMIT)


def filter_program(machine: str) -> tuple[int, bytes] | None:
    """The number of `seccomp` and the filter for `machine`; None where there is no list for it."""
    found = _MACHINES.get(machine)
    if found is None or sys.maxsize < 2**32:
        return None
    numbers = dict(zip(_NAMES, found.numbers, strict=True))
    lines = [_line(_LOAD, _SET), _line(_EQUAL, found.audit, 1, 0), _line(_RETURN, _KILL)]
    lines.append(_line(_LOAD, _CALL))
    for name in _PLAIN:
        lines += [_line(_EQUAL, numbers[name], 0, 1), _line(_RETURN, _ALLOW)]
    for name in _MEMORY:
        lines += [
            _line(_EQUAL, numbers[name], 0, 4),
            _line(_LOAD, _argument(2)),
            _line(_ANY_BIT, _PROT_EXEC, 0, 1),
            _line(_RETURN, _REFUSE),
            _line(_RETURN, _ALLOW),
        ]
    lines += [
        _line(_EQUAL, numbers[_OWN_LIMIT], 0, 5),
        _line(_LOAD, _argument(0)),
        _line(_EQUAL, 0, 0, 3),
        _line(_LOAD, _argument(1)),
        _line(_EQUAL, _RLIMIT_AS, 0, 1),
        _line(_RETURN, _ALLOW),
        _line(_RETURN, _REFUSE),
    ]
    return numbers["seccomp"], b"".join(lines)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _argument(index: int) -> int:
    # The low half, on both machines: these arguments are ints.
    return _ARGUMENTS + 8 * index
