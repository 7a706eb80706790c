"""`cmconf selftest`: show that every case can pass, and that every layer of it can fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec
from codemode_spec import DEFAULT_PROFILE

from codemode_conformance import recordings
from codemode_conformance.commands.selection import add_selection, select
from codemode_conformance.failures import UsageError
from codemode_conformance.install import install
from codemode_conformance.recordings import Recorded
from codemode_conformance.roles import BUILT, role_of
from codemode_conformance.running import run_cases
from codemode_conformance.selftest import prove
from codemode_conformance.target import find_target, reference_of
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    import argparse

    from codemode_spec import Case, Specification

    from codemode_conformance.verdicts import CaseVerdict


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf selftest`."""
    parser = commands.add_parser(
        "selftest",
        help="show that every case can fail",
        description="Judge each case on recorded and made-up outcomes, right and doctored, without "
        "any target. Exit: 0 when every layer of every case was shown to pass and to fail.",
    )
    add_selection(parser)
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="first run the reference in each profile and write its observations of the chosen "
        "cases to FILE",
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Prove each case and count."""
    specification = codemode_spec.shipped()
    if arguments.record is not None:
        _record(specification, arguments.record, select(specification, arguments))
        recording = recordings.read(arguments.record.read_text(encoding="utf-8"))
    else:
        recording = recordings.read(recordings.shipped().read_text(encoding="utf-8"))
    proofs = [prove(case, specification, recording) for case in select(specification, arguments)]
    for proof in proofs:
        for gap in proof.gaps:
            print(f"GAP {proof.case}: {gap}")
    gaps = sum(len(proof.gaps) for proof in proofs)
    recorded = sum(proof.recorded for proof in proofs)
    layers = sum(len(specification.cases[proof.case].requirements) for proof in proofs)
    print(
        f"{len(proofs)} cases with {layers} layers in all, {recorded} of them recorded.\n"
        f"{sum(proof.passed for proof in proofs)} right outcomes, recorded and one for each legal "
        f"outcome, were judged: every layer passed.\n"
        f"{sum(proof.failed for proof in proofs)} doctored outcomes were judged: each failed "
        f"in the layer that was doctored.\n"
        f"{gaps} gaps."
    )
    return 1 if gaps else 0


def _record(specification: Specification, path: Path, chosen: list[Case]) -> None:
    """Each case from the reference in its default profile, else in the first that is asked it.

    What FILE holds of cases that are not chosen stays.
    """
    wanted = {case.id for case in chosen}
    entries: dict[str, Recorded] = {}
    others = sorted(set(specification.tables.profiles) - {DEFAULT_PROFILE})
    for profile in (DEFAULT_PROFILE, *others):
        left = [case for case in chosen if case.id not in entries]
        for entry in _run(specification, profile, left):
            if entry.verdict is Verdict.PASS:
                digest = specification.digests[entry.case.id]
                entries[entry.case.id] = Recorded(digest, entry.observation, profile)
    if path.is_file():
        kept = recordings.read(path.read_text(encoding="utf-8"))
        there = specification.cases.keys() - wanted
        entries |= {name: entry for name, entry in kept.items() if name in there}
    path.write_text(recordings.dump(entries.values()), encoding="utf-8")


def _run(specification: Specification, profile: str, cases: list[Case]) -> list[CaseVerdict]:
    target = find_target(reference_of(profile))
    installed = install(target, lambda line: print(line, file=sys.stderr))
    verdicts: list[CaseVerdict] = []
    left = {case.id: case for case in cases}
    for name in target.roles:
        asked = [left.pop(case.id) for case in list(left.values()) if name in case.roles]
        if name not in BUILT or not asked:
            continue
        with role_of(installed, name) as role:
            identity = role.start()
            verdicts += run_cases([role], identity, specification, asked, name)
    bad = [entry.case.id for entry in verdicts if entry.verdict in (Verdict.FAIL, Verdict.ERROR)]
    if bad:
        raise UsageError(f"{target.name} does not pass {', '.join(bad)}; record when it does")
    return verdicts
