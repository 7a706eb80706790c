"""Generated programs on a target beside the model, and each side's bugs found by the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from codemode_conformance.cli import main
from codemode_conformance.install import install
from codemode_conformance.properties.agreement import Answer as Compared
from codemode_conformance.properties.example import Example
from codemode_conformance.properties.hunting import hunt
from codemode_conformance.properties.performing import Performer
from codemode_conformance.target import SHIPPED, find_target, load_target
from codemode_spec.cases import Behaviour, OperationSpec
from codemode_spec.model import parent, prediction

if TYPE_CHECKING:
    from pathlib import Path

    from codemode_spec.model.ledger import Parent, Step
    from codemode_spec.model.terms import Answer, Rules

FEW = 25
REFUSED = ("host_result_bytes_limit", "cumulative_host_bytes_limit")
WITHIN = 500
ADAPTER = SHIPPED / "reference" / "adapter.py"
TARGET = """\
format = 1
[target]
name = "reference"
profile = "process-async"
version = "0.1.0.dev0"
probe = {{ command = ["${{python}}", "-m", "codemode_reference", "--version"] }}
[engine]
command = ["${{python}}", "-u", "{charging}", "{adapter}"]
[claims]
"contract" = "https://example.org/"
"policy.*" = "https://example.org/"
"alternatives.*" = "https://example.org/"
"""


def nothing(_: str) -> None:
    """Tell nobody what is installed."""


@pytest.fixture(scope="module")
def performer() -> Any:
    """The reference, ready for examples."""
    with Performer(install(find_target("reference"), nothing)) as one:
        yield one


def test_the_reference_does_what_the_model_says(performer: Performer) -> None:
    """The same few programs each time; `cmconf property` takes as many as one likes."""
    found = hunt(performer, FEW, 0)
    assert (found.programs, found.example) == (FEW, None)
    # A program whose branches may go on in very many orders can stay undecided on a busy machine.
    assert found.agreed + found.undecided == FEW
    assert found.undecided <= FEW // 10


TWO = (
    OperationSpec("get", "read", {}, (Behaviour("value", value=1), Behaviour("value", value="b"))),
    OperationSpec("put", "write", {}, (Behaviour("fail", code="E", message="text"),)),
)


@pytest.mark.parametrize(
    ("order", "released"), [((0,), [1, 2, 3]), ((1, 0), [2, 1, 3]), ((1, 1), [2, 3, 1])]
)
def test_replies_come_by_script(
    performer: Performer, order: tuple[int, ...], released: list[int]
) -> None:
    """Each is held back until the calls have arrived that the model sees by then."""
    put = {"try": [{"call": "put"}], "catch": [{"call": "get", "as": "r0"}], "as": "e"}
    steps = [
        {"all": [[{"call": "get", "as": "r1"}], [put]]},
        {"return": [{"$": "r0"}, {"$": "r1"}]},
    ]
    performed = performer.perform(Example(steps, {}, TWO, order))
    assert performed.compared.answer is Compared.AGREES
    assert [release.number for release in performed.foreseen.script] == released


def test_a_call_that_is_not_awaited_may_be_missing(performer: Performer) -> None:
    """It is cancelled with the program, before or after it was dispatched."""
    performed = performer.perform(Example([{"send": "get"}, {"return": 1}], {}, TWO))
    assert performed.compared.answer is Compared.AGREES
    assert len(performed.foreseen.prediction.calls) == 1
    assert performed.foreseen.certain == 0


@pytest.mark.slow
def test_a_bug_of_the_reference_is_found_and_shrunk(tmp_path: Path) -> None:
    """A refused value that is charged shows in two calls, and only they are left."""
    charging = ADAPTER.parents[3] / "tests" / "fakes" / "charging.py"
    file = tmp_path / "target.toml"
    file.write_text(TARGET.format(charging=charging, adapter=ADAPTER))
    with Performer(install(load_target(file), nothing)) as performer:
        found = hunt(performer, WITHIN, 11)
    _is_the_core(found)


@pytest.mark.slow
def test_a_bug_of_the_model_is_found_and_shrunk(
    performer: Performer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same one in the model, found by the reference."""
    faulty = SimpleNamespace(**{**vars(parent), "on_answer": charging})
    monkeypatch.setattr(prediction, "parents", faulty)
    _is_the_core(hunt(performer, WITHIN, 11))


def charging(rules: Rules, state: Parent, answer: Answer) -> Step:
    """The parent of the model, which charges a value before it looks whether it may pass."""
    step = parent.on_answer(rules, state, answer)
    if any(error.code in REFUSED for error in step.parent.sent - state.sent):
        delivered = state.delivered + answer.size
        return step._replace(parent=step.parent._replace(delivered=delivered))
    return step


def _is_the_core(found: Any) -> None:
    assert found.example is not None
    assert not found.flaky
    assert found.programs <= WITHIN
    made = found.performed.foreseen.prediction.calls
    assert 2 <= len(made) <= 4
    assert "cumulative_host_result_bytes" in found.example.policy


def test_the_command_says_what_came_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A line on what was run, one on how many agree."""
    assert main(["property", "--examples", "3", "--seed", "1"]) == 0
    printed = capsys.readouterr().out
    assert "seed 1: 3 programs in " in printed
    assert "3 do what the model says, " in printed


def test_a_number_of_examples_that_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the numbers that do."""
    assert main(["property", "--examples", "0"]) == 2
    assert "--examples 0: give 1 to 1000000" in capsys.readouterr().err
