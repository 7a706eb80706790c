"""What the command does besides fuzzing; none of it needs atheris."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_fuzz import tabling
from codemode_fuzz.agreeing import NoAnswerError, NoNodeError, disagreements, inputs
from codemode_fuzz.covering import ASKED, LEAST, covered
from codemode_fuzz.merging import MERGED, merge_folders
from codemode_fuzz.promoting import FOUND as FOUND_PREFIX
from codemode_fuzz.promoting import promote
from codemode_fuzz.proving import prove
from codemode_fuzz.replay import corpus, files, replay
from codemode_fuzz.targets import FAST, INSTRUMENTED, load
from codemode_fuzz.walking import walk
from codemode_fuzz.workplace import work_folder

if TYPE_CHECKING:
    from collections.abc import Callable

OK, FOUND, USAGE = 0, 1, 2
_WALK_RUNS: Final = 1_000
_AGREE_RUNS: Final = 1_000
_SHOWN: Final = 20


_SCRIPT: Final = """\
import sys

import atheris
from codemode_fuzz.engine import standing

standing(atheris, "{name}", sys.argv)
"""


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: its lines of usage, and what it does with the words after it."""

    usage: str
    execute: Callable[[list[str]], int]


def wrong(problem: str) -> int:
    """Say what is wrong with the command line; the exit status for it."""
    print(f"codemode_fuzz: {problem}", file=sys.stderr)
    return USAGE


def _unknown(names: list[str]) -> int | None:
    """The exit status for names that are no targets, or None."""
    bad = [name for name in names if name not in INSTRUMENTED]
    if bad:
        return wrong(f"there is no target {bad[0]!r}; the targets are: {', '.join(INSTRUMENTED)}")
    return None


def _replay(words: list[str]) -> int:
    names, paths = words[:1] or [""], [Path(word) for word in words[1:]]
    if (status := _unknown(names)) is not None:
        return status
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        return wrong(f"there is no {', '.join(missing)}")
    paths = paths or [corpus(names[0])]
    found = 0
    for path, problem in replay(load(names[0]).check, paths):
        found += 1
        print(f"{path}: {problem}")
    print(f"{len(files(paths))} inputs, {found} findings")
    return FOUND if found else OK


