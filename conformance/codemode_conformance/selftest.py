"""Every case can pass, and every layer of it can fail: shown on outcomes without any target.

A case is judged on its recorded outcome and on one made up for each legal outcome under each
choice of alternatives; all of these must pass. Each of them is then doctored, layer by layer, and
must be FAIL in just that layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from codemode_spec import DEFAULT_PROFILE, LAYERS, NotApplicable
from codemode_spec.cases import WRAPPER

from codemode_conformance.doctor import choices, correct
from codemode_conformance.identity import MODULES
from codemode_conformance.judge import Standing, judge
from codemode_conformance.verdicts import CaseVerdict, Verdict
from codemode_conformance.wrongs import doctored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec import Case, ReadyCase, Specification

    from codemode_conformance.observation import Observation
    from codemode_conformance.recordings import Recorded

ALL_CLAIMED: Final = Standing(MODULES, "typed")


@dataclass(frozen=True, slots=True)
class CaseProof:
    """What was shown for one case: outcomes that passed, doctored ones that failed, and gaps."""

    case: str
    recorded: bool
    passed: int
    failed: int
    gaps: tuple[str, ...]


def prove(case: Case, specification: Specification, recording: Mapping[str, Recorded]) -> CaseProof:
    """Judge every correct and every doctored outcome of a case; each surprise is a gap."""
    gaps: list[str] = []
    red: set[str] = set()
    passed = failed = 0
    recorded = recording.get(case.id)
    if recorded is not None and recorded.digest != specification.digests[case.id]:
        gaps.append("the recording is of another version of the case; record it again")
        recorded = None
    for origin, ready, observation in _correct(case, specification, recorded):
        verdict = judge(case, ready, observation, specification.requirements, ALL_CLAIMED)
        if verdict.verdict is not Verdict.PASS:
            gaps.append(f"{origin}: a correct outcome is judged {_told(verdict)}")
            continue
        passed += 1
        for layer, what, wrong in doctored(ready, observation):
            if layer not in case.requirements:
                continue
            verdict = judge(case, ready, wrong, specification.requirements, ALL_CLAIMED)
            if _verdict_of(verdict, layer) is Verdict.FAIL:
                red.add(layer)
                failed += 1
            else:
                gaps.append(f"{origin}: {layer}: {what} is judged {_told(verdict)}")
    gaps += [
        f"{layer}: no doctored outcome shows that it can fail"
        for layer in LAYERS
        if layer in case.requirements and layer not in red
    ]
    return CaseProof(case.id, recorded is not None, passed, failed, tuple(dict.fromkeys(gaps)))


def alternatives_of(case: Case, specification: Specification) -> Iterator[dict[str, str]]:
    """Every choice of the alternatives on which the case depends."""
    entries = [case.data, *case.data.get("then", []), *case.data.get("runs", [])]
    names = {n for e in entries for block in e.get("expect", []) for n in block.get("when", {})}
    ordered = sorted((names | set(case.alternatives)) - {"variant"})
    known = specification.tables.alternatives
    for values in product(*(case.alternatives.get(n) or tuple(known[n].values) for n in ordered)):
        yield dict(zip(ordered, values, strict=True))


def _verdict_of(verdict: CaseVerdict, layer: str) -> Verdict | None:
    return next((entry.verdict for entry in verdict.layers if entry.layer == layer), None)


def _told(verdict: CaseVerdict) -> str:
    parts = [
        f"{entry.layer} {entry.verdict}"
        + (f" ({entry.finding.observed})" if entry.finding.observed else "")
        for entry in verdict.layers
    ]
    return ", ".join(parts)


def _correct(
    case: Case, specification: Specification, recorded: Recorded | None
) -> Iterator[tuple[str, ReadyCase, Observation]]:
    profile = specification.tables.profiles[DEFAULT_PROFILE]
    if recorded is not None:
        observation = recorded.observation
        rows = {n: v for n, v in observation.effective.items() if isinstance(v, int)}
        alternatives = specification.tables.profiles[recorded.profile].alternatives
        ready = case.resolve(rows, dict(alternatives), "javascript")
        yield "recorded", ready, observation
    rows = profile.defaults() | {
        row.name: row.default for row in specification.tables.rows.values()
    }
    rows |= {WRAPPER: 0, **case.prefer} | {n: v for n, v in case.set.items() if isinstance(v, int)}
    seen = set()
    for chosen_ones in alternatives_of(case, specification):
        for language in case.languages:
            try:
                ready = case.resolve(rows, {**profile.alternatives, **chosen_ones}, language)
            except NotApplicable:
                continue
            key = (ready.expected, ready.then_expected)
            if repr(key) in seen:
                continue
            seen.add(repr(key))
            chosen = (
                ", ".join(f"{name}={value}" for name, value in chosen_ones.items()) or "made up"
            )
            for choice in range(choices(ready)):
                yield f"{chosen} ({choice + 1})", ready, correct(ready, choice, rows)
