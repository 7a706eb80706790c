"""One mutant before the cases: those of its requirements, and a sample of all others."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from codemode_conformance.applicability import obstacle
from codemode_conformance.failures import ConformanceError
from codemode_conformance.install import Installed
from codemode_conformance.mutants.copy import mutated
from codemode_conformance.mutants.mutant import shown_by, shows
from codemode_conformance.roles import role_of
from codemode_conformance.running import Bench
from codemode_conformance.target import find_target
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from codemode_spec import Case, Specification

    from codemode_conformance.mutants.copy import Copy
    from codemode_conformance.mutants.mutant import Mutant
    from codemode_conformance.roles import Role
    from codemode_conformance.target import Command

LEAST_PASSING: Final = 0.8
"""The share of unrelated cases that a mutant with one fault lets pass."""

QUICK_SAMPLE: Final = 5
"""How many unrelated cases are put to a mutant unless more are asked for."""

GREENS: Final = 3
"""So often in a row a case that is recorded as red has to pass before the record is withdrawn:
once, it may by chance."""

PASSING: Final = (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.UNTESTABLE)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is put to each mutant.

    `package` is the reference; `known` names the cases that caught a mutant before, which come
    first. With `whole`, no case of its requirements is left out once it is caught; nor are those in
    `unshown`, which no mutant has turned red: they come before all others, and leave the set with
    the first mutant that does. `sample` is the number of unrelated cases, of those that take no
    longer than `slowest_ms` as far as `took_ms` tells; None takes every one.
    """

    specification: Specification
    package: Path
    values: Mapping[str, Mapping[str, str]]
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    took_ms: Mapping[str, float] = field(default_factory=dict)
    whole: bool = False
    unshown: set[str] = field(default_factory=set)
    sample: int | None = QUICK_SAMPLE
    slowest_ms: float = 200.0


@dataclass(slots=True)
class Result:
    """What came of one mutant: which layers of which of the `cases` were red, what else was asked.

    `withdrawn` were red before and have passed each of GREENS times. `fault` says why it was not
    tried at all.
    """

    mutant: Mutant
    cases: Mapping[str, Case]
    red: dict[str, list[str]] = field(default_factory=dict)
    related: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    fault: str | None = None
    seconds: float = 0.0

    def catching(self, requirement: str, layer: str) -> list[str]:
        """The cases that show that the requirement is broken in this layer."""
        return [
            name
            for name, failed in self.red.items()
            if shows(self.cases[name], failed, requirement, layer)
        ]

    @property
    def missed(self) -> list[tuple[str, str]]:
        """The pairs that no case caught."""
        return [pair for pair in self.mutant.pairs if not self.catching(*pair)]

    @property
    def share(self) -> float:
        """The share of the unrelated cases that passed."""
        asked = len(self.passed) + len(self.others)
        return len(self.passed) / asked if asked else 1.0

    @property
    def problems(self) -> list[str]:
        """Why the mutant does not count as caught; empty if it does."""
        if self.fault is not None:
            return [self.fault]
        found = [f"no case of {name} fails in {layer}" for name, layer in self.missed]
        if self.share < LEAST_PASSING:
            failed = ", ".join(self.others[:5])
            found.append(f"only {self.share:.0%} of unrelated cases pass (not {failed})")
        return found


def run(mutant: Mutant, plan: Plan) -> Result:
    """Start the mutant once and put its cases to it; whatever goes wrong is part of the result."""
    result = Result(mutant, plan.specification.cases)
    started = time.monotonic()
    try:
        with mutated(mutant, plan.package) as copy:
            _put(mutant, plan, copy, result)
    except ConformanceError as error:
        result.fault = str(error)
    except Exception as error:  # noqa: BLE001  one mutant must not end the others
        result.fault = f"a fault of the suite itself: {type(error).__name__}: {error}"
    plan.unshown.difference_update(shown_by(mutant, result.red, plan.specification.cases))
    result.seconds = time.monotonic() - started
    return result


