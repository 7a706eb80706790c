"""What the model says of a case, beside what the case expects. Nothing here runs a target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codemode_spec import LAYERS, NotApplicable
from codemode_spec.limits import invalid_field
from codemode_spec.model import prediction
from codemode_spec.model.server import Request
from codemode_spec.model.terms import Operation, Refusal, Rules, rules
from codemode_spec.sizes import text_size

from codemode_conformance import layers
from codemode_conformance.applicability import other_choice
from codemode_conformance.observation import Call, End, Run, Value
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec import Case, Specification
    from codemode_spec.cases import OperationSpec
    from codemode_spec.expectations import Expectation
    from codemode_spec.model.prediction import Prediction
    from codemode_spec.model.readings import Readings
    from codemode_spec.model.steps import Program
    from codemode_spec.programs import RunSpec

    Alternatives = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Answered:
    """One run of a case: its program in steps, what the model predicts, and where they part.

    `differs` names each judged layer in which no legal outcome of the case is what the model says,
    with both in words; `policy` is the field of an invalid policy, for which nothing runs.
    """

    program: Program
    prediction: Prediction | None
    expectation: Expectation | None
    differs: tuple[str, ...]
    policy: str | None = None


def answer(
    case: Case,
    specification: Specification,
    readings: Readings,
    profile: str,
    alternatives: Alternatives,
) -> list[Answered]:
    """The model's answer for each run and follow-up of a case, under a profile's policy.

    `alternatives` are all of them, chosen. NotApplicable says why there is none: nobody has put
    the program into steps, or the case does not fit the profile.
    """
    other = other_choice(case, alternatives)
    if other is not None:
        raise NotApplicable(f"{other}, and the case is for another choice")
    chosen = specification.tables.profiles[profile]
    rows = dict(chosen.defaults())
    unknown = [name for name in case.set if name not in rows]
    if unknown:
        raise NotApplicable(f"the profile has no row {' or '.join(unknown)}")
    preferred = {name: value for name, value in case.prefer.items() if name in rows}
    wanted = {**preferred, **case.set}
    numbers: dict[str, Any] = {**rows, **wanted}
    missing = {name for name, value in wanted.items() if value is None}
    field = invalid_field({k: v for k, v in numbers.items() if k not in missing}, chosen)
    legal = {n: v for n, v in numbers.items() if isinstance(v, int) and not isinstance(v, bool)}
    known = {**rows, **legal, "wrapper_bytes": 0}
    ready = case.resolve(known, dict(alternatives), "javascript")
    runs, then = readings.programs(case, known)
    boundary = rules(
        {spec.name: Operation(spec.name, spec.effect) for spec in ready.operations},
        profile=profile,
        policy={name: value for name, value in legal.items() if name in rows},
        alternatives=alternatives,
    )
    pairs = [
        *zip(runs, ready.runs, ready.expected, strict=True),
        *zip(then, ready.then, ready.then_expected, strict=True),
    ]
    scripted = {spec.name: spec for spec in ready.operations}
    return [_one(entry, boundary, scripted, case, field) for entry in pairs]


def _one(
    entry: tuple[Program, RunSpec, Expectation | None],
    boundary: Rules,
    scripted: Mapping[str, OperationSpec],
    case: Case,
    field: str | None,
) -> Answered:
    program, spec, expected = entry
    if field is not None:
        run = Run("", End.FAILURE, 0.0, category="policy", error=_told("invalid_policy", field))
        return Answered(program, None, expected, _differs(run, expected, case), field)
    request = request_of(spec.program)
    if "timeout_ms" in spec.options:
        wall = min(boundary.policy["wall_time_ms"], spec.options["timeout_ms"])
        boundary = replace(boundary, policy={**boundary.policy, "wall_time_ms": wall})
    said = prediction.predict(
        boundary,
        program,
        scripted,
        request=request,
        cancel_after_call=spec.cancel_after_call,
    )
    return Answered(program, said, expected, _differs(_run(said, boundary), expected, case))


def request_of(program: str) -> Request:
    """A tool call with this program as its source."""
    return Request(
        source_bytes=len(program.encode()),
        encoded_bytes=text_size(program),
        empty=not program.strip(" \t\n\v\f\r\u2028\u2029\ufeff"),
    )


def _told(code: str, field: str) -> dict[str, Any]:
    return {"code": code, "field": field}


def _run(said: Prediction, boundary: Rules) -> Run:
    """The prediction as if it had been observed."""
    calls = tuple(
        Call(
            number,
            made.operation,
            Value(True, made.arguments, made.odd),
            0.0,
            overlap=said.overlap,
        )
        for number, made in enumerate(said.calls, 1)
    )
    error: Refusal | None = said.outcome.error
    if error is None:
        value = Value(said.outcome.present, said.outcome.value, said.odd)
        return Run("", End.VALUE, float(said.elapsed_ms), value, calls=calls)
    category = boundary.tables.errors[error.code].category_of(error.reason)
    return Run(
        "",
        End.FAILURE,
        float(said.elapsed_ms),
        category=category,
        error=error.fields(),
        calls=calls,
    )


def _differs(run: Run, expected: Expectation | None, case: Case) -> tuple[str, ...]:
    """Where the model parts from every legal outcome: those of the one that fits best."""
    if expected is None:
        return ()
    candidates = []
    for legal in expected.any_of:
        found = {
            "outcome": layers.outcome(run, legal),
            "category": layers.category(run, legal, None, frozenset(), frozenset()),
            "code": layers.code(run, legal),
            "value": layers.value(run, legal),
            "calls": layers.calls(run, legal),
        }
        candidates.append(
            tuple(
                f"{name}: the case expects {found[name].expected}; "
                f"the model says {found[name].observed}"
                for name in LAYERS
                if name in case.requirements
                and name in found
                and found[name].verdict is Verdict.FAIL
            )
        )
    return min(candidates, key=len)
