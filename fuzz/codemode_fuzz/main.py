"""The command line: `python -m codemode_fuzz TARGET [libFuzzer flags] [corpus folders]`."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_fuzz.replay import corpus, files
from codemode_fuzz.targets import INSTRUMENTED, load
from codemode_fuzz.verbs import FOUND, OK, VERBS, wrong
from codemode_fuzz.workplace import work_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

_USAGE: Final = """\
python -m codemode_fuzz TARGET [-runs=N] [-max_total_time=S] [-seed=K] [FOLDER ...]
    fuzz; libFuzzer's flags are handed on, new inputs go to the first folder; a minute by default
"""
_SUPPORTED: Final = ((3, 11), (3, 13))
_MINUTE: Final = "-max_total_time=60"
_LIMITS: Final = ("-runs=", "-max_total_time=")


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 nothing found, 1 findings, 2 usage."""
    words = list(arguments)
    if not words:
        print(_USAGE, end="")
        for verb in VERBS.values():
            print(verb.usage)
        print("\nTargets:")
        for name in INSTRUMENTED:
            print(f"    {name:12} {load(name).title}")
        return OK
    first = words.pop(0)
    if first in VERBS:
        return VERBS[first].execute(words)
    if first not in INSTRUMENTED:
        return wrong(f"there is no target {first!r}; the targets are: {', '.join(INSTRUMENTED)}")
    return _fuzz(first, words)


def unsupported(version: tuple[int, int], system: str, machine: str) -> str | None:
    """Why the fuzzer cannot run here, or None. Only where atheris has wheels, no compiler needed.

    The dependency group `fuzz` carries the same condition.
    """
    first, last = _SUPPORTED
    if first <= version <= last and (system, machine) == ("Linux", "x86_64"):
        return None
    return (
        f"atheris is built for Python {first[0]}.{first[1]} to {last[0]}.{last[1]} on Linux x86_64;"
        f" this is Python {version[0]}.{version[1]} on {system} {machine}"
    )


def _fuzz(name: str, words: list[str]) -> int:
    reason = unsupported(sys.version_info[:2], platform.system(), platform.machine())
    if reason is not None:
        print(f"skipped: {reason}")
        return OK
    if find_spec("atheris") is None:
        return wrong("atheris is not installed here; run it as: tox -e fuzz -- " + name)
    work = work_folder(name)
    findings = work / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    started = time.time_ns()
    flags = [word for word in words if word.startswith("-")]
    folders = [Path(word) for word in words if not word.startswith("-")] or [work / "corpus"]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "codemode_fuzz.engine", name, str(findings)),
            # Our own clock ends an input that takes too long.
            *("-timeout=0", "-print_final_stats=1", f"-artifact_prefix={findings}{os.sep}"),
            *_dictionary(name),
            *([] if any(word.startswith(_LIMITS) for word in flags) else [_MINUTE]),
            *flags,
            *map(str, folders),
            *(str(kept) for kept in [corpus(name)] if kept.is_dir()),
        ],
        check=False,
    )
    new = [path for path in files([findings]) if path.stat().st_mtime_ns >= started]
    homes = sorted({path.parent if path.parent != findings else path for path in new})
    for home in homes:
        print(f"finding: {home}")
    if ended.returncode:
        print(f"the fuzzer ended with status {ended.returncode}", file=sys.stderr)
    return FOUND if homes or ended.returncode else OK


def _dictionary(name: str) -> list[str]:
    path = corpus(name).parents[1] / "dictionaries" / f"{name}.dict"
    return [f"-dict={path}"] if path.is_file() else []
