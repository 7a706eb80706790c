"""The process that fuzzes: atheris around one target. `main` starts it and judges what it found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import triage
from codemode_fuzz.replay import timed
from codemode_fuzz.targets import INSTRUMENTED, load

if TYPE_CHECKING:
    from codemode_fuzz.targets import Target

_MOST_FINDINGS: Final = 20
# One input in four is left to libFuzzer's own changes of bytes, with the dictionary.
_BYTES_ONE_IN: Final = 4


def standing(atheris: Any, name: str, words: list[str]) -> None:
    """Fuzz one target as libFuzzer's own driver would: the first finding ends the process.

    For services that start, stop and deduplicate fuzzers themselves.
    """
    with atheris.instrument_imports(include=list(INSTRUMENTED[name])):
        target = load(name)
    check = timed(target.check)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        return _mutated(atheris, target, data, max_size, seed)

    flags = [f"-max_len={target.max_bytes}", *words[1:]]
    atheris.Setup([words[0], *flags], check, custom_mutator=mutate)
    atheris.Fuzz()


def fuzz(atheris: Any, name: str, findings: Path, flags: list[str]) -> None:
    """Fuzz until a limit in `flags` is reached; findings go to their folder and do not stop it.

    Too many different ones do: then one fault shows in many ways.
    """
    with atheris.instrument_imports(include=list(INSTRUMENTED[name])):
        target = load(name)
    check = timed(target.check)
    homes: set[Path] = set()

    def one_input(data: bytes) -> None:
        home = triage.record(findings, name, data, check)
        if home is None or home in homes:
            return
        homes.add(home)
        print(f"finding: {home}", file=sys.stderr)
        if len(homes) == _MOST_FINDINGS:
            raise RuntimeError(f"{_MOST_FINDINGS} different findings: stopped")

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        return _mutated(atheris, target, data, max_size, seed)

    atheris.Setup(
        [sys.argv[0], f"-max_len={target.max_bytes}", *flags], one_input, custom_mutator=mutate
    )
    atheris.Fuzz()


def _mutated(atheris: Any, target: Target, data: bytes, max_size: int, seed: int) -> bytes:
    if seed % _BYTES_ONE_IN == 0:
        changed: bytes = atheris.Mutate(data, max_size)
        return changed
    return target.mutate(data, max_size, seed)


if __name__ == "__main__":
    import atheris as installed

    fuzz(installed, sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
