"""Landlock for the worker: it may reach no file, no TCP port and no process but its own."""

from __future__ import annotations

import posix

from codemode_reference.native import call

# The same numbers on every machine.
_CREATE, _RESTRICT = 444, 446
_ASK_VERSION = 1
# What each version of the interface adds: the highest right over files, over TCP, the scopes.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
_TCP_SINCE, _TCP_RIGHTS = 4, 0b11
_SCOPE_SINCE, _SCOPES = 6, 0b11


def restrict() -> str:
    """Deny this thread, and those that it starts, all that the kernel's version can deny.

    Gives the version and what it covers. Raises OSError where there is no Landlock.
    """
    version = call("syscall", _CREATE, 0, 0, _ASK_VERSION)
    rights = max(bits for since, bits in _FILE_RIGHTS.items() if since <= version)
    covered = ["files"]
    attributes = ((1 << rights) - 1).to_bytes(8, "little")
    if version >= _TCP_SINCE:
        attributes += _TCP_RIGHTS.to_bytes(8, "little")
        covered.append("TCP")
    if version >= _SCOPE_SINCE:
        attributes += _SCOPES.to_bytes(8, "little")
        covered.append("signals and abstract sockets")
    # No rule is added: everything that is handled is denied.
    rules = call("syscall", _CREATE, attributes, len(attributes), 0)
    try:
        call("syscall", _RESTRICT, rules, 0)
    finally:
        posix.close(rules)
    return f"version {version}: {', '.join(covered)}"
