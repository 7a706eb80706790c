"""Verdicts: what the suite says of one layer of one case, and of the case as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from codemode_spec import Case, Requirement

    from codemode_conformance.observation import Observation


class Verdict(StrEnum):
    """What is said of one (case, layer), and of a case; NOT_REACHED only of a layer."""

    PASS = "pass"  # noqa: S105  a verdict, no password
    FAIL = "fail"
    ERROR = "error"
    UNSUPPORTED = "unsupported"
    UNTESTABLE = "untestable"
    XFAIL = "xfail"
    XPASS = "xpass"
    FLAKY = "flaky"
    NOT_REACHED = "not_reached"


WORST_FIRST: Final = (
    Verdict.ERROR,
    Verdict.FAIL,
    Verdict.FLAKY,
    Verdict.XPASS,
    Verdict.XFAIL,
    Verdict.PASS,
    Verdict.UNTESTABLE,
    Verdict.UNSUPPORTED,
)


LOOK_AT: Final = (Verdict.FAIL, Verdict.ERROR, Verdict.FLAKY, Verdict.XPASS)
"""Verdicts that a person has to look at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for one layer: the verdict, with what was expected and observed."""

    verdict: Verdict
    reason: str = ""
    expected: str = ""
    observed: str = ""


PASSED: Final = Finding(Verdict.PASS)


def failed(expected: str, observed: str, reason: str = "") -> Finding:
    """A finding that says FAIL."""
    return Finding(Verdict.FAIL, reason, expected, observed)


@dataclass(frozen=True, slots=True)
class LayerVerdict:
    """The finding for one layer under its requirement."""

    layer: str
    requirement: Requirement
    finding: Finding

    @property
    def verdict(self) -> Verdict:
        """The verdict of the finding."""
        return self.finding.verdict

    @property
    def decides(self) -> bool:
        """Whether a FAIL here is one of a MUST, and so makes the target not conforming."""
        return self.requirement.level == "MUST"


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """All layers of one case in their order, and what was seen.

    `repeats` has the verdicts of the single runs where the case was run several times on purpose.
    """

    case: Case
    layers: tuple[LayerVerdict, ...]
    observation: Observation
    seconds: float = 0.0
    repeats: tuple[Verdict, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the layers that were reached."""
        there = {layer.verdict for layer in self.layers}
        return next(verdict for verdict in WORST_FIRST if verdict in there)
