"""Whether what a run did is what the model says, in some legal order of its branches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from codemode_spec.expectations import UNSET, Outcome
from codemode_spec.model import prediction
from codemode_spec.model.releases import Released, Releasing
from codemode_spec.model.steps import program
from codemode_spec.model.turns import first

from codemode_conformance import layers
from codemode_conformance.asking import request_of
from codemode_conformance.compare import same_json, show
from codemode_conformance.observation import End
from codemode_conformance.properties.orders import Orders
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from codemode_spec.cases import OperationSpec
    from codemode_spec.model.host import Host
    from codemode_spec.model.prediction import Made, Prediction
    from codemode_spec.model.releases import Release
    from codemode_spec.model.terms import Dispatch, Rules

    from codemode_conformance.judge import Standing
    from codemode_conformance.observation import Call, Run
    from codemode_conformance.properties.dialect import Dialect
    from codemode_conformance.properties.example import Example


class Answer(Enum):
    """What came of a comparison."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Foreseen:
    """A prediction, the script of replies that it rests on, and the rules it was made by.

    Of its calls, the first `certain` have arrived at the host before its last reply was sent; a
    boundary may cancel any later one before it is dispatched.
    """

    prediction: Prediction
    script: tuple[Release, ...]
    certain: int
    rules: Rules


@dataclass(frozen=True)
class Compared:
    """The answer, and for each part in which the run parts from the first prediction, both."""

    answer: Answer
    differs: tuple[str, ...] = ()
    orders: int = 1


def foresee(example: Example, dialect: Dialect) -> Foreseen:
    """The first prediction: branches in order of arrival, replies by the order of the example."""
    rules = next(dialect.rules(example))
    host = Releasing(rules, example.scripted, example.order)
    said = _predict(example, dialect, rules, host)
    script = tuple(host.script)
    return Foreseen(said, script, script[-1].after if script else 0, rules)


def compare(  # noqa: PLR0913, PLR0917  all that a comparison depends on
    example: Example,
    dialect: Dialect,
    foreseen: Foreseen,
    run: Run,
    released: Sequence[Release],
    standing: Standing,
) -> Compared:
    """Compare a run with the first prediction, and if it is not that, with every other legal one.

    `released` are the replies that the harness sent, in order, with the calls arrived by then.
    """
    differs = differences(foreseen, run, standing)
    if not differs:
        return Compared(Answer.AGREES)
    if run.end not in (End.VALUE, End.FAILURE):
        return Compared(Answer.DIFFERS, differs)
    numbers = [release.number for release in released]
    certain = released[-1].after if released else 0
    tried, all_tried = 1, True
    for rules in dialect.rules(example):
        orders = Orders()
        while orders.more():
            tried += 1
            host = _Following(rules, example.scripted, numbers, run.calls[:certain])
            try:
                said = _predict(example, dialect, rules, host, orders.choose)
            except _PartedError:
                continue
            if not differences(Foreseen(said, (), certain, rules), run, standing):
                return Compared(Answer.AGREES, orders=tried)
        all_tried = all_tried and orders.exhausted
    return Compared(Answer.DIFFERS if all_tried else Answer.UNDECIDED, differs, tried)


class _PartedError(Exception):
    """An order in which another call comes than the one that was seen: the rest is no matter."""


class _Following(Released):
    """A host that follows a run: its first calls are those that were seen."""

    def __init__(
        self,
        rules: Rules,
        operations: Mapping[str, OperationSpec],
        numbers: Sequence[int],
        seen: Sequence[Call],
    ) -> None:
        super().__init__(rules, operations, numbers)
        self._seen = seen

    def dispatch(self, action: Dispatch, number: int, now: int) -> None:
        """One more call has arrived, the same as in the run."""
        made = prediction.Made(action.operation, *action.arguments)
        if number <= len(self._seen) and not _same(made, self._seen[number - 1]):
            raise _PartedError
        super().dispatch(action, number, now)


def _predict(
    example: Example,
    dialect: Dialect,
    rules: Rules,
    host: Host,
    choose: Callable[[int], int] = first,
) -> Prediction:
    return prediction.predict(
        rules,
        program(list(example.steps)),
        example.scripted,
        request=request_of(example.source(dialect)),
        host=host,
        choose=choose,
    )


def differences(foreseen: Foreseen, run: Run, standing: Standing) -> tuple[str, ...]:
    """Where a run parts from one prediction, a line for each part, with both in words."""
    if run.end not in (End.VALUE, End.FAILURE):
        finding = layers.no_outcome(run)
        return (f"outcome: the model says {finding.expected}; there was {finding.observed}",)
    said = foreseen.prediction
    error = said.outcome.error
    if error is not None:
        category = foreseen.rules.tables.errors[error.code].category_of(error.reason)
        legal = Outcome("failure", want=(category,), error=error.fields())
    elif said.outcome.present:
        legal = Outcome("value", value=UNSET if said.odd else said.outcome.value, odd=said.odd)
    else:
        legal = Outcome("value", value_absent=True)
    found = {"outcome": layers.outcome(run, legal), "value": layers.value(run, legal)}
    typed = None if standing.mapping == "typed" else standing.typed
    if "contract" in standing.capabilities:
        found["code"] = layers.code(run, legal)
    spoken = layers.corroborate(run, foreseen.rules.policy, cancelled=False)
    refuted = layers.refute(run, foreseen.rules.policy)
    found["category"] = layers.category(run, legal, typed, spoken, refuted)
    lines = [
        f"{name}: the model says {finding.expected}; there was {finding.observed}"
        for name, finding in found.items()
        if finding.verdict is Verdict.FAIL
    ]
    return (*lines, *_ledger(foreseen, run.calls))


def _ledger(foreseen: Foreseen, seen: Sequence[Call]) -> tuple[str, ...]:
    """The calls of the ledger, in order; the last ones of the model may be missing."""
    made = foreseen.prediction.calls
    matched = 0
    for position, call in enumerate(made):
        if matched < len(seen) and _same(call, seen[matched]):
            matched += 1
        elif position < foreseen.certain:
            break
    limit = foreseen.rules.policy["concurrent_host_calls"]
    most = max((call.overlap for call in seen), default=0)
    lines = []
    if matched < len(seen) or (matched < foreseen.certain):
        told = ", ".join(f"{call.operation}({show(call.arguments, 60)})" for call in made)
        there = ", ".join(f"{call.op}({show(call.args.value, 60)})" for call in seen)
        free = len(made) - foreseen.certain
        tail = f", of which the last {free} may be missing" if free else ""
        lines.append(f"calls: the model says [{told}]{tail}; there were [{there}]")
    if most > limit:
        lines.append(f"calls: at most {limit} are open at once; there were {most}")
    return tuple(lines)


def _same(call: Made, seen: Call) -> bool:
    return (
        call.operation == seen.op
        and seen.args.present
        and same_json(call.arguments, seen.args.value)
        and set(call.odd) == set(seen.args.odd)
    )
