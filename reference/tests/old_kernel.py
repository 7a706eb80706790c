"""Runs a command as on a kernel without a system call: `old_kernel.py NUMBER COMMAND...`.

A filter answers ENOSYS for it, which is what such a kernel does.
"""

import ctypes
import errno
import os
import struct
import sys

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


def main():
    """Put the filter on and become the command."""
    lines = [
        (LOAD, 0, 0, 0),
        (EQUAL, 0, 1, int(sys.argv[1])),
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    header = struct.pack("@HxxxxxxQ", len(lines), ctypes.addressof(program))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for call in ((NO_NEW_PRIVS, 1, 0, 0, 0), (SET_SECCOMP, FILTER, header, 0, 0)):
        if prctl(*call):
            sys.exit(os.strerror(ctypes.get_errno()))
    os.execv(sys.argv[2], sys.argv[2:])


main()