def _put(mutant: Mutant, plan: Plan, copy: Copy, result: Result) -> None:
    specification = plan.specification
    with role_of(_installed(mutant, plan, copy), mutant.role) as role:
        identity = role.start()
        asked = [
            case
            for case in specification.cases.values()
            if obstacle(case, identity, mutant.role) is None
        ]
        bench = Bench(role, identity, specification, keeps=True)
        for case in _related(mutant, plan, asked):
            # A case that could only show what was shown already waits for a whole run.
            wanted = mutant.pairs if case.id in plan.unshown else result.missed
            if plan.whole or any(shows(case, case.requirements, *pair) for pair in wanted):
                result.related.append(case.id)
                _put_case(case, plan, bench, role, result)
        for case in _unrelated(mutant, plan, asked):
            passed = _put_case(case, plan, bench, role, result) in PASSING
            (result.passed if passed else result.others).append(case.id)
    if copy.unread:
        result.fault = f"nothing has read {', '.join(copy.unread)}: the fault was never there"


def _installed(mutant: Mutant, plan: Plan, copy: Copy) -> Installed:
    """The reference's own target, whose processes find the copy before what is installed."""
    target = find_target(mutant.target)
    path = {
        "PYTHONPATH": str(copy.folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        # Made by its first start from the changed sources, and used by all others.
        "CODEMODE_WORKER_PROGRAM": str(copy.folder / "worker.pyc"),
    }

    def moved(command: Command) -> Command:
        return dataclasses.replace(command, env={**command.env, **path})

    def beside(command: Command | None) -> Command | None:
        return command and moved(command)

    server = target.server
    if server is not None:
        starts = {name: moved(command) for name, command in server.starts.items()}
        server = dataclasses.replace(server, command=beside(server.command), starts=starts)
    found = dataclasses.replace(
        target,
        server=server,
        engine=beside(target.engine),
        worker=beside(target.worker),
        parent=beside(target.parent),
    )
    return Installed(found, plan.values[target.name])


def _related(mutant: Mutant, plan: Plan, asked: list[Case]) -> Iterator[Case]:
    """The cases of its requirements: the unshown, those that caught it before, then short ones."""
    known = plan.known.get(mutant.name, ())
    claiming = mutant.claiming({case.id: case for case in asked})

    def order(case: Case) -> tuple[bool, int, float, str]:
        place = known.index(case.id) if case.id in known else len(known)
        return (
            case.id not in plan.unshown,
            place,
            plan.took_ms.get(case.id, plan.slowest_ms),
            case.id,
        )

    yield from sorted(claiming, key=order)


def _unrelated(mutant: Mutant, plan: Plan, asked: list[Case]) -> list[Case]:
    """Others, chosen by the mutant's name: the same at each run, and no case by all of them."""
    claiming = {case.id for case in mutant.claiming({case.id: case for case in asked})}
    others = [case for case in asked if case.id not in claiming]
    if plan.sample is None:
        return others
    short = [case for case in others if plan.took_ms.get(case.id, 0.0) <= plan.slowest_ms]

    def order(case: Case) -> bytes:
        return hashlib.sha256(f"{mutant.name} {case.id}".encode()).digest()

    return sorted(short, key=order)[: plan.sample]


def _put_case(case: Case, plan: Plan, bench: Bench, role: Role, result: Result) -> Verdict:
    """Judge one case; again, in a process of its own, if it was red before and passes."""
    verdict = _judge(bench, role, case, result)
    if case.id not in plan.known.get(result.mutant.name, ()):
        return verdict
    greens = 0
    while verdict is Verdict.PASS:
        greens += 1
        if greens == GREENS:
            result.withdrawn.append(case.id)
            break
        role.restart()
        verdict = _judge(bench, role, case, result)
    return verdict


def _judge(bench: Bench, role: Role, case: Case, result: Result) -> Verdict:
    verdict = bench.judge(case)
    if verdict.verdict in (Verdict.ERROR, Verdict.FLAKY):
        # The machine may have been busy for a moment: once more in a process of its own.
        role.restart()
        verdict = bench.judge(case)
    failed = [layer.layer for layer in verdict.layers if layer.verdict is Verdict.FAIL]
    if failed:
        result.red[case.id] = failed
    return verdict.verdict


def counted(results: list[Result]) -> dict[str, int]:
    """How many mutants each case has caught."""
    found: dict[str, int] = defaultdict(int)
    for result in results:
        for case in result.red:
            found[case] += 1
    return dict(found)
