"""`cmconf mutants`: show that the cases find faults, on variants of the reference with one each."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import codemode_spec

from codemode_conformance import recordings
from codemode_conformance.commands.planning import whole
from codemode_conformance.failures import UsageError
from codemode_conformance.install import install
from codemode_conformance.mutants import record
from codemode_conformance.mutants.matrix import Matrix
from codemode_conformance.mutants.mutant import contents, load, misfits, reference
from codemode_conformance.mutants.trial import QUICK_SAMPLE, Plan, run
from codemode_conformance.target import find_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec import Specification

    from codemode_conformance.mutants.mutant import Mutant
    from codemode_conformance.mutants.trial import Result

MOST_JOBS: Final = 16
WHOLE_SAMPLE: Final = 16
"""How many unrelated cases a whole run puts to a mutant."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf mutants`."""
    parser = commands.add_parser(
        "mutants",
        help="show that the cases find faults",
        description="Put the cases to variants of the reference that have one fault each. Every "
        "fault must be found by a case of the requirement that it breaks, in the layer in which it "
        "shows, while other cases go on passing. Exit: 0 when each is, 1 when not.",
    )
    parser.add_argument(
        "--mutant",
        action="append",
        default=[],
        metavar="NAME",
        help="this mutant, or all of an area, as `tim`; may be given more than once",
    )
    parser.add_argument(
        "--jobs",
        type=lambda text: whole(text, 1, MOST_JOBS),
        default=1,
        metavar="N",
        help="try N at once",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="put every case to each mutant, not those of its requirements and a sample",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        default=(1, 1),
        metavar="I/N",
        help="every N-th mutant, beginning with the I-th",
    )
    parser.add_argument(
        "--part",
        type=_part,
        metavar="N",
        help="one N-th of them, chosen by the sources of the reference: always the same for the "
        "same sources, and others after each change",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="record which cases turned red; what was recorded of another version of a mutant or "
        "case goes, and so does a case that now passes each of several times",
    )
    parser.add_argument(
        "--stale",
        action="store_true",
        help="those alone of which the record lacks something",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="put all cases of its requirements to each mutant, not those alone that it takes to "
        "show it",
    )
    parser.add_argument(
        "--unshown",
        action="store_true",
        help="put to each mutant also those cases of its requirements that no mutant has turned "
        "red yet, the one after the other until one does",
    )
    parser.add_argument(
        "--sample",
        type=_part,
        metavar="N",
        help="how many unrelated cases are put to each mutant",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="run nothing: check that each mutant fits the reference, that the record is up to "
        "date, and that every case of the core classes was shown red",
    )
    parser.set_defaults(execute=execute)


def _shard(text: str) -> tuple[int, int]:
    first, _, last = text.partition("/")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r} is no I/N with I from 1 to N")
    return int(first), int(last)


def _part(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def execute(arguments: argparse.Namespace) -> int:
    """Try the chosen mutants, print the matrix, write the record if asked."""
    specification = codemode_spec.shipped()
    mutants = load(specification)
    known = record.read()
    if arguments.check:
        return _check(mutants, known, specification)
    chosen = _chosen(mutants, arguments)
    if arguments.stale:
        chosen = [mutant for mutant in chosen if known.missing(mutant, specification)]
    plan = _plan(mutants, known, specification, arguments)
    matrix = Matrix(chosen, lambda line: print(line, flush=True))
    started = time.monotonic()
    results: list[Result] = []
    for result in _run(chosen, plan, arguments.jobs):
        results.append(result)
        matrix.row(result)
        if arguments.write:
            # At once: a long run that is interrupted has not been for nothing.
            _write(known, results, mutants, specification)
    matrix.end(results, time.monotonic() - started)
    return 1 if any(result.problems for result in results) else 0


def _write(
    known: record.Record,
    results: list[Result],
    mutants: Mapping[str, Mutant],
    specification: Specification,
) -> None:
    path = record.place() / record.RECORD
    part = path.with_name(path.name + ".part")
    tried = [result for result in results if result.fault is None]
    part.write_text(record.text(known, tried, mutants, specification), encoding="utf-8")
    part.replace(path)


def _run(chosen: list[Mutant], plan: Plan, jobs: int) -> Iterator[Result]:
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="cmconf-mutant")
    try:
        yield from executor.map(lambda mutant: run(mutant, plan), chosen)
    finally:
        # What runs comes to its end, which each case has within its deadline; nothing new starts.
        executor.shutdown(cancel_futures=True)


