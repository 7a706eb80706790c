"""`python -m codemode_conformance.newest TARGET`: pin a shipped target at its newest versions.

It rewrites the version in the target file and the lock beside it, and installs nothing. Scheduled
runs use it on a copy; what they find is a change for people to look at.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import environment
from codemode_conformance.failures import ConformanceError, InstallError
from codemode_conformance.target import FILE_NAME, SHIPPED, load_target
from codemode_conformance.tool import ToolError, run_tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_conformance.target import Target

PACKAGE: Final = "package.json"
NPM_LOCK: Final = "package-lock.json"
PIP_LOCK: Final = "requirements.txt"
PIP_WANTED: Final = "requirements.in"
"""The packages that are asked for, the target's own first; the lock has what they need besides."""

_LIMIT_MS: Final = 900_000
_VERSION: Final = re.compile(r'^version = "[^"\n]*"', re.MULTILINE)


def main(words: Sequence[str]) -> int:
    """Pin one target; the exit code is 2 where it cannot be."""
    if len(words) != 1:
        sys.stderr.write("usage: python -m codemode_conformance.newest TARGET\n")
        return 2
    path = SHIPPED / words[0] / FILE_NAME
    try:
        old = load_target(path)
        new = newest(old)
    except ConformanceError as error:
        sys.stderr.write(f"newest: {error}\n")
        return error.exit_code
    sys.stdout.write(f"{old.name}: {old.version} -> {new}\n")
    return 0


def newest(target: Target) -> str:
    """The newest version, after the files of the target say it; InstallError says why not."""
    lock = target.install.lock
    if lock == NPM_LOCK:
        version = _npm(target)
    elif lock == PIP_LOCK:
        version = _pip(target)
    else:
        return target.version  # it comes with the suite
    text = target.file.read_text(encoding="utf-8")
    target.file.write_text(with_version(text, version), encoding="utf-8")
    return version


def with_version(text: str, version: str) -> str:
    """A target file with another version, which stands once in it."""
    if len(_VERSION.findall(text)) != 1 or not re.fullmatch(r"[0-9A-Za-z.+-]{1,64}", version):
        raise InstallError(f"the version cannot be set to {version!r}; the file has one version")
    return _VERSION.sub(f'version = "{version}"', text)


def without_addresses(lock: Mapping[str, Any]) -> dict[str, Any]:
    """A lock of npm without where its packages come from, which differs from place to place."""
    packages = {
        name: {key: value for key, value in entry.items() if key != "resolved"}
        for name, entry in lock["packages"].items()
    }
    return {**lock, "packages": packages}


def _npm(target: Target) -> str:
    wanted = json.loads((target.folder / PACKAGE).read_text(encoding="utf-8"))
    names = list(wanted["dependencies"])
    own = next(
        (n for n in names if target.probe and f"/{n}/" in (target.probe.file or "")), names[0]
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / PACKAGE).write_text(json.dumps({**wanted, "dependencies": {}}), encoding="utf-8")
        words = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--save-exact"]
        _run([*words, *(f"{one}@latest" for one in names)], folder)
        package = (folder / PACKAGE).read_text(encoding="utf-8")
        lock = json.loads((folder / NPM_LOCK).read_text(encoding="utf-8"))
    _write(target.folder / PACKAGE, json.loads(package))
    _write(target.folder / NPM_LOCK, without_addresses(lock))
    return str(lock["packages"][f"node_modules/{own}"]["version"])


def _pip(target: Target) -> str:
    wanted = (target.folder / PIP_WANTED).read_text(encoding="utf-8").split()
    with tempfile.TemporaryDirectory() as name:
        words = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "-q"]
        report = Path(name) / "report.json"  # larger than what a tool may print
        _run([*words, "--report", str(report), *wanted], Path(name))
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    pins = {entry["metadata"]["name"]: entry["metadata"]["version"] for entry in found}
    lines = [f"{package}=={pins[package]}" for package in sorted(pins, key=str.lower)]
    (target.folder / PIP_LOCK).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(pins[wanted[0]])


def _run(words: list[str], folder: Path) -> str:
    extra = {"npm_config_ignore_scripts": "true", "PIP_ONLY_BINARY": ":all:"}
    env = environment.for_install(Path(tempfile.gettempdir()), extra)
    try:
        return run_tool(words, env, folder, _LIMIT_MS)
    except ToolError as error:
        raise InstallError(f"{words[0]}: {error}") from None


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
