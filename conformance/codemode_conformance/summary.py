"""A run of the suite as a whole: its counts, its exit code, and what it pins."""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codemode_conformance.baseline import Comparison
from codemode_conformance.capabilities import Powers
from codemode_conformance.outcomes import (
    CONFORMING,
    FAILED,
    INTERRUPTED,
    STALE_BASELINE,
    SUITE_FAULT,
)
from codemode_conformance.quarantine import Dispute, disputes, set_apart
from codemode_conformance.verdicts import LOOK_AT, Verdict
from codemode_conformance.watch import level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codemode_spec import Requirement, Specification

    from codemode_conformance.accuracy import Measured
    from codemode_conformance.identity import Identity
    from codemode_conformance.target import Target
    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

_JUDGED = (Verdict.PASS, Verdict.FAIL, Verdict.FLAKY, Verdict.XFAIL, Verdict.XPASS)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which cases a run was to put to its target, and how.

    `chosen` counts the cases in all shards, `shard` is (number, of). `seed` 0 keeps the order of
    ids. `filters` are the options that chose cases, as they were given.
    """

    chosen: int
    filters: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    seed: int = 0
    repeat: int = 1


@dataclass(slots=True)
class Summary:
    """What was run and what came of it. `of` is the number of cases there are in all.

    `left` counts command lines of processes that ran on when the target had been closed.
    `role` is the one in which the target was tested; `stopped` says why it ended early, if so.
    """

    specification: Specification
    target: Target
    identity: Identity
    effective: Mapping[str, Any]
    started: str
    of: int
    role: str = "engine"
    verdicts: list[CaseVerdict] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    stopped: str = ""
    plan: Plan | None = None
    comparison: Comparison = field(default_factory=Comparison)
    disputed: tuple[Dispute, ...] = field(default_factory=disputes)
    powers: Powers = field(default_factory=Powers)
    accuracy: list[Measured] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)

    def add(self, entry: CaseVerdict) -> CaseVerdict:
        """Take in the next verdict; returns it as it counts, by the quarantine and the baseline."""
        counted = self.comparison.hold(set_apart(entry, self.disputed))
        self.verdicts.append(counted)
        return counted

    @property
    def complete(self) -> bool:
        """Whether every case of the suite was run."""
        return len(self.verdicts) == self.of and not self.interrupted

    @property
    def totals(self) -> Counter[Verdict]:
        """Cases by verdict."""
        return Counter(entry.verdict for entry in self.verdicts)

    @property
    def classes(self) -> dict[str, Counter[Verdict]]:
        """(case, layer) pairs by class and verdict; layers that were not reached have none."""
        found: dict[str, Counter[Verdict]] = {}
        for layer in self.layers:
            counts = found.setdefault(layer.requirement.klass, Counter())
            if layer.verdict is not Verdict.NOT_REACHED:
                counts[layer.verdict] += 1
        return found

    @property
    def layers(self) -> list[LayerVerdict]:
        """All layers of all cases."""
        return [layer for entry in self.verdicts for layer in entry.layers]

    @property
    def reasons(self) -> Counter[str]:
        """Cases that could not be asked at all, by reason."""
        return Counter(
            entry.layers[0].finding.reason
            for entry in self.verdicts
            if entry.verdict is Verdict.UNSUPPORTED
        )

    @property
    def asked(self) -> list[Requirement]:
        """The requirements that this target is asked: MUST and SHOULD of the classes it claims."""
        claimed = {None, *self.identity.capabilities}
        return [
            item
            for item in self.specification.requirements.values()
            if item.level != "MAY" and item.capability in claimed and not item.untestable
        ]

    @property
    def not_judged(self) -> list[Requirement]:
        """Those of which nothing was judged: no case yet, another role, or not for this target."""
        judged = {layer.requirement.id for layer in self.layers if layer.verdict in _JUDGED}
        return [item for item in self.asked if item.id not in judged]

    @property
    def exit_code(self) -> int:
        """What `cmconf run` ends with."""
        found = ((layer.verdict, layer.decides) for layer in self.layers)
        return exit_code(
            found, interrupted=self.interrupted, stale=bool(self.comparison.complaints)
        )

    @property
    def failures(self) -> Sequence[CaseVerdict]:
        """The cases with something to look at: failed, flaky, or in error."""
        return [entry for entry in self.verdicts if entry.verdict in LOOK_AT]


def exit_code(layers: Iterable[tuple[Verdict, bool]], *, interrupted: bool, stale: bool) -> int:
    """The first that applies, from the verdicts of layers, each with whether a MUST is judged.

    `stale` says that an entry of the baseline does not hold.
    """
    found = set(layers)
    there = {verdict for verdict, _ in found}
    if interrupted:
        return INTERRUPTED
    if not there & {*_JUDGED, Verdict.ERROR}:
        return SUITE_FAULT
    if found & {(Verdict.FAIL, True), (Verdict.FLAKY, True)}:
        return FAILED
    if Verdict.ERROR in there:
        return SUITE_FAULT
    return STALE_BASELINE if stale or Verdict.XPASS in there else CONFORMING


def this_platform() -> dict[str, str]:
    """System, machine and Python, as reports name them."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def evidence_level() -> dict[str, str]:
    """The best level of evidence that there is here, and why it is not A, as reports name them."""
    name, why = level()
    return {"evidence_level": name, **({"evidence_reason": why} if why else {})}
