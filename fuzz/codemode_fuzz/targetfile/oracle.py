"""What must hold for every target file: a target, or an error that says where and what to do."""

from __future__ import annotations

from atexit import register
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from codemode_conformance.failures import ClaimError, TargetError
from codemode_conformance.identity import identity_of
from codemode_conformance.target import PLACEHOLDERS, ROLES, Target, expand, load_target

from codemode_fuzz.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

LOCK: Final = "package-lock.json"
_VALUES: Final = dict.fromkeys(PLACEHOLDERS, "/x")


@cache
def folder() -> Path:
    """A place for the file, with a lock beside it; it goes with the process."""
    place = TemporaryDirectory(prefix="codemode-fuzz-")
    register(place.cleanup)
    home = Path(place.name)
    (home / LOCK).write_text("{}\n", encoding="utf-8")
    return home


def check_target_file(data: bytes, load: Callable[[Path], Target] = load_target) -> None:
    """Load `data` as a target file. Raises Finding."""
    path = folder() / "target.toml"
    path.write_bytes(data)
    target = _loaded(path, load)
    if target is None:
        return
    if target != load(path):
        raise Finding("twice", "one file is two targets")
    if target.file != path.resolve() or not target.name or not set(target.roles) <= set(ROLES):
        raise Finding("target", "a target without a name, a file or a role that is known")
    for command in (target.engine, target.worker, target.parent):
        for word in command.words if command is not None else ():
            _expand(word)
    if target.server is not None:
        _identity(target)


def _loaded(path: Path, load: Callable[[Path], Target]) -> Target | None:
    try:
        return load(path)
    except TargetError as error:
        told = str(error)
        if error.file != str(path.resolve()) or not error.reason or not error.advice:
            raise Finding("words", "an error without its file, its reason or an advice") from error
        if str(error.file) not in told:
            raise Finding("words", "an error that does not name its file") from error
        return None
    except Exception as error:
        raise Finding("exception", f"load_target raised {type(error).__name__}") from error


def _expand(word: str) -> None:
    try:
        expand(word, _VALUES)
    except TargetError as error:
        raise Finding("placeholder", "one that was accepted has no value") from error


def _identity(target: Target) -> None:
    assert target.server is not None
    try:
        identity_of(target.server.identity)
    except ClaimError:
        return
    except Exception as error:
        raise Finding("exception", f"an identity raised {type(error).__name__}") from error
