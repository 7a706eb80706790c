"""Disputed cases: the suite's own list of cases of which it is not known whether they are right.

What such a case shows is told in every report and not judged: neither a PASS nor a FAIL counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from codemode_conformance.verdicts import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

FILE: Final = "quarantine.json"
_JUDGED: Final = (Verdict.PASS, Verdict.FAIL, Verdict.FLAKY)


@dataclass(frozen=True, slots=True)
class Dispute:
    """One case, or one layer of it, with the reason, a link to the discussion, and its date."""

    case: str
    reason: str
    link: str
    since: str
    layer: str | None = None


@cache
def disputes() -> tuple[Dispute, ...]:
    """The list that is shipped with the suite."""
    data = json.loads((files(__package__) / FILE).read_text(encoding="utf-8"))
    return tuple(Dispute(**entry) for entry in data["disputed"])


def set_apart(entry: CaseVerdict, listed: Iterable[Dispute]) -> CaseVerdict:
    """The verdict with each disputed layer `untestable`; what was observed stays."""
    of_case = [dispute for dispute in listed if dispute.case == entry.case.id]
    if not of_case:
        return entry
    return replace(entry, layers=tuple(_layer(layer, of_case) for layer in entry.layers))


def _layer(layer: LayerVerdict, listed: Iterable[Dispute]) -> LayerVerdict:
    found = [dispute for dispute in listed if dispute.layer in (None, layer.layer)]
    if not found or layer.verdict not in _JUDGED:
        return layer
    reason = f"disputed: {found[0].reason} ({found[0].link}); seen: {layer.verdict}"
    seen = layer.finding
    return replace(layer, finding=Finding(Verdict.UNTESTABLE, reason, seen.expected, seen.observed))
