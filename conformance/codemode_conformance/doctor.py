"""Outcomes made by hand that a case must pass: the correct ones for each expectation.

Nothing here runs a target. The wrong ones are in `wrongs`.
"""

from __future__ import annotations

import dataclasses
from itertools import count
from typing import TYPE_CHECKING, Any

from codemode_spec import load_tables
from codemode_spec.expectations import UNSET

from codemode_conformance import doctored_answers
from codemode_conformance.evidence import FORESEEN, Fact, State
from codemode_conformance.frames import FrameSeen
from codemode_conformance.observation import (
    Call,
    End,
    Health,
    Observation,
    Run,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec import ReadyCase
    from codemode_spec.expectations import Expectation, ExpectedCalls, Outcome

_DOCTORED = "doctored"
_ids = count(1)
_REQUIRED = dict.fromkeys(("counted", "operation", "pattern", "reason", "field"), "required")


def correct(ready: ReadyCase, choice: int, effective: Mapping[str, Any]) -> Observation:
    """An observation that the case must pass: the legal outcome of number `choice` in each run."""

    def one(expected: Expectation | None) -> Run:
        if expected is None:
            return Run("", End.VALUE, 1.0, Value(present=True, value=1))
        return _run(expected.any_of[choice % len(expected.any_of)])

    return Observation(
        case=ready.case.id,
        runs=tuple(map(one, ready.expected)),
        then=tuple(map(one, ready.then_expected)),
        after=Health.HEALTHY if ready.case.after == "healthy" else Health.NOT_ASKED,
        effective=effective,
    )


def choices(ready: ReadyCase) -> int:
    """How many legal outcomes the run with the most of them has."""
    return max(
        (len(e.any_of) for e in (*ready.expected, *ready.then_expected) if e is not None), default=1
    )


def _run(legal: Outcome) -> Run:
    run = dataclasses.replace(_ended(legal), progress=_progress(legal))
    if not legal.messages and not legal.answers:
        return run
    return dataclasses.replace(run, facts=_facts(legal), **doctored_answers.correct(legal.answers))


def _progress(legal: Outcome) -> tuple[Mapping[str, Any], ...]:
    if isinstance(legal.progress, int):
        return tuple({"current": n} for n in range(legal.progress))
    return legal.progress or ()


def _ended(legal: Outcome) -> Run:
    made = _given_up(_calls(legal.calls), legal.cancelled or 0)
    if legal.outcome == "exit":
        return Run("", End.EXIT, 1.0, calls=made, status=legal.status, frames=_frames(legal))
    if legal.outcome == "failure":
        category = legal.want[0] if legal.want else "script"
        elapsed = float(legal.not_before_ms or 1)
        error, native = _told(legal)
        return Run(
            program="",
            end=End.FAILURE,
            elapsed_ms=elapsed,
            category=category,
            error=error,
            native=native,
            calls=made,
            evidence=_recorded(legal.record),
            status=legal.status,
            frames=_frames(legal),
            facts=_facts(legal),
        )
    value = Value(
        present=not legal.value_absent,
        value=None if legal.value is UNSET else legal.value,
        odd=legal.odd,
    )
    return Run(
        program="",
        end=End.VALUE,
        elapsed_ms=float(legal.not_before_ms or 1),
        value=value,
        calls=made,
        evidence=_recorded(legal.record),
        status=legal.status,
        frames=_frames(legal),
        facts=_facts(legal),
    )


def _recorded(wanted: Any) -> Any:
    """A record that has what is wanted: a list of which something is said has just that much."""
    if isinstance(wanted, list):
        return [_recorded(one) for one in wanted]
    if not isinstance(wanted, dict):
        return wanted
    if not wanted or set(wanted) - {"first", "at_least", "at_most"}:
        return {name: _recorded(part) for name, part in wanted.items()}
    first = [_recorded(one) for one in wanted.get("first", [])]
    return first + [_DOCTORED] * (wanted.get("at_least", 0) - len(first))


def _facts(legal: Outcome) -> tuple[Fact, ...]:
    return tuple(Fact(name, State.HOLDS) for name in (*legal.processes, *legal.messages))


def _frames(legal: Outcome) -> tuple[FrameSeen, ...]:
    """What a target wrote of which all that is asked holds; every run has an id far from others."""
    if not legal.frames:
        return ()
    return (FrameSeen("execute", invocation=next(_ids) * FORESEEN), FrameSeen("host_result"))


def _told(legal: Outcome) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The structured failure and the message of a legal outcome, as full as it asks for."""
    error = {**dict.fromkeys(legal.error_has, _DOCTORED), **(legal.error or {})}
    if not legal.error_table:
        return error, None
    entry = load_tables().errors[error["code"]]
    required = [name for name, kind in entry.fields.items() if kind == "required"]
    error = {**{name: _REQUIRED.get(name, 1) for name in required}, **error}
    return error, {"message": entry.text(error)}


def _given_up(calls: tuple[Call, ...], number: int) -> tuple[Call, ...]:
    """The calls, of which the host was told to give up so many, the last of them.

    Where a case says nothing of its calls, there are just those.
    """
    some = Value(present=True)
    calls = calls or tuple(Call(n + 1, _DOCTORED, some, 0.5) for n in range(number))
    kept = len(calls) - number
    told = (dataclasses.replace(call, cancelled_ms=0.9) for call in calls[kept:])
    return (*calls[:kept], *told)


def _calls(expected: ExpectedCalls | None) -> tuple[Call, ...]:
    if expected is None:
        return ()
    if expected.listed is None:
        some = Value(present=True)
        return tuple(Call(n + 1, expected.op, some, 0.5) for n in range(expected.count))
    return tuple(
        Call(
            number,
            call.op,
            Value(present=True, value=None if call.args is UNSET else call.args, odd=call.odd),
            0.5,
        )
        for number, call in enumerate(expected.listed, start=1)
    )
