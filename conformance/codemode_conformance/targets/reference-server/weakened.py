# SPDX-License-Identifier: Apache-2.0
"""Runs a command where the kernel has none of the layers that isolate a worker. Linux only.

A filter of system calls answers as a kernel without Landlock, seccomp and namespaces would; it is
kept by all processes that come from the command.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
LOAD, EQUAL, MASKED, GIVE = 0x20, 0x15, 0x45, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
NEW_NAMESPACE = 0x7E020000  # of clone and unshare: the flags CLONE_NEW*
# Numbers of seccomp, prctl, unshare, clone, and the first of the three of Landlock.
NUMBERS = {"x86_64": (317, 157, 272, 56, 444), "aarch64": (277, 167, 97, 220, 444)}


def program() -> bytes:
    """Give the filter, instruction by instruction."""
    seccomp, prctl, unshare, clone, landlock = NUMBERS[platform.machine()]
    words = [(LOAD, 0, 0, 0)]
    for number in (seccomp, unshare, landlock, landlock + 1, landlock + 2):
        words += [(EQUAL, 0, 1, number), (GIVE, 0, 0, ERROR | errno.ENOSYS)]
    words += [(EQUAL, 0, 4, prctl), (LOAD, 0, 0, 16), (EQUAL, 0, 1, PR_SET_SECCOMP)]
    words += [(GIVE, 0, 0, ERROR | errno.EINVAL), (GIVE, 0, 0, ALLOW)]
    words += [(EQUAL, 0, 3, clone), (LOAD, 0, 0, 16), (MASKED, 0, 1, NEW_NAMESPACE)]
    words += [(GIVE, 0, 0, ERROR | errno.EPERM), (GIVE, 0, 0, ALLOW)]
    return b"".join(struct.pack("HBBI", *word) for word in words)


code = program()
buffer = ctypes.create_string_buffer(code)
header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
library = ctypes.CDLL(None, use_errno=True)
if library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or library.prctl(
    PR_SET_SECCOMP, FILTER, ctypes.create_string_buffer(header), 0, 0
):
    sys.exit(f"no filter of system calls: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606
