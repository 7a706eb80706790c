"""Node for a target: the one on PATH if its version fits, else npm's own package."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_conformance.failures import InstallError

if TYPE_CHECKING:
    from collections.abc import Callable

_TEST: Final = re.compile(r"(>=|<=|>|<|=)?(\d+(?:\.\d+){0,2})")
_PROBE_SECONDS: Final = 20


@dataclass(frozen=True, slots=True)
class Node:
    """A Node executable."""

    path: Path
    version: str


def fits(version: str, wanted: str) -> bool:
    """Whether a version like `v22.1.0` passes every test of `>=20 <23`.

    A number without a sign, and `=`, ask only for the parts that they name.
    """
    have = _numbers(version)
    return all(_passes(have, sign, _numbers(number)) for sign, number in _TEST.findall(wanted))


def _passes(have: tuple[int, ...], sign: str, want: tuple[int, ...]) -> bool:
    same = have[: len(want)] == want
    if sign in ("", "="):
        return same
    if sign in (">=", "<="):
        return same or (have > want if sign == ">=" else have < want)
    return not same and (have > want if sign == ">" else have < want)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


def on_path() -> Node | None:
    """The Node on PATH, if there is one that runs."""
    found = shutil.which("node")
    return None if found is None else node_at(Path(found))


def node_at(path: Path) -> Node | None:
    """The Node at this path, None when it does not run."""
    try:
        result = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Node(path, result.stdout.strip()) if result.returncode == 0 else None


def find_node(wanted: str, cache: Path, step: Callable[[list[str], Path], None]) -> Node:
    """A Node that fits: on PATH, in the cache, or brought into the cache by npm through `step`.

    InstallError, with what to install, when there is none and npm cannot bring one.
    """
    present = on_path()
    if present is not None and fits(present.version, wanted):
        return present
    major = next(
        (_numbers(number)[0] for sign, number in _TEST.findall(wanted) if sign in ("", ">=", "=")),
        None,
    )
    have = f"PATH has {present.version}" if present else "PATH has none"
    if major is None or shutil.which("npm") is None:
        raise InstallError(f"Node {wanted} is needed, {have}: install Node {wanted} with npm")
    folder = cache / f"node-{major}"
    path = folder / "node_modules" / "node" / "bin" / "node"
    if node_at(path) is None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="ascii")
        words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts=false"]
        step([*words, f"node@{major}"], folder)
    found = node_at(path)
    if found is None or not fits(found.version, wanted):
        got = found.version if found else "nothing that runs"
        raise InstallError(
            f"Node {wanted} is needed, {have}, npm brought {got}: install Node {wanted}"
        )
    return found
