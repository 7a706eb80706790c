"""Installing a target into its own cache folder, and checking that the pinned version is there.

Install scripts of packages are off; those that the target file allows run in a step of their own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.documents import parse_json
from codemode_spec.failures import SpecificationError

from codemode_conformance import environment
from codemode_conformance.escape import for_shell, quoted
from codemode_conformance.failures import InstallError
from codemode_conformance.node import Node, find_node, on_path
from codemode_conformance.target import expand
from codemode_conformance.tool import ToolError, run_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from codemode_conformance.target import Probe, Target

CACHE_NAME: Final = ".cmconf-cache"
CACHE_VARIABLE: Final = "CMCONF_CACHE"
_STAMP: Final = ".installed.json"
_PACKAGE: Final = "package.json"
_PROBE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Installed:
    """A target ready to start; `values` fill the placeholders, all but `tmp`."""

    target: Target
    values: Mapping[str, str]


def cache_folder() -> Path:
    """Where targets are installed: $CMCONF_CACHE, else a folder in the current directory."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return (Path(chosen) if chosen else Path.cwd() / CACHE_NAME).resolve()


def install(target: Target, show: Callable[[str], None], cache: Path | None = None) -> Installed:
    """Install the target unless its cache folder is up to date, and check its version.

    `show` gets each command line before it runs. InstallError says what failed.
    """
    return _Installer(target, show, cache or cache_folder()).install()


class _Installer:
    def __init__(self, target: Target, show: Callable[[str], None], cache: Path) -> None:
        self._target = target
        self._show = show
        self._cache = cache
        self._folder = cache / f"{target.name}-{target.digest[:12]}"
        self._node: Node | None = None

    def install(self) -> Installed:
        install = self._target.install
        if not install.steps and install.node is None and install.lock is None:
            # Nothing is brought in: no folder appears where the command was called.
            self._probe(self._target.folder)
            return Installed(self._target, self._values())
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            # Nothing of the cache belongs into anybody's repository.
            (self._cache / ".gitignore").write_text("*\n", encoding="ascii")
        except OSError as error:
            raise InstallError(
                f"the cache folder {self._cache} cannot be made: {error.strerror}; "
                f"set {CACHE_VARIABLE} to another one"
            ) from None
        with self._locked():
            wanted = install.node
            if wanted is not None:
                self._node = find_node(wanted, self._cache, self._step)
            stamp = self._folder / _STAMP
            if not stamp.is_file():
                self._fill()
                self._probe(self._folder)
                stamp.write_text(json.dumps({"digest": self._target.digest}) + "\n", "utf-8")
            else:
                self._probe(self._folder)
        return Installed(self._target, self._values())

    def _values(self) -> dict[str, str]:
        values = {
            "here": str(self._target.folder),
            "cache": str(self._folder),
            "python": sys.executable,
        }
        node = self._node or on_path()
        return values if node is None else {**values, "node": str(node.path)}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        # One lock for the whole cache: targets share the Node that is brought into it.
        with (self._cache / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _fill(self) -> None:
        install = self._target.install
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        # npm reads its lock together with package.json.
        for name in (install.lock, _PACKAGE) if install.lock is not None else ():
            if (self._target.folder / name).is_file():
                shutil.copyfile(self._target.folder / name, self._folder / name)
        for step in install.steps:
            words = [expand(word, self._values(), "install.steps") for word in step]
            self._step(words, self._folder)
        if install.packages_with_scripts:
            words = ["npm", "rebuild", "--ignore-scripts=false", *install.packages_with_scripts]
            self._step(words, self._folder)

    def _step(self, words: list[str], folder: Path) -> None:
        self._show(for_shell(words))
        try:
            run_tool(words, self._env(), folder, self._target.install.timeout_ms)
        except ToolError as error:
            raise InstallError(
                f"{self._target.name} cannot be installed: {for_shell(words)}: {error}"
            ) from None

    def _env(self) -> dict[str, str]:
        extra = {"npm_config_ignore_scripts": "true", "PIP_ONLY_BINARY": ":all:"}
        env = environment.for_install(Path(tempfile.gettempdir()), extra)
        if self._node is not None:
            path = env.get("PATH", os.defpath)
            env["PATH"] = os.pathsep.join([str(self._node.path.parent), path])
        return env

    def _probe(self, folder: Path) -> None:
        probe = self._target.probe
        if probe is None:
            return
        found = self._read(probe, folder)
        if found != self._target.version:
            raise InstallError(
                f"{self._target.file}: target.version is {self._target.version!r}, "
                f"but the probe found {quoted(found)}; correct the file or the lock"
            )

    def _read(self, probe: Probe, folder: Path) -> str:
        values = self._values()
        if probe.file is None:
            words = [expand(word, values, "target.probe") for word in probe.command]
            try:
                output = run_tool(words, self._env(), folder, _PROBE_MS)
            except ToolError as error:
                raise InstallError(f"the version probe {for_shell(words)}: {error}") from None
            return output.strip().splitlines()[0].strip() if output.strip() else ""
        path = Path(expand(probe.file, values, "target.probe"))
        try:
            text = path.read_text(encoding="utf-8")
            data = tomllib.loads(text) if path.suffix == ".toml" else parse_json(text, str(path))
            return str(_at(data, probe.pointer))
        except (OSError, ValueError, LookupError, TypeError, SpecificationError) as error:
            raise InstallError(f"the version probe cannot read {path}: {error}") from None


def _at(data: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        data = data[int(key)] if isinstance(data, list) else data[key]
    return data
