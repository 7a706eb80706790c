"""Outcomes made by hand that a case must not pass: wrong ones for each layer.

Nothing here runs a target. A layer whose doctored outcomes are all judged PASS proves nothing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from codemode_spec import load_tables
from codemode_spec.expectations import UNSET

from codemode_conformance import doctored_answers
from codemode_conformance.evidence import Fact, State
from codemode_conformance.layers import SIDE_CHANNELS
from codemode_conformance.observation import (
    Call,
    CanaryHit,
    End,
    Health,
    Observation,
    Run,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec import ReadyCase
    from codemode_spec.expectations import Expectation, ExpectedCalls, Outcome

_DOCTORED = "doctored"
_FIELDS = ("suggestion", "limit", "measured", "operation", "detail")


def doctored(ready: ReadyCase, observation: Observation) -> Iterator[tuple[str, str, Observation]]:
    """Wrong versions of a correct observation: the layer that must fail, what was done, and it.

    Only changes that no legal outcome of the case allows are made.
    """
    yield from _outcomes(ready, observation)
    for index, (run, expected) in enumerate(zip(observation.runs, ready.expected, strict=True)):
        if expected is not None:
            for layer, what, wrong in _parts(run, expected):
                yield layer, what, _with_run(observation, index, wrong)
    for index, (run, expected) in enumerate(
        zip(observation.then, ready.then_expected, strict=True)
    ):
        for layer, what, wrong in _parts(run, expected):
            then = (*observation.then[:index], wrong, *observation.then[index + 1 :])
            yield layer, f"{what}, in the follow-up", replace(observation, then=then)
    for name in sorted(_secrets(ready, observation)):
        hit = CanaryHit(name, "base64", "outcome")
        assert hit.where not in SIDE_CHANNELS
        yield "evidence", f"the {name} secret emitted", replace(observation, canaries=(hit,))
    yield from _repeated_ids(ready, observation)
    for unlimited in _unlimited(ready, observation):
        yield "evidence", "no limit", unlimited


def _secrets(ready: ReadyCase, observation: Observation) -> set[str]:
    """The secrets that no outcome of the kind of a run may emit."""
    names: set[str] = set()
    for run, expected in zip(observation.runs, ready.expected, strict=True):
        same = _alike(run, expected.any_of) if expected is not None else ()
        if same:
            names |= set.intersection(*(set(one.canaries) for one in same))
    return names


def _alike(run: Run, legal: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """The legal outcomes of the kind of this run: one of another kind allows nothing of it."""
    return tuple(one for one in legal if one.outcome in ("any", run.end.value))


def _repeated_ids(
    ready: ReadyCase, observation: Observation
) -> Iterator[tuple[str, str, Observation]]:
    asked = [o for e in ready.expected if e is not None for o in e.any_of]
    if not observation.then or not all("fresh_ids" in one.frames for one in asked):
        return
    first = observation.runs[0].frames
    then = tuple(replace(run, frames=first) for run in observation.then)
    yield "evidence", "the id of the invocation again", replace(observation, then=then)


def _unlimited(ready: ReadyCase, observation: Observation) -> Iterator[Observation]:
    rows = {row for e in ready.expected if e is not None for o in e.any_of for row in o.limited}
    if rows:
        effective = {**observation.effective, **dict.fromkeys(rows, "none")}
        yield replace(observation, effective=effective)


def _with_run(observation: Observation, index: int, run: Run) -> Observation:
    runs = observation.runs
    return replace(observation, runs=(*runs[:index], run, *runs[index + 1 :]))


def _outcomes(ready: ReadyCase, observation: Observation) -> Iterator[tuple[str, str, Observation]]:
    for index, run in enumerate(observation.runs):
        for end in (End.NO_OUTCOME, End.HOST_DIED, End.MEMORY, End.TWO_OUTCOMES):
            bare = Run(run.program, end, run.elapsed_ms, calls=run.calls)
            yield "outcome", end.value, _with_run(observation, index, bare)
    yield "outcome", "no run", replace(observation, runs=())
    if ready.case.after == "healthy":
        for health in (Health.DEAD, Health.UNHEALTHY):
            what = f"{health.value} follow-up"
            yield "outcome", what, replace(observation, after=health, after_detail=_DOCTORED)


def _parts(run: Run, expected: Expectation) -> Iterator[tuple[str, str, Run]]:
    legal = expected.any_of
    kinds = {one.outcome for one in legal}
    if kinds == {"value"}:
        wrong = replace(
            run, end=End.FAILURE, category="script", error={}, value=Value(present=False)
        )
        yield "outcome", "failure instead of a value", wrong
    if kinds == {"failure"}:
        wrong = replace(run, end=End.VALUE, value=Value(present=True, value=_DOCTORED))
        yield "outcome", "value instead of a failure", wrong
    yield from _exits(run, legal)
    same = _alike(run, legal)
    yield from _witnessed(run, same)
    for what, answers in doctored_answers.wrong(run, [one.answers for one in same]):
        yield "value", what, replace(run, **answers)
    limits = [one.within_ms for one in legal if one.within_ms is not None]
    if limits:
        yield "outcome", "late", replace(run, elapsed_ms=max(limits) + 1.0)
    starts = [one.not_before_ms for one in legal]
    if all(start is not None for start in starts):
        yield "outcome", "early", replace(run, elapsed_ms=0.0)
    if run.end is End.FAILURE:
        yield from _failures(run, legal)
    if run.end is End.VALUE:
        yield from _values(run, legal)
    yield from _ledgers(run, legal)
    yield from _records(run, legal)


def _records(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    """A target's record that is missing, lacks a part, or says something else."""
    if not run.evidence or any(one.record is None for one in legal):
        return
    yield "evidence", "no record", replace(run, evidence=None)
    for name in sorted(set.intersection(*(set(one.record or {}) for one in legal))):
        wrong = {**run.evidence, name: _DOCTORED}
        yield "evidence", f"another {name} on record", replace(run, evidence=wrong)
        yield (
            "evidence",
            f"no {name} on record",
            replace(run, evidence=_without(run.evidence, name)),
        )


