"""Several runs of one case joined into one verdict: what differs between them is flaky. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codemode_conformance.verdicts import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

_ILL = (Verdict.FAIL, Verdict.FLAKY)


def joined(runs: Sequence[CaseVerdict]) -> CaseVerdict:
    """One verdict of several: a layer that failed in some runs and passed in others is flaky.

    The evidence is that of the first run that is no pass. A fault in one run is an error: whether
    the target would have failed in it is not known.
    """
    seconds = sum(run.seconds for run in runs)
    verdicts = tuple(run.verdict for run in runs)
    faulty = [run for run in runs if run.verdict is Verdict.ERROR]
    shown = next(
        (run for run in faulty or runs if run.verdict is not Verdict.PASS), (faulty or runs)[0]
    )
    layers = shown.layers
    if not faulty:
        layers = tuple(
            _layer([run.layers[number] for run in runs], shown.layers[number])
            for number in range(len(shown.layers))
        )
    return replace(shown, layers=layers, seconds=seconds, repeats=verdicts)


def _layer(runs: Sequence[LayerVerdict], shown: LayerVerdict) -> LayerVerdict:
    ill = [run for run in runs if run.verdict in _ILL]
    if not ill or all(run.verdict is Verdict.FAIL for run in runs):
        reached = [run for run in runs if run.verdict is not Verdict.NOT_REACHED]
        return reached[0] if reached and not ill else shown
    told = f"failed in {len(ill)} of {len(runs)} runs"
    seen = next((run for run in ill if run.verdict is Verdict.FAIL), ill[0]).finding
    reason = f"{told}: {seen.reason}" if seen.reason else told
    return replace(shown, finding=Finding(Verdict.FLAKY, reason, seen.expected, seen.observed))
