"""Readings: the documents in `steps/`, and what is wrong with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import codemode_spec
import pytest
from codemode_spec.failures import NotApplicable, SpecificationError
from codemode_spec.model.readings import load_readings
from codemode_spec.model.steps import Call, Repeat, Return

if TYPE_CHECKING:
    from pathlib import Path

SPECIFICATION = codemode_spec.load()
CASES = SPECIFICATION.cases
HEAD = "format: 1\narea: CAL\nprograms:\n"


@pytest.fixture
def readings(tmp_path: Path) -> Any:
    """`readings(text)`: the readings of one document."""

    def read(text: str) -> Any:
        folder = tmp_path / "steps"
        folder.mkdir(exist_ok=True)
        (folder / "cal.yaml").write_text(HEAD + text, encoding="utf-8")
        return load_readings(CASES, tmp_path)

    return read


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("  cal.ttl: {steps: []}\n", "steps/cal.yaml: /programs/cal.ttl: there is no such case"),
        (
            "  cal.unknown-name: {steps: [], let: {nowhere: {}}}\n",
            "steps/cal.yaml: /programs/cal.unknown-name: the case has no variant nowhere",
        ),
        (
            "  cal.unknown-name: {steps: [], variants: {missing: [], gone: []}}\n",
            "steps/cal.yaml: /programs/cal.unknown-name: the case has no variant gone",
        ),
        ("  cal.total: {steps: [{dance: 1}]}\n", "steps/cal.yaml: /programs/cal.total/steps/0"),
        ("  cal.total: {}\n", "/programs/cal.total"),
    ],
)
def test_a_reading_that_is_wrong_is_refused(readings, text: str, problem: str) -> None:
    """With file, place and reason."""
    with pytest.raises(SpecificationError) as caught:
        readings(text)
    assert problem in str(caught.value)


def test_a_case_without_a_reading_does_not_apply(readings) -> None:
    """The message says what is missing."""
    some = readings("  cal.total: {steps: []}\n")
    assert not some.knows(CASES["cal.race"])
    with pytest.raises(NotApplicable, match=r"nobody has put the program of cal\.race into steps"):
        some.programs(CASES["cal.race"], {})


def test_templates_are_filled_with_rows_and_lets(readings) -> None:
    """Those of the case, and those of the reading for a variant."""
    some = readings(
        "  cal.total:\n    steps: [{repeat: '@{host_calls + 1}', do: []}]\n"
        "  cal.unknown-name:\n"
        "    steps: [{call: '@{name}'}, {return: '@{told}'}]\n"
        "    let: {missing: {told: '@{host_calls * 2}'}, empty: {told: none}}\n"
    )
    assert some.programs(CASES["cal.total"], {"host_calls": 4}) == ([(Repeat(5, ()),)], [])
    rows = {"host_calls": 4}
    missing, _ = some.programs(CASES["cal.unknown-name.missing"], rows)
    empty, _ = some.programs(CASES["cal.unknown-name.empty"], rows)
    assert missing == [(Call("nope"), Return(8))]
    assert empty == [(Call(""), Return("none"))]


def test_a_variant_may_have_a_program_of_its_own(readings) -> None:
    """The others are unknown, or have the common one."""
    some = readings("  cal.unknown-name: {variants: {empty: [{return: 1}]}}\n")
    assert some.programs(CASES["cal.unknown-name.empty"], {}) == ([(Return(1),)], [])
    assert not some.knows(CASES["cal.unknown-name.missing"])
    both = readings(
        "  cal.unknown-name: {steps: [{return: 2}], variants: {empty: [{return: 1}]}}\n"
    )
    assert both.programs(CASES["cal.unknown-name.missing"], {}) == ([(Return(2),)], [])


def test_the_shipped_readings_have_a_program_for_each_of_a_case() -> None:
    """As many as the case runs at once, and as many as it runs after that."""
    shipped = load_readings(CASES)
    profile = SPECIFICATION.tables.profiles[codemode_spec.DEFAULT_PROFILE]
    for case in CASES.values():
        if shipped.knows(case) and not set(case.set) - set(profile.rows):
            rows = {**profile.defaults(), "wrapper_bytes": 0}
            runs, then = shipped.programs(case, rows)
            assert len(runs) == len(case.data.get("runs") or [case.data]), case.id
            assert len(then) == len(case.data.get("then", [])), case.id