def _exits(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    if {one.outcome for one in legal} == {"exit"}:
        result = Value(present=True, value=_DOCTORED)
        yield "outcome", "a result", replace(run, end=End.VALUE, value=result)
        yield "outcome", "no exit", replace(run, end=End.NO_OUTCOME, status=None)
        yield "outcome", "no legal frame", replace(run, end=End.BROKEN)
    if all(one.status is not None for one in legal):
        for status in (-11, 1, None):
            yield "outcome", f"status {status}", replace(run, status=status)


def _witnessed(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    yield from _broken_frames(run, legal)
    yield from _long_texts(run, legal)
    for fact in run.facts:
        if all(fact.name in (*one.processes, *one.messages) for one in legal):
            others = tuple(one for one in run.facts if one is not fact)
            wrong = replace(run, facts=(*others, Fact(fact.name, State.BROKEN)))
            yield "evidence", f"not {fact.name}", wrong


def _long_texts(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    """A failure, or what was printed, that is one byte longer than it may be."""
    if run.end is End.FAILURE and all("failure" in one.longest for one in legal):
        text = "x" * (max(one.longest["failure"] for one in legal) + 1)
        yield "evidence", "a long message", replace(run, native={"message": text})
    if all("logs" in one.longest for one in legal):
        text = "x" * (max(one.longest["logs"] for one in legal) + 1)
        yield "evidence", "much that was printed", replace(run, logs=(text,))


def _broken_frames(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    wrong: dict[str, tuple[str, dict[str, Any]]] = {
        "legal": ("a frame that is none", {"fault": _DOCTORED}),
        "compact": ("a frame with white space", {"spelling": _DOCTORED}),
        "execute_first": ("no execute", {"kind": "host_result"}),
    }
    if not run.frames:
        return
    for name, (what, change) in wrong.items():
        if all(name in one.frames for one in legal):
            first = replace(run.frames[0], **change)
            yield "evidence", what, replace(run, frames=(first, *run.frames[1:]))
    if any(one.frames for one in legal):
        yield "evidence", "nothing written", replace(run, frames=())


def _failures(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    failures = [one for one in legal if one.outcome in ("failure", "any")]
    if all(one.want for one in failures):
        allowed = {name for one in failures for name in (*one.want, *one.allow)}
        for name in ("host", "other", "script", "time"):
            if name not in allowed:
                yield "category", f"category {name}", replace(run, category=name)
    if all(one.error for one in failures):
        yield "code", "no structured failure", replace(run, error=None)
        for field in sorted({name for one in failures for name in one.error or {}}):
            wrong = {**(run.error or {}), field: _DOCTORED}
            if all(field in (one.error or {}) for one in failures):
                yield "code", f"another {field}", replace(run, error=wrong)
    yield from _tabled(run, failures)


def _tabled(run: Run, failures: list[Outcome]) -> Iterator[tuple[str, str, Run]]:
    """Failures that are not as the table says for their code, or without a text they must have."""
    error = dict(run.error or {})
    for name in sorted({name for one in failures for name in one.error_has}):
        if all(name in one.error_has for one in failures):
            yield "code", f"no {name}", replace(run, error=_without(error, name))
    if failures and all("fields" in one.error_table for one in failures):
        listed = load_tables().errors[error["code"]].fields
        for field in (name for name in _FIELDS if name not in listed):
            wrong = {**error, field: _DOCTORED}
            yield "code", f"a field {field} too many", replace(run, error=wrong)
        for field in (name for name, kind in listed.items() if kind == "required"):
            yield "code", f"no {field}", replace(run, error=_without(error, field))
    if failures and all("detail" in one.error_table for one in failures):
        most = load_tables().detail_characters
        for what, told in (("a detail too long", "w" * (most + 1)), ("a raw LF", "one\ntwo")):
            yield "code", what, replace(run, error={**error, "detail": told})
    if failures and all("message" in one.error_table for one in failures):
        text = str((run.native or {}).get("message"))
        for what, told in (("a path before the message", f"/home/x.js:1 {text}"), ("no text", "")):
            native = {**(run.native or {}), "message": told}
            yield "code", what, replace(run, native=native)


def _without(error: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {field: value for field, value in error.items() if field != name}


def _values(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    values = [one for one in legal if one.outcome in ("value", "any")]
    if not all(one.value is not UNSET or one.value_absent or one.odd for one in values):
        return
    wrong: dict[str, Value] = {
        "another value": Value(present=True, value=[_DOCTORED]),
        "a value with a loss": replace(run.value, present=True, odd=((("lost",), "undefined"),)),
    }
    if not any(one.value_absent for one in values):
        wrong["no value"] = Value(present=False)
    if isinstance(run.value.value, str) and len(run.value.value) > 1 and not run.value.odd:
        wrong["a cut value"] = Value(present=True, value=run.value.value[:-1])
    for what, value in wrong.items():
        yield "value", what, replace(run, value=value)


def _length(expected: ExpectedCalls | None) -> int | None:
    if expected is None:
        return None
    return expected.count if expected.listed is None else len(expected.listed)


def _ledgers(run: Run, legal: tuple[Outcome, ...]) -> Iterator[tuple[str, str, Run]]:
    if all(one.calls is not None for one in legal):
        extra = Call(len(run.calls) + 1, "doctored", Value(present=True), 0.9)
        yield "calls", "one call more", replace(run, calls=(*run.calls, extra))
        if run.calls:
            again = dataclasses.replace(run.calls[-1], number=len(run.calls) + 1)
            yield "calls", "a call made twice", replace(run, calls=(*run.calls, again))
            if len(run.calls) - 1 not in {_length(one.calls) for one in legal}:
                yield "calls", "one call fewer", replace(run, calls=run.calls[:-1])
    listed = [one.calls.listed for one in legal if one.calls is not None]
    judged = [
        call for calls in listed for call in calls or () if call.args is not UNSET or call.odd
    ]
    if run.calls and judged and len(judged) == sum(len(calls or ()) for calls in listed):
        args = Value(present=True, value=[_DOCTORED])
        changed = (*run.calls[:-1], dataclasses.replace(run.calls[-1], args=args))
        yield "calls", "other arguments", replace(run, calls=changed)
    told = [one.progress for one in legal if one.progress is not None]
    if told:
        more = ({"current": -1}, *run.progress)
        yield "calls", "another message of progress", replace(run, progress=more)
        if run.progress and 0 not in told:
            yield "calls", "no progress", replace(run, progress=())
    if any(one.cancelled for one in legal) and run.calls:
        going_on = tuple(dataclasses.replace(call, cancelled_ms=None) for call in run.calls)
        yield "calls", "calls that go on", replace(run, calls=going_on)
    overlaps = [one.overlap for one in legal if one.overlap is not None]
    if overlaps:
        call = Call(1, "doctored", Value(present=True), 0.5, overlap=max(overlaps) + 1)
        crowded = (
            (*run.calls, call)
            if not run.calls
            else (
                dataclasses.replace(run.calls[0], overlap=max(overlaps) + 1),
                *run.calls[1:],
            )
        )
        yield "calls", "more calls open at once", replace(run, calls=crowded)
