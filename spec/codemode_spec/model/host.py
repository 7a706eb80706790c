"""Operations that behave as scripted: what each call answers, and when, on a clock of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator

from codemode_spec.model.expressions import snapshot
from codemode_spec.model.terms import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from codemode_spec.cases import Behaviour, OperationSpec
    from codemode_spec.model.terms import Dispatch, Rules


@dataclass
class Pending:
    """An answer that an operation gives at a time in milliseconds, in its turn if it has one."""

    at: int
    number: int
    answer: Answer
    turn: int | None
    operation: str


class Host:
    """The scripted operations of one invocation, and what they are still to answer."""

    def __init__(self, rules: Rules, operations: Mapping[str, OperationSpec]) -> None:
        self._rules = rules
        self._operations = operations
        self._pending: list[Pending] = []
        self._turns: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    @property
    def early(self) -> bool:
        """Whether the next answer may come while the program can still go on: not by a clock."""
        return False

    def accepts(self, operation: str, arguments: Any) -> bool:
        """Whether arguments fit the schema of an operation; one outside the catalogue has none."""
        spec = self._operations.get(operation)
        return spec is None or Draft202012Validator(spec.arguments).is_valid(arguments)

    def dispatch(self, action: Dispatch, number: int, now: int) -> None:
        """The n-th call of all runs now; one that never answers may have a deadline of its own."""
        operation = self._operations[action.operation]
        count = self._counts[action.operation] = self._counts.get(action.operation, 0) + 1
        behaviour = operation.behaviour[min(count, len(operation.behaviour)) - 1]
        answer = _answer(action.call_id, behaviour, self._rules)
        at = None if behaviour.kind == "never" else now + behaviour.delay_ms
        most = self._rules.policy.get("operation_time_ms")
        excluded = self._rules.alternatives["host_wait"] == "excluded"
        if excluded and most is not None and (at is None or at > now + most):
            # Where waiting is not charged, each operation has a deadline of its own.
            at, answer = now + most, Answer(action.call_id, fault="failed")
        if at is not None:
            turn = operation.release.index(count) if count in operation.release else None
            self._pending.append(Pending(at, number, answer, turn, action.operation))

    def next(self) -> Pending | None:
        """The answer that comes next, which is then no longer to come; None if none will."""
        due = [
            pending
            for pending in self._pending
            if pending.turn is None or pending.turn == self._turns.get(pending.operation, 0)
        ]
        if not due:
            return None
        first = min(due, key=lambda pending: (pending.at, pending.number))
        self._pending.remove(first)
        if first.turn is not None:
            self._turns[first.operation] = first.turn + 1
        return first


def _answer(call_id: int, behaviour: Behaviour, rules: Rules) -> Answer:
    if behaviour.kind == "fail":
        return Answer(call_id, fault="failed")
    if behaviour.kind in ("odd", "absent"):
        return Answer(call_id, fault="not_json")
    copied = snapshot(behaviour.value, rules)
    fault = copied.fault
    if copied.depth > rules.policy["value_depth"]:
        fault = "too_deep"
    return Answer(call_id, copied.size, fault, copied.value)
