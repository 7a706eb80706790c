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

from codemode_fuzz.replay import corpus, files, replay
from codemode_fuzz.targets import INSTRUMENTED, load

if TYPE_CHECKING:
    from collections.abc import Sequence

_USAGE: Final = """\
python -m codemode_fuzz TARGET [-runs=N] [-max_total_time=S] [-seed=K] [FOLDER ...]
    fuzz; libFuzzer's flags are handed on, new inputs go to the first folder; a minute by default
python -m codemode_fuzz replay TARGET [PATH ...]
    files, or the corpus of the repository, through the oracle
python -m codemode_fuzz seeds TARGET FOLDER
    write the seeds that the mutators make

Targets:"""
_SUPPORTED: Final = ((3, 11), (3, 13))
_MINUTE: Final = "-max_total_time=60"
_LIMITS: Final = ("-runs=", "-max_total_time=")
OK, FOUND, USAGE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 nothing found, 1 findings, 2 usage."""
    words = list(arguments)
    if not words:
        print(_USAGE)
        for name in INSTRUMENTED:
            print(f"    {name:12} {load(name).title}")
        return OK
    command = words.pop(0) if words[0] in ("replay", "seeds") else "fuzz"
    name = words.pop(0) if words else ""
    if name not in INSTRUMENTED:
        return _wrong(f"there is no target {name!r}; the targets are: {', '.join(INSTRUMENTED)}")
    if command == "replay":
        return _replay(name, words)
    if command == "seeds":
        return _seeds(name, words)
    return _fuzz(name, words)


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


def work_folder(name: str) -> Path:
    """Where inputs and findings of a target are kept: in $CMCONF_CACHE, else `.cmconf-cache`."""
    return Path(os.environ.get("CMCONF_CACHE") or ".cmconf-cache").absolute() / "fuzz" / name


def _fuzz(name: str, words: list[str]) -> int:
    reason = unsupported(sys.version_info[:2], platform.system(), platform.machine())
    if reason is not None:
        print(f"skipped: {reason}")
        return OK
    if find_spec("atheris") is None:
        return _wrong("atheris is not installed here; run it as: tox -e fuzz -- " + name)
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


def _replay(name: str, words: list[str]) -> int:
    paths = [Path(word) for word in words] or [corpus(name)]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        return _wrong(f"there is no {', '.join(missing)}")
    found = 0
    for path, problem in replay(load(name).check, paths):
        found += 1
        print(f"{path}: {problem}")
    print(f"{len(files(paths))} inputs, {found} findings")
    return FOUND if found else OK


def _seeds(name: str, words: list[str]) -> int:
    if len(words) != 1:
        return _wrong("seeds takes a target and one folder")
    folder = Path(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = load(name).seeds()
    for seed, data in seeds.items():
        (folder / f"{seed}.bin").write_bytes(data)
    print(f"{len(seeds)} seeds, {sum(map(len, seeds.values()))} bytes")
    return OK


def _wrong(problem: str) -> int:
    print(f"codemode_fuzz: {problem}", file=sys.stderr)
    return USAGE
