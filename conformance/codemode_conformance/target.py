"""Target files: finding, reading and checking them. Nothing is started here."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.schemas import problems

from codemode_conformance import bounded
from codemode_conformance.failures import TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping

SHIPPED: Final = Path(__file__).parent / "targets"
FILE_NAME: Final = "target.toml"
REFERENCE: Final = "reference"
MOST_BYTES: Final = 1 << 20
ROLES: Final = ("engine", "server", "worker", "parent")
PLACEHOLDERS: Final = ("here", "cache", "python", "node", "tmp", "port", "worker", "shared")
_PLACEHOLDER: Final = re.compile(r"\$\{([^{}]*)\}")
_PATTERNS: Final = ("text", "worker_pattern", "kind", "strong", "weak", "refused")


@dataclass(frozen=True, slots=True)
class Probe:
    """How to read the installed version: a file with a JSON pointer into it, or a command."""

    file: str | None = None
    pointer: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Install:
    """How the target gets into its cache folder; `timeout_ms` is for each step."""

    node: str | None = None
    lock: str | None = None
    steps: tuple[tuple[str, ...], ...] = ()
    scripts_allowed: tuple[str, ...] = ()
    timeout_ms: int = 900_000

    @property
    def packages_with_scripts(self) -> tuple[str, ...]:
        """The packages whose install scripts may run, without the reasons."""
        return tuple(entry.split(": ", 1)[0] for entry in self.scripts_allowed)


@dataclass(frozen=True, slots=True)
class Command:
    """How the process of one role is started and held.

    `memory_mib` is the limit of the watchdog where the policy has no number for memory;
    `worker_pattern` finds the workers among the processes; `profile` is for worker and parent;
    `prelude` gives programs their `host`, in the worker role.
    """

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    start_timeout_ms: int = 20_000
    grace_ms: int = 1_000
    memory_mib: int = 1_024
    worker_pattern: str | None = None
    profile: str | None = None
    prelude: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """The server role: no adapter; the tables stay as the file gives them, checked.

    `wrap` stands around each program; `ranges` bounds what the server takes as an option. The rest
    is for scripted clients: `expressions` of its API and `direct` calls of tools by name, other
    commands that `starts` name, words that the `reference` of its API has, and how its `isolation`
    is told.
    """

    transport: str
    tool: str
    operations: str
    arguments: Mapping[str, str]
    answer: Mapping[str, Any]
    identity: Mapping[str, Any]
    command: Command | None = None
    url: str | None = None
    restart_every: int = 0
    rate_limit: int | None = None
    fixed_arguments: Mapping[str, Any] = field(default_factory=dict)
    stand_in: Mapping[str, Any] = field(default_factory=dict)
    ranges: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    wrap: tuple[str, str] = ("", "")
    grace_ms: int = 1_000
    expressions: Mapping[str, str] = field(default_factory=dict)
    direct: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    starts: Mapping[str, Command] = field(default_factory=dict)
    reference: tuple[str, ...] = ()
    isolation: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """One target file. `digest` covers the file and its lock; `folder` is `${here}`.

    `profile` is the profile of the specification that it has in every alternative, if it says so.
    """

    name: str
    title: str
    version: str
    homepage: str | None
    probe: Probe | None
    install: Install
    engine: Command | None
    worker: Command | None
    parent: Command | None
    server: Server | None
    claims: Mapping[str, str]
    file: Path
    digest: str
    profile: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.file.parent

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that the file offers."""
        return tuple(role for role in ROLES if getattr(self, role) is not None)


