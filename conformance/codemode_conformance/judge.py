"""From what was expected and what was seen to a verdict for each layer. Pure: no I/O, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from codemode_spec import LAYERS

from codemode_conformance import evidence, layers
from codemode_conformance.answers import answers
from codemode_conformance.observation import End, Health
from codemode_conformance.verdicts import (
    PASSED,
    WORST_FIRST,
    CaseVerdict,
    Finding,
    LayerVerdict,
    Verdict,
    failed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec import Case, ReadyCase, Requirement
    from codemode_spec.expectations import Expectation, Outcome

    from codemode_conformance.observation import Observation, Run

NOT_CLAIMED: Final = "not claimed"
_BEFORE_OUTCOME: Final = Finding(Verdict.NOT_REACHED)
_NOTHING_TO_JUDGE: Final = Finding(Verdict.NOT_REACHED)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a target claims, as far as verdicts depend on it."""

    capabilities: frozenset[str]
    mapping: str  # typed | text
    typed: frozenset[str] = frozenset()


def judge(  # noqa: PLR0913, PLR0917  all that a verdict depends on
    case: Case,
    ready: ReadyCase | None,
    observation: Observation,
    requirements: Mapping[str, Requirement],
    standing: Standing,
    seconds: float = 0.0,
) -> CaseVerdict:
    """The verdict of every layer of a case that was put to the target.

    `ready` is None only if the observation says why the case could not be put.
    """
    if observation.unsupported is not None:
        return unasked(case, observation, requirements, observation.unsupported)
    if observation.fault is not None:
        text = f"{observation.fault.side}: {observation.fault.text}"
        return _uniform(case, observation, requirements, Finding(Verdict.ERROR, text), seconds)
    if ready is None:
        finding = Finding(
            Verdict.ERROR, "harness: the case was neither put to the target nor refused"
        )
        return _uniform(case, observation, requirements, finding, seconds)
    found = _findings(ready, observation, standing)
    outcome = found["outcome"]
    verdicts = []
    for name in LAYERS:
        if name not in case.requirements:
            continue
        requirement = requirements[case.requirements[name]]
        finding = found[name]
        if name != "outcome" and outcome.verdict is not Verdict.PASS:
            finding = _BEFORE_OUTCOME
        if requirement.capability not in (None, *standing.capabilities):
            finding = Finding(Verdict.UNSUPPORTED, NOT_CLAIMED)
        elif requirement.level == "MAY" and finding.verdict is Verdict.FAIL:
            finding = Finding(Verdict.UNSUPPORTED, "optional", finding.expected, finding.observed)
        verdicts.append(LayerVerdict(name, requirement, finding))
    return CaseVerdict(case, tuple(verdicts), observation, seconds)


def unasked(
    case: Case, observation: Observation, requirements: Mapping[str, Requirement], reason: str
) -> CaseVerdict:
    """The verdict of a case that could not be put to the target: every layer is unsupported."""
    finding = Finding(Verdict.UNSUPPORTED, reason)
    layer_verdicts = tuple(
        LayerVerdict(name, requirements[case.requirements[name]], finding)
        for name in LAYERS
        if name in case.requirements
    )
    return CaseVerdict(case, layer_verdicts, observation)


def _uniform(
    case: Case,
    observation: Observation,
    requirements: Mapping[str, Requirement],
    finding: Finding,
    seconds: float,
) -> CaseVerdict:
    layer_verdicts = tuple(
        LayerVerdict(
            name,
            requirements[case.requirements[name]],
            finding if name == "outcome" else _BEFORE_OUTCOME,
        )
        for name in LAYERS
        if name in case.requirements
    )
    return CaseVerdict(case, layer_verdicts, observation, seconds)


