"""The inputs of some folders that reach what the corpus does not, and no more of them than needed.

libFuzzer's `-merge=1` starts its own command again, which an interpreter's is not, and then keeps
nothing. This looks at the lines itself, and needs no fuzzer.
"""

from __future__ import annotations

import hashlib
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codemode_fuzz.clock import at_most
from codemode_fuzz.replay import SECONDS, corpus, files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from types import FrameType

Arc: TypeAlias = tuple[str, int, int]
MERGED: Final = "merged-"


def arcs(check: Callable[[bytes], None], data: bytes, sources: frozenset[str]) -> frozenset[Arc]:
    """The steps from line to line in the files of `sources` while `data` is checked.

    Raises what the check raises.
    """
    seen: set[Arc] = set()

    def enter(frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
        if event != "call" or frame.f_code.co_filename not in sources:
            return None
        name, before = frame.f_code.co_filename, -frame.f_code.co_firstlineno

        def line(frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
            nonlocal before
            if event == "line":
                seen.add((name, before, frame.f_lineno))
                before = frame.f_lineno
            elif event == "return":
                seen.add((name, before, -frame.f_code.co_firstlineno))
            return line

        return line

    kept = sys.gettrace()
    sys.settrace(enter)
    try:
        with at_most(SECONDS):
            check(data)
    finally:
        sys.settrace(kept)
    return frozenset(seen)


def sources_of(modules: Iterable[str]) -> frozenset[str]:
    """The files of some modules."""
    return frozenset(str(import_module(name).__file__) for name in modules)


def merge(
    check: Callable[[bytes], None],
    kept: Iterable[bytes],
    candidates: Iterable[bytes],
    sources: frozenset[str],
) -> list[bytes]:
    """Those of `candidates`, smallest first, that take a step which nothing before them takes.

    What raises, a finding, is never merged: it is kept under a name of its own.
    """
    known: set[Arc] = set()
    for data in kept:
        known |= arcs(check, data, sources)
    chosen = []
    for data in sorted(set(candidates), key=lambda data: (len(data), data)):
        try:
            found = arcs(check, data, sources)
        except Exception:  # noqa: BLE001, S112  a finding, whatever it raises
            continue
        if not found <= known:
            known |= found
            chosen.append(data)
    return chosen


def merge_folders(
    name: str, modules: Iterable[str], check: Callable[[bytes], None], folders: list[Path]
) -> tuple[int, list[Path]]:
    """Merge the files of `folders` into the corpus of a target: their number, and what is new."""
    home = corpus(name)
    home.mkdir(parents=True, exist_ok=True)
    candidates = [path.read_bytes() for path in files(folders)]
    kept = [path.read_bytes() for path in files([home])]
    written = []
    for data in merge(check, kept, candidates, sources_of(modules)):
        path = home / f"{MERGED}{hashlib.sha256(data).hexdigest()[:10]}.bin"
        path.write_bytes(data)
        written.append(path)
    return len(candidates), written
