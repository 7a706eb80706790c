"""What the worker of each profile is made of. `bundle` reads this; nothing here runs.

A worker is common parts and those of its style: how a program reaches the host, and how it is run.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from codemode_spec.tables import DEFAULT_PROFILE


class Build(NamedTuple):
    """The parts of one worker: modules of this package, the last with `main`, and of `js/`.

    `preparing` parts prepare the realm before there is a program, `running` ones need the `execute`
    frame. Half of what compiles an engine's script is compiled late, when a program needs it: the
    `late` parts, see js/late.js. They see what is `shared`; a name that is missing there would be
    looked up among the globals of the program.
    """

    modules: tuple[str, ...]
    preparing: tuple[str, ...]
    running: tuple[str, ...]
    late: tuple[str, ...]
    shared: tuple[str, ...]


# In the order in which they need each other.
_COMMON: Final = (
    *("policy", "lines", "strict_json", "frames", "protocol"),
    *("native", "landlock", "hardening", "worker"),
)
_PREPARING: Final = ("primordials", "realm", "errors", "slots", "late", "snapshot")
_SHARED: Final = (
    *("apply", "getPrototypeOf", "ownKeys", "isArray", "isError", "isRawJSON", "isView", "exec"),
    *("stringify", "ErrorConstructor", "ObjectPrototype", "PromiseConstructor"),
    *("WeakMapConstructor", "get", "put", "mark", "marked", "owns", "shows", "tag", "matches"),
    *("unitAt", "cut", "define", "intrinsics", "NONE", "TAG", "ITERATOR", "stackLimit"),
    *("TAGGED_SLOTS", "HIDDEN_SLOTS", "MOVING_SLOTS", "settings", "codes", "reasons", "messages"),
    *("errorFields", "made", "doubtful", "dataText", "exhausted", "rejected", "session", "words"),
    *("NOT_JSON", "LARGEST", "scalar", "quote", "byteLength", "newNode", "append", "snapshot"),
)

_PROMISES: Final = Build(
    modules=(*_COMMON, "pump"),
    preparing=_PREPARING,
    running=("api", "main"),
    late=("objects", "calls", "words"),
    shared=_SHARED,
)

BUILDS: Final = {
    DEFAULT_PROFILE: _PROMISES,
    "inline-sync": _PROMISES,
    "worker-rpc": _PROMISES,
}
"""By the name of the profile."""
