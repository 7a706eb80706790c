"""What the worker of each profile is made of. `bundle` reads this; nothing here runs.

A worker is common parts and those of its style: how a program reaches the host, and how it is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from codemode_spec.tables import DEFAULT_PROFILE

if TYPE_CHECKING:
    from collections.abc import Mapping


class Build(NamedTuple):
    """The parts of one worker: modules of this package, the last with `main`, and of `js/`.

    `preparing` parts prepare the realm before there is a program, `running` ones need the `execute`
    frame. Half of what compiles an engine's script is compiled late, when a program needs it: the
    `late` parts, by name, each of one or more files, see js/late.js. They see what
    is `shared`; a name that is missing there would be looked up among the globals of the program.
    `extra` are the kinds of frames that only some profiles have, `engine` is the package that it
    needs where not every one will do.
    """

    modules: tuple[str, ...]
    preparing: tuple[str, ...]
    running: tuple[str, ...]
    late: Mapping[str, tuple[str, ...]]
    shared: tuple[str, ...]
    extra: tuple[str, ...] = ()
    engine: str | None = None


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
    running=("session", "api", "results", "main"),
    late={"objects": ("objects",), "calls": ("requests", "calls"), "words": ("words",)},
    shared=_SHARED,
)
_DIRECT: Final = Build(
    modules=(*_COMMON, "inline"),
    preparing=("primordials", "bridge", *_PREPARING[1:]),
    running=("session", "tools", "results", "inline"),
    late={"objects": ("objects",), "calls": ("requests", "direct"), "words": ("words",)},
    shared=(*_SHARED, "toAscii", "parse", "lower", "within"),
    extra=("host_batch",),
    # Others crash where Python is called from inside.
    engine="quickjs-ng",
)

_REMOTE: Final = Build(
    modules=(*_COMMON, "tokens", "statements", "pump", "remote"),
    preparing=(*_PREPARING[:4], "frozen", *_PREPARING[4:]),
    running=("session", "groups", "results", "completion"),
    late={
        "objects": ("objects",),
        "calls": ("requests", "positional", "progress", "queue"),
        "words": ("words",),
    },
    shared=(*_SHARED, "parse"),
    extra=("progress",),
)

BUILDS: Final = {
    DEFAULT_PROFILE: _PROMISES,
    "inline-sync": _DIRECT,
    "worker-rpc": _REMOTE,
}
"""By the name of the profile."""
