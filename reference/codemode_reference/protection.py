"""What protects a parent from its workers on this machine, as a worker reports it.

The report comes from a worker of its own that is asked for it, runs nothing and exits: no program
ever ran where it was written, so none can have forged it. Every later worker is told which layers
were active, puts them on before it reads a byte, and exits if one of them fails. A worker that runs
programs is never asked: what it says later may be the program's word.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemode_reference.codes import Code
from codemode_reference.errors import PolicyError

if TYPE_CHECKING:
    from pathlib import Path

LAYERS = (
    *("descriptors", "session", "rlimits", "oom_score", "no_new_privs", "landlock"),
    *("namespaces", "capabilities", "parent_death", "dumpable", "last_rlimits", "seccomp"),
)
# Each of them alone keeps a worker of the same user out of the memory of its parent.
_WALLS = ("landlock", "namespaces", "seccomp")
ACTIVE, UNAVAILABLE, OFF = "active", "unavailable", "off"
_SECONDS = 30
_PR_SET_DUMPABLE = 4


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: `active`, `unavailable` (why says what the kernel answered) or `off`."""

    name: str
    state: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Protection:
    """All layers, in the order in which a worker puts them on."""

    layers: tuple[Layer, ...]

    @property
    def active(self) -> tuple[str, ...]:
        """The names of the layers that are on."""
        return tuple(layer.name for layer in self.layers if layer.state == ACTIVE)

    @property
    def protected(self) -> bool:
        """Whether the kernel keeps a worker away from its parent."""
        return any(name in _WALLS for name in self.active)

    def require(self) -> None:
        """Raise PolicyError with `hardening_unavailable` for the first layer that is missing."""
        for layer in self.layers:
            if layer.state == UNAVAILABLE:
                raise PolicyError(Code.hardening_unavailable, layer.name, layer.why)

    def __str__(self) -> str:
        lines = ["protected" if self.protected else "not protected"]
        for layer in self.layers:
            why = f" ({layer.why})" if layer.why else ""
            lines.append(f"  {layer.name:13} {layer.state}{why}")
        return "\n".join(lines)


def unknown(why: str) -> Protection:
    """The report on a worker that cannot be asked: nothing is known to be active."""
    return Protection(tuple(Layer(name, UNAVAILABLE, why) for name in LAYERS))


# By program. A kernel does not lose its layers, so one process asks once; if it did, the workers
# would exit instead of running without.
_known: dict[bytes, Protection] = {}


def install(folder: Path, program: bytes) -> tuple[list[str], Protection]:
    """Put the worker program into `folder`: how it is started, and the report for this machine."""
    path = folder / "worker.pyc"
    path.write_bytes(program)
    # Not the link of a virtual environment, whose packages a worker cannot see anyway.
    worker = [os.path.realpath(sys.executable), "-I", "-S", "-E", str(path)]
    if program not in _known:
        _known[program] = ask(worker, folder)
    found = _known[program]
    return [*worker, str(os.getpid()), ",".join(found.active)], found


def ask(worker: list[str], folder: Path) -> Protection:
    """Have the worker that `worker` starts report, with `folder` as its directory."""
    try:
        answer = subprocess.run(
            [*worker, "report"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={},
            start_new_session=True,
            timeout=_SECONDS,
            check=True,
        )
        found = json.loads(answer.stdout)
        layers = tuple(Layer(name, *found[name]) for name in LAYERS)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return unknown(f"the worker gave no report: {type(error).__name__}")
    return Protection(layers)


def hide() -> bool:
    """Keep other processes of this user out of this one's memory and files in /proc.

    For the command that starts a parent, which knows that no debugger and no core dump is wanted;
    importing changes nothing. False where the system cannot.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415  slow to import, and for few

    return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
