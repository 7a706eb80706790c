"""A small, readable Code Mode parent and worker, driven by the tables of `codemode_spec`."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemode_reference.errors import (
        CodeModeError,
        Failure,
        OperationError,
        PolicyError,
        Success,
    )
    from codemode_reference.operations import Operation
    from codemode_reference.options import Options
    from codemode_reference.parent import Parent, default_policy
    from codemode_reference.surface import Surface
    from codemode_reference.workers import StartedAhead

__all__ = [
    "CodeModeError",
    "Failure",
    "Operation",
    "OperationError",
    "Options",
    "Parent",
    "PolicyError",
    "StartedAhead",
    "Success",
    "Surface",
    "default_policy",
]

_MODULES = {
    "Operation": "operations",
    "Options": "options",
    "Parent": "parent",
    "StartedAhead": "workers",
    "Surface": "surface",
    "default_policy": "parent",
}


def __getattr__(name: str) -> object:
    # Late, so that `python -m` is in `__main__`, which can answer Ctrl-C, before it imports.
    if sys.platform == "win32":
        raise ImportError("codemode_reference runs on Linux and macOS, not on Windows")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES.get(name, 'errors')}")
    return getattr(module, name)
