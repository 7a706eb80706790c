"""A run of the suite as a whole: its counts, its exit code, and what it pins."""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from codemode_conformance.verdicts import LOOK_AT, Verdict
from codemode_conformance.watch import level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_spec import Requirement, Specification

    from codemode_conformance.identity import Identity
    from codemode_conformance.target import Target
    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

CONFORMING = 0
FAILED = 1
SUITE_FAULT = 5
INTERRUPTED = 130


def suite_version() -> str:
    """The version of this distribution."""
    return version("codemode-conformance")


@dataclass(slots=True)
class Summary:
    """What was run and what came of it. `of` is the number of cases there are in all.

    `role` is the one in which the target was tested.
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
        judged = {
            layer.requirement.id
            for layer in self.layers
            if layer.verdict in (Verdict.PASS, Verdict.FAIL, Verdict.FLAKY)
        }
        return [item for item in self.asked if item.id not in judged]

    @property
    def exit_code(self) -> int:
        """The first that applies of what `cmconf run` may end with."""
        if self.interrupted:
            return INTERRUPTED
        judged = (Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.FLAKY)
        if not any(entry.verdict in judged for entry in self.verdicts):
            return SUITE_FAULT
        if any(
            layer.verdict in (Verdict.FAIL, Verdict.FLAKY) and layer.decides
            for layer in self.layers
        ):
            return FAILED
        if any(layer.verdict is Verdict.ERROR for layer in self.layers):
            return SUITE_FAULT
        return CONFORMING

    @property
    def failures(self) -> Sequence[CaseVerdict]:
        """The cases with something to look at: failed, flaky, or in error."""
        return [entry for entry in self.verdicts if entry.verdict in LOOK_AT]


def this_platform() -> dict[str, str]:
    """System, machine and Python, as reports name them."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "evidence_level": level(),
    }
