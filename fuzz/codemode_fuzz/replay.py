"""Inputs through an oracle, one by one and without a fuzzer: the corpus, or a single finding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from codemode_fuzz.clock import at_most
from codemode_fuzz.triage import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SECONDS = 10.0
"""How long one input may take."""


def corpus(name: str) -> Path:
    """The inputs of a target that are kept in the repository; the folder exists in a checkout."""
    return Path(__file__).parents[1] / "corpus" / name


def files(paths: Iterable[Path]) -> list[Path]:
    """The files at and below `paths`, sorted."""
    found: set[Path] = set()
    for path in paths:
        found.update(entry for entry in path.rglob("*") if entry.is_file())
        if path.is_file():
            found.add(path)
    return sorted(found)


def timed(check: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The same check, which is a finding too when it takes longer than SECONDS."""

    def run(data: bytes) -> None:
        with at_most(SECONDS):
            check(data)

    return run


def replay(check: Callable[[bytes], None], paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """The files that are findings, each with what is wrong. OSError if one cannot be read."""
    for path in files(paths):
        error = failure(path.read_bytes(), timed(check))
        if error is not None:
            yield path, f"{type(error).__name__}: {error}"
