"""What a target has on record: what is wanted of it, and what operations tell it."""

from typing import Any

import pytest
from codemode_conformance.canary import Canaries
from codemode_conformance.doctor import _recorded
from codemode_conformance.layers import evidence, within
from codemode_conformance.observation import End, Run
from codemode_conformance.replies import Replies
from codemode_conformance.verdicts import PASSED, Verdict
from codemode_spec.cases import Behaviour, OperationSpec
from codemode_spec.expectations import Outcome

RECORD = {"program": "succeeded", "totals": {"succeeded": 2, "failed": 0}, "calls": [1, 2, 3]}


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"totals": {"succeeded": 2}},
        {"calls": [1, 2, 3]},
        {"calls": {"first": [1, 2]}},
        {"calls": {"at_least": 3, "at_most": 3}},
    ],
    ids=str,
)
def test_named_parts_are_compared_and_no_others(wanted: dict[str, Any]) -> None:
    """Of an object its named parts, of a list all of it or what is said of it."""
    assert within(wanted, RECORD)
    assert within(wanted, _recorded(wanted))


@pytest.mark.parametrize(
    "wanted",
    [
        {"program": "cancelled"},
        {"totals": {"unknown": 0}},
        {"totals": {"succeeded": 2.5}},
        {"calls": [1, 2]},
        {"calls": [1, 2, 4]},
        {"calls": {"first": [2]}},
        {"calls": {"at_least": 4}},
        {"calls": {"at_most": 2}},
        {"calls": {"least": 1}},
        {"program": {"first": ["s"]}},
    ],
    ids=str,
)
def test_what_is_missing_or_other_is_seen(wanted: dict[str, Any]) -> None:
    """A number too many, a list that is longer, a word that means nothing."""
    assert not within(wanted, RECORD)


def test_a_record_that_is_missing_fails_where_one_is_wanted() -> None:
    """A target that claims evidence and hands over none has none."""
    run = Run("", End.VALUE, 1.0)
    assert evidence(run, (), {}, Outcome("value")) is PASSED
    found = evidence(run, (), {}, Outcome("value", record={"program": "succeeded"}))
    assert found.verdict is Verdict.FAIL


class _Plain(Canaries):
    """No secrets are planted."""

    def __init__(self) -> None:
        pass

    def fill(self, value: Any) -> Any:
        return value


def reply(behaviour: Behaviour) -> dict[str, Any]:
    """The `return` message of an operation with this behaviour."""
    spec = OperationSpec("op", "write", {}, (behaviour,))
    replies = Replies([spec], _Plain(), lambda program: f"prelude\n{program}")
    replies.accept(1, 1, "op", 0.0)
    (due,) = replies.due(1.0)
    return due.message


def test_a_reply_tells_what_its_operation_did() -> None:
    """With a value and with a failure; nothing is told where there is nothing."""
    told = reply(Behaviour("value", value=1, changed=("a",), warnings=("w",)))
    assert told["effects"] == {"changed": ["a"], "warnings": ["w"]}
    failed = reply(Behaviour("fail", code="c", message="m", changed=("a",)))
    assert (failed["ok"], failed["effects"]) == (False, {"changed": ["a"]})
    assert "effects" not in reply(Behaviour("value", value=1))


def test_a_reply_brings_a_program_that_the_operation_runs() -> None:
    """With its prelude, and without a value of its own."""
    told = reply(Behaviour("nested", value="return 1;"))
    assert (told["present"], told["nested"]) == (False, "prelude\nreturn 1;")
    assert "value" not in told