def shipped_targets() -> tuple[str, ...]:
    """The names of the targets that come with the suite."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob(f"*/{FILE_NAME}")))


def find_target(name: str) -> Target:
    """The target of this name (shipped), folder, or `.toml` file; TargetError says why not."""
    path = Path(name)
    if name in shipped_targets():
        # Before any folder of that name, so that a command means the same everywhere.
        return load_target(SHIPPED / name / FILE_NAME)
    # As `Path.is_dir`, which raises for a name that no file system takes.
    is_folder = os.path.isdir(name)  # noqa: PTH112
    if path.suffix == ".toml" or is_folder or len(path.parts) > 1:
        return load_target(path / FILE_NAME if is_folder else path)
    known = ", ".join(shipped_targets()) or "none"
    advice = f"give one of the shipped targets ({known}) or a path to a .toml file"
    raise TargetError(name, "", "there is no such target", advice)


def reference_of(profile: str) -> str:
    """The shipped target that is the reference with this profile; TargetError without one.

    Of several it is the one with an engine, which can be asked more.
    """
    found = {name: load_target(SHIPPED / name / FILE_NAME) for name in shipped_targets()}
    ours = [name for name in found if name.startswith(REFERENCE)]
    for name in sorted(ours, key=lambda name: found[name].engine is None):
        if found[name].profile == profile:
            return name
    advice = "give the name of a profile, or a --target"
    raise TargetError(profile, "", "the reference has no such profile", advice)


def load_target(path: Path) -> Target:
    """The checked target file; TargetError with file, key path, reason and what to do."""
    path = path.resolve()
    try:
        raw = bounded.read(path, MOST_BYTES)
        if raw is None:
            reason = f"more than {MOST_BYTES} bytes"
            raise TargetError(str(path), "", reason, "give a target file")
        data = tomllib.loads(raw.decode())
    except OSError as error:
        raise TargetError(str(path), "", error.strerror or "unreadable", "check the path") from None
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
        raise TargetError(str(path), "", reason, "save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise TargetError(str(path), "", f"no TOML: {error}", "correct that line") from None
    _check(path, data)
    return _target(path, raw, data)


def _check(path: Path, data: Mapping[str, Any]) -> None:
    for problem in problems("target", data, str(path)):
        where = problem.path.lstrip("/").replace("/", ".")
        advice = "the schema `target` lists the keys and their forms"
        raise TargetError(str(path), where, problem.reason, advice)
    name = data["target"]["name"]
    if path.is_relative_to(SHIPPED) and path.parent.name != name:
        reason = f"the name {name!r} is not the folder's, {path.parent.name!r}"
        raise TargetError(str(path), "target.name", reason, "make them equal")
    lock = data.get("install", {}).get("lock")
    if lock is not None and not _is_file(path.parent / lock):
        reason = f"{lock} does not stand beside the file"
        raise TargetError(str(path), "install.lock", reason, "add it or drop the key")
    _check_texts(path, data, "")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # as for a name that is longer than any file's
        return False


def _check_texts(path: Path, value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, entry in value.items():
            _check_texts(path, entry, f"{where}.{key}" if where else key)
            if key in _PATTERNS and isinstance(entry, str):
                _check_pattern(path, entry, f"{where}.{key}")
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            _check_texts(path, entry, f"{where}.{index}")
    elif isinstance(value, str) and not where.startswith("claims"):
        for name in _PLACEHOLDER.findall(value):
            if name not in PLACEHOLDERS:
                known = " ".join(f"${{{known}}}" for known in PLACEHOLDERS)
                raise TargetError(str(path), where, f"unknown ${{{name}}}", f"use one of {known}")


def _check_pattern(path: Path, pattern: str, where: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        reason = f"{pattern!r} is no regular expression: {error}"
        raise TargetError(str(path), where, reason, "correct it") from None


def expand(text: str, values: Mapping[str, str], where: str = "") -> str:
    """The text with its `${name}` filled in; TargetError for a name that has no value here."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            reason = f"${{{match[1]}}} has no value here"
            raise TargetError(where or text, "", reason, "use it only where it is defined")
        return values[match[1]]

    return _PLACEHOLDER.sub(value, text)


def _command(data: Mapping[str, Any]) -> Command:
    known = (
        *("env", "start_timeout_ms", "grace_ms", "memory_mib", "worker_pattern", "profile"),
        "prelude",
    )
    return Command(
        words=tuple(data.get("command", ())), **{key: data[key] for key in known if key in data}
    )


def _server(data: Mapping[str, Any]) -> Server:
    names = (
        *("transport", "tool", "operations", "arguments", "answer", "identity", "url"),
        *("restart_every", "rate_limit", "fixed_arguments", "stand_in"),
        *("ranges", "grace_ms", "expressions", "direct", "isolation"),
    )
    chosen = {key: data[key] for key in names if key in data}
    if "program" in data:
        chosen["wrap"] = tuple(data["program"]["wrap"])
    chosen["reference"] = tuple(data.get("reference", ()))
    chosen["starts"] = {
        name: _command({**data, "command": words}) for name, words in data.get("starts", {}).items()
    }
    return Server(**chosen, command=_command(data) if "command" in data else None)


def _target(path: Path, raw: bytes, data: Mapping[str, Any]) -> Target:
    about, install = data["target"], data.get("install", {})
    probe = about.get("probe")
    digest = hashlib.sha256(raw)
    if "lock" in install:
        digest.update(b"\0" + (path.parent / install["lock"]).read_bytes())
    roles = {
        role: _command(data[role]) if role in data else None
        for role in ("engine", "worker", "parent")
    }
    return Target(
        name=about["name"],
        title=about.get("title", about["name"]),
        version=about["version"],
        homepage=about.get("homepage"),
        probe=Probe(**{**probe, "command": tuple(probe.get("command", ()))}) if probe else None,
        install=Install(
            **{
                **install,
                "steps": tuple(tuple(step) for step in install.get("steps", ())),
                "scripts_allowed": tuple(install.get("scripts_allowed", ())),
            }
        ),
        server=_server(data["server"]) if "server" in data else None,
        claims=data.get("claims", {}),
        file=path,
        digest=digest.hexdigest(),
        profile=about.get("profile"),
        **roles,
    )