def _chosen(mutants: Mapping[str, Mutant], arguments: argparse.Namespace) -> list[Mutant]:
    for name in arguments.mutant:
        if name not in mutants and name not in {one.area.lower() for one in mutants.values()}:
            areas = " ".join(sorted({one.area.lower() for one in mutants.values()}))
            raise UsageError(f"--mutant {name}: there is none; areas with mutants: {areas}")
    asked = arguments.mutant or ["all"]

    def place(name: str) -> int:
        """Where it is asked for: what is named first is tried first."""
        mutant = mutants[name]
        names = (name, mutant.area.lower(), "all")
        return min((asked.index(one) for one in names if one in asked), default=-1)

    wanted = [
        mutants[name]
        for name in sorted(mutants, key=lambda name: (place(name), name))
        if place(name) >= 0
    ]
    first, every = arguments.shard
    if arguments.part:
        first, every = contents(reference()) % arguments.part + 1, arguments.part
    return wanted[first - 1 :: every]


def _plan(
    mutants: Mapping[str, Mutant],
    known: record.Record,
    specification: Specification,
    arguments: argparse.Namespace,
) -> Plan:
    whole = arguments.whole or arguments.all
    sample = arguments.sample or (WHOLE_SAMPLE if whole else QUICK_SAMPLE)
    recording = recordings.read(recordings.shipped().read_text(encoding="utf-8"))
    values = {}
    for name in sorted({mutant.target for mutant in mutants.values()}):
        values[name] = install(find_target(name), lambda line: print(line, file=sys.stderr)).values
    return Plan(
        specification=specification,
        package=reference(),
        values=values,
        known={
            name: tuple(known.current(mutant, specification)) for name, mutant in mutants.items()
        },
        took_ms={
            name: sum(
                one.elapsed_ms for one in (*recorded.observation.runs, *recorded.observation.then)
            )
            for name, recorded in recording.items()
        },
        whole=whole,
        unshown=_unshown(mutants, known, specification) if arguments.unshown else set(),
        sample=None if arguments.all else sample,
    )


def _unshown(
    mutants: Mapping[str, Mutant], known: record.Record, specification: Specification
) -> set[str]:
    covered, _ = record.coverage(known, mutants, specification)
    return {*covered.by_doctor, *covered.missing}


def _check(
    mutants: Mapping[str, Mutant], known: record.Record, specification: Specification
) -> int:
    package = reference()
    wrong = [f"{m.name}: {text}" for m in mutants.values() for text in misfits(m, package)]
    coverage, problems = record.coverage(known, mutants, specification)
    for text in (*wrong, *map(str, problems)):
        print(text)
    if coverage.missing:
        told = ", ".join(coverage.missing)
        print(f"only doctored outcomes turn these red so far; a mutant may be found:\n  {told}")
    for why in dict.fromkeys(coverage.by_doctor.values()):
        names = [name for name, reason in coverage.by_doctor.items() if reason == why]
        print(f"only doctored outcomes turn these red: {why}\n  {', '.join(names)}")
    print(
        f"{len(mutants)} mutants; of the cases of {', '.join(record.CLASSES)} "
        f"{len(coverage.by_mutant)} were turned red by a mutant, "
        f"{len(coverage.by_doctor) + len(coverage.missing)} by doctored outcomes alone; "
        f"{len(wrong) + len(problems)} problems"
    )
    return 1 if wrong or problems else 0