def _seeds(words: list[str]) -> int:
    if (status := _unknown(words[:1] or [""])) is not None:
        return status
    if len(words) > 2:
        return wrong("seeds takes a target and at most one folder")
    seeds = load(words[0]).seeds()
    folder = Path(words[1]) if len(words) == 2 else corpus(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    if len(words) == 1:
        for path in files([folder]):
            if path.stem not in seeds and not path.name.startswith((FOUND_PREFIX, MERGED)):
                path.unlink()
    for seed, data in seeds.items():
        (folder / f"{seed}.bin").write_bytes(data)
    print(f"{len(seeds)} seeds, {sum(map(len, seeds.values()))} bytes")
    return OK


def _walk(words: list[str]) -> int:
    flags = {"-runs": _WALK_RUNS, "-seed": 1, "-first": 0, "-max_total_time": 0}
    names = []
    for word in words:
        flag, _, number = word.partition("=")
        if flag in flags and number.isdigit():
            flags[flag] = int(number)
        elif word.startswith("-"):
            return wrong(f"{word}: walk takes {', '.join(f'{flag}=N' for flag in flags)}")
        else:
            names.append(word)
    if (status := _unknown(names)) is not None:
        return status
    found = 0
    for name in names or INSTRUMENTED:
        target = load(name)
        findings = work_folder(name) / "findings"
        done = walk(
            name,
            target,
            [path.read_bytes() for path in files([corpus(name)])],
            findings,
            runs=flags["-runs"],
            seed=flags["-seed"],
            first=flags["-first"],
            seconds=flags["-max_total_time"] or float("inf"),
        )
        found += len(done.homes)
        for home in sorted(done.homes):
            print(f"finding: {home}")
        rate = done.runs / done.seconds if done.seconds else 0
        print(f"{name}: {done.runs} inputs in {done.seconds:.1f} s, {rate:.0f} a second")
    return FOUND if found else OK


def _merge(words: list[str]) -> int:
    if (status := _unknown(words[:1] or [""])) is not None:
        return status
    name, folders = words[0], [Path(word) for word in words[1:]]
    folders = folders or [work_folder(name) / "corpus"]
    missing = [str(path) for path in folders if not path.is_dir()]
    if missing:
        return wrong(f"there is no folder {', '.join(missing)}")
    looked_at, written = merge_folders(name, INSTRUMENTED[name], load(name).check, folders)
    for path in written:
        print(path)
    print(f"{looked_at} inputs, of which {len(written)} reach what the corpus did not")
    return OK


def _coverage(words: list[str]) -> int:
    if (status := _unknown(words)) is not None:
        return status
    if len(words) != 1:
        # A process each: what is imported already is not measured.
        command = [sys.executable, "-m", "codemode_fuzz", "coverage"]
        ended = [subprocess.run([*command, name], check=False) for name in words or FAST]
        return max(one.returncode for one in ended)
    try:
        found = covered(words[0])
    except ImportError:
        return wrong("the package coverage is not installed here; it comes with the tests")
    except ValueError as error:
        print(f"codemode_fuzz: {error}", file=sys.stderr)
        return FOUND
    low = False
    for one in found:
        asked = one.module.rpartition(".")[2] in ASKED.get(one.target, ())
        short = asked and one.branches < LEAST
        low = low or short
        mark = f"  less than {LEAST:g} %" if short else ""
        print(
            f"{one.target:10} {one.module:36} {one.inputs:5} inputs"
            f" {one.lines:6.1f} % lines {one.branches:6.1f} % branches{mark}"
        )
    return FOUND if low else OK


def _table(words: list[str]) -> int:
    try:
        if len(words) > 1:
            if (status := _unknown(words[:1])) is not None:
                return status
            tabling.keep(words[0], [Path(word) for word in words[1:]])
            return OK
        if words not in ([], ["write"], ["check"]):
            return wrong("table takes write, check, or a target and what its runs printed")
        lines = tabling.measured()
    except (ValueError, OSError) as error:
        return wrong(str(error))
    if words == ["write"]:
        tabling.write(lines)
    there = tabling.on_page(tabling.PAGE.read_text("utf-8")) if words else lines
    for line in lines:
        print(line if line in there else f"{line}  not on the page")
    return OK if lines == there else FOUND


def _prove(words: list[str]) -> int:
    if len(words) > 1 or not all(word.isdigit() for word in words):
        return wrong("prove takes one number, the seed")
    held = True
    for proof in prove(int(words[0]) if words else 1):
        held = held and proof.holds
        plant = proof.plant
        how = f"after {proof.runs} inputs" if proof.runs is not None else "NOT FOUND"
        print(f"{plant.name} in {plant.target}: {plant.title}")
        print(f"    {proof.shown_by} of {proof.inputs} inputs of the corpus show it")
        print(f"    mutation of the others: {how}, {proof.seconds:.2f} s: {proof.finding}")
        if not proof.clean:
            print("    and it is found without the plant as well")
    return OK if held else FOUND


def _promote(words: list[str]) -> int:
    if len(words) != 3:
        return wrong("promote takes a target, a finding (its folder or input) and a name")
    if (status := _unknown(words[:1])) is not None:
        return status
    try:
        written = promote(words[0], Path(words[1]), words[2])
    except (ValueError, OSError) as error:
        return wrong(str(error))
    for path in written:
        print(path)
    return OK


def _list(words: list[str]) -> int:
    if words:
        return wrong("list takes nothing more")
    print(*FAST, sep="\n")
    return OK


def _script(words: list[str]) -> int:
    if (status := _unknown(words or [""])) is not None or len(words) != 1:
        return wrong("script takes one target") if status is None else status
    print(_SCRIPT.format(name=words[0]), end="")
    return OK


def _agree(words: list[str]) -> int:
    numbers = [int(word) for word in words if word.isdigit()]
    if len(numbers) != len(words) or len(words) > 2:
        return wrong("agree takes a number of mutations and a seed")
    runs = numbers[0] if numbers else _AGREE_RUNS
    seed = numbers[1] if len(numbers) > 1 else 1
    try:
        asked, parted = disagreements(inputs(runs, seed))
    except NoNodeError as error:
        print(f"skipped: {error}")
        return OK
    except NoAnswerError as error:
        print(error)
        return FOUND
    for one in parted[:_SHOWN]:
        print(f"{one.data[:200]!r}: {one.ours} here, {one.theirs} in Node")
    print(f"{asked} questions, {len(parted)} disagreements")
    return FOUND if parted else OK


VERBS: Final = {
    "list": Verb("python -m codemode_fuzz list\n    the fast targets, one a line", _list),
    "script": Verb(
        "python -m codemode_fuzz script TARGET\n"
        "    a fuzzer of one target as a file of its own, as ClusterFuzzLite builds them",
        _script,
    ),
    "replay": Verb(
        "python -m codemode_fuzz replay TARGET [PATH ...]\n"
        "    files, or the corpus of the repository, through the oracle",
        _replay,
    ),
    "walk": Verb(
        "python -m codemode_fuzz walk [TARGET ...] [-runs=N] [-seed=K] [-first=I] "
        "[-max_total_time=S]\n"
        "    the inputs I to I+N of a seed, by the mutators alone: no atheris, the same each time",
        _walk,
    ),
    "seeds": Verb(
        "python -m codemode_fuzz seeds TARGET [FOLDER]\n"
        "    write the seeds that the mutators make; without FOLDER those of the repository, anew",
        _seeds,
    ),
    "merge": Verb(
        "python -m codemode_fuzz merge TARGET [FOLDER ...]\n"
        "    keep what reaches more than the corpus does, from the folders or from earlier runs",
        _merge,
    ),
    "coverage": Verb(
        "python -m codemode_fuzz coverage [TARGET ...]\n"
        "    the lines and branches that the corpus alone reaches",
        _coverage,
    ),
    "table": Verb(
        "python -m codemode_fuzz table [write | check | TARGET LOG ...]\n"
        "    the table of the documentation, measured; with logs, keep what these runs came to",
        _table,
    ),
    "prove": Verb(
        "python -m codemode_fuzz prove [SEED]\n"
        "    plant faults in the reference and find each from the corpus within a minute of work",
        _prove,
    ),
    "agree": Verb(
        "python -m codemode_fuzz agree [RUNS [SEED]]\n"
        "    frames and sizes, the corpora and mutations of them, by the reading in JavaScript too",
        _agree,
    ),
    "promote": Verb(
        "python -m codemode_fuzz promote TARGET FINDING NAME\n"
        "    keep the input of a finding in the corpus, as a vector too where there are vectors",
        _promote,
    ),
}