def _findings(ready: ReadyCase, observation: Observation, standing: Standing) -> dict[str, Finding]:
    """One finding a layer over all runs and follow-ups: the first that is no PASS.

    A layer of which the legal outcomes that were seen say nothing has shown nothing: no PASS.
    """
    pairs = [
        *zip(observation.runs, ready.expected, strict=False),
        *zip(observation.then, ready.then_expected, strict=False),
    ]
    cancelled = any(run.cancel_after_call or run.cancel_after_ms for run in ready.runs)
    found = dict.fromkeys(LAYERS, _NOTHING_TO_JUDGE) | {"outcome": PASSED}
    for run, expected in pairs:
        for name, finding in _run_findings(
            run, expected, observation, standing, cancelled=cancelled
        ).items():
            before = found[name]
            says = finding.verdict is not Verdict.NOT_REACHED
            if before.verdict is Verdict.NOT_REACHED:
                # Of two that show nothing, the one that says why.
                says = says or bool(finding.reason)
            if says and before.verdict in (Verdict.PASS, Verdict.NOT_REACHED):
                found[name] = finding
    if found["outcome"].verdict is Verdict.PASS:
        found["outcome"] = _all_there(ready, observation)
    return found


def _all_there(ready: ReadyCase, observation: Observation) -> Finding:
    """Every run took place, and the target was healthy afterwards."""
    if len(observation.runs) < len(ready.runs) or len(observation.then) < len(ready.then):
        there = len(observation.runs) + len(observation.then)
        return failed(f"{len(ready.runs) + len(ready.then)} runs", f"{there} runs")
    if ready.case.after == "healthy" and observation.after is not Health.HEALTHY:
        return failed(
            "the next program in the same process and session works",
            f"the next program: {observation.after_detail or observation.after}",
            "not healthy afterwards",
        )
    return PASSED


def _run_findings(
    run: Run,
    expected: Expectation | None,
    observation: Observation,
    standing: Standing,
    *,
    cancelled: bool,
) -> dict[str, Finding]:
    """The findings under the legal outcome that fits best: the one that fails latest, if any."""
    if run.end not in (End.VALUE, End.FAILURE, End.EXIT):
        return {"outcome": layers.no_outcome(run)}
    if run.forced and isinstance(observation.effective.get("wall_time_ms"), int):
        return {"outcome": layers.forced(run)}
    if expected is None:
        return {}
    corroborated = layers.corroborate(run, observation.effective, cancelled=cancelled)
    refuted = layers.refute(run, observation.effective)
    typed = None if standing.mapping == "typed" else standing.typed
    candidates = [
        {
            "outcome": layers.outcome(run, legal),
            "category": layers.category(run, legal, typed, corroborated, refuted),
            "code": layers.code(run, legal),
            "value": _value(run, legal),
            "calls": layers.calls(run, legal),
            "evidence": _evidence(run, legal, observation),
        }
        for legal in expected.any_of
    ]
    for findings, legal in zip(candidates, expected.any_of, strict=True):
        findings.update(dict.fromkeys(layers.unasked(run, legal), _NOTHING_TO_JUDGE))
    claimed = _claimed(standing)

    def fit(findings: dict[str, Finding]) -> tuple[bool, ...]:
        return tuple(
            findings[name].verdict is not Verdict.FAIL or (name == "code" and not claimed)
            for name in LAYERS
        )

    return max(candidates, key=fit)


def _value(run: Run, legal: Outcome) -> Finding:
    """What a program gave, or what a server answered to a scripted client."""
    found = layers.value(run, legal)
    return answers(run, legal.answers) if found is PASSED and legal.answers else found


def _evidence(run: Run, legal: Outcome, observation: Observation) -> Finding:
    """The first thing that is wrong among what was leaked and what was written."""
    everything = (*observation.runs, *observation.then)
    findings = (
        layers.evidence(run, observation.canaries, observation.effective, legal),
        evidence.frames(run, everything, legal),
        evidence.texts(run, legal),
        evidence.facts(run, legal),
    )
    found = sorted(findings, key=lambda one: WORST_FIRST.index(one.verdict))
    return next((one for one in found if one.verdict is not Verdict.PASS), PASSED)


def _claimed(standing: Standing) -> bool:
    return "contract" in standing.capabilities
