"""Mutants: data that fits the reference, faults that are really there, a record that is current."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import codemode_spec
import pytest
from codemode_conformance.cli import main
from codemode_conformance.failures import HarnessError
from codemode_conformance.install import install
from codemode_conformance.mutants import reasons, record
from codemode_conformance.mutants.copy import mutated
from codemode_conformance.mutants.matrix import Matrix
from codemode_conformance.mutants.mutant import Mutant, Patch, contents, load, misfits, reference
from codemode_conformance.mutants.trial import Plan, Result, run
from codemode_conformance.target import find_target
from codemode_spec import SpecificationError

if TYPE_CHECKING:
    from pathlib import Path

SPECIFICATION = codemode_spec.load()
MUTANTS = load(SPECIFICATION)
PACKAGE = reference()
ENTRY = {
    "name": "ret.planted",
    "fault": "A planted fault.",
    "breaks": {"CM-RET-001": ["value"]},
    "patches": [{"file": "errors.py", "old": "a", "new": "b"}],
}


def made(*patches: Patch, breaks: dict[str, tuple[str, ...]] | None = None) -> Mutant:
    """A mutant that stands in no file."""
    breaks = breaks or {"CM-RET-001": ("value",)}
    return Mutant(
        "ret.planted", "RET", "A planted fault.", breaks, "engine", "reference", patches, "0" * 16
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A short plan on the reference itself."""
    values = install(find_target("reference"), print).values
    return Plan(SPECIFICATION, PACKAGE, {"reference": values}, sample=5)


def test_there_are_at_least_a_hundred_of_all_kinds() -> None:
    """In many areas, and no two with the same changes."""
    assert len(MUTANTS) >= 100
    assert len({mutant.area for mutant in MUTANTS.values()}) >= 10
    changes = [(mutant.role, mutant.target, mutant.patches) for mutant in MUTANTS.values()]
    assert len(set(changes)) == len(changes)
    faults = [mutant.fault for mutant in MUTANTS.values()]
    assert len(set(faults)) == len(faults)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_each_fits_the_reference(mutant: Mutant) -> None:
    """Each old text stands exactly once where it is looked for."""
    assert misfits(mutant, PACKAGE) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "err.planted"}, "all three must agree"),
        ({"breaks": {"CM-RET-999": ["value"]}}, "there is no such requirement"),
        ({"breaks": {"CM-RET-001": ["calls"]}}, "no case judges it in the layer calls"),
        ({"breaks": {}}, "non-empty"),
        ({"fault": "no sentence"}, "does not match"),
        ({"role": "nobody"}, "is not one of"),
        ({"patches": [{"file": "../x.py", "old": "a", "new": "b"}]}, "does not match"),
        ({"patches": [{"file": "x.py", "old": "a", "new": "a"}]}, "nothing is changed"),
        ({"more": 1}, "Additional properties"),
    ],
)
def test_a_fault_in_the_data_is_told(tmp_path: Path, change: dict, told: str) -> None:
    """With the file and what is wrong."""
    data = {"format": 1, "area": "RET", "mutants": [{**ENTRY, **change}]}
    (tmp_path / "ret.yaml").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(SpecificationError) as caught:
        load(SPECIFICATION, tmp_path)
    assert told in str(caught.value)
    assert "ret.yaml" in str(caught.value)


def test_a_name_stands_once(tmp_path: Path) -> None:
    """Two mutants of one name are refused, and so is a folder without any."""
    with pytest.raises(SpecificationError, match="there are no mutants"):
        load(SPECIFICATION, tmp_path)
    data = {"format": 1, "area": "RET", "mutants": [ENTRY, ENTRY]}
    (tmp_path / "ret.yaml").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(SpecificationError, match="the name stands twice"):
        load(SPECIFICATION, tmp_path)


def test_the_sources_of_the_reference_choose_the_part(tmp_path: Path) -> None:
    """The number is the same for the same sources, and another one after a change."""
    for text in ("a", "b"):
        (tmp_path / text).mkdir()
        (tmp_path / text / "x.py").write_text(text, encoding="utf-8")
    assert contents(tmp_path / "a") == contents(tmp_path / "a") != contents(tmp_path / "b")


# The copy


def test_a_change_is_made_in_a_copy(tmp_path: Path) -> None:
    """The package itself stays as it is, and the copy is gone afterwards."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "x.py").write_text("one two\n", encoding="utf-8")
    with mutated(made(Patch("x.py", "one", "three")), package) as copy:
        changed = copy.folder / "codemode_reference" / "x.py"
        assert copy.unread == ["x.py"]
        assert changed.read_text(encoding="utf-8") == "three two\n"
        assert copy.unread == []
        assert (package / "x.py").read_text(encoding="utf-8") == "one two\n"
    assert not copy.folder.exists()


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (Patch("x.py", "four", "five"), "stands there 0 times"),
        (Patch("x.py", "o", "0"), "stands there 2 times"),
        (Patch("y.py", "o", "0"), "No such file"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(tmp_path: Path, patch: Patch, told: str) -> None:
    """A reference that has changed names the mutants that have to be looked at."""
    (tmp_path / "x.py").write_text("one two\n", encoding="utf-8")
    assert told in misfits(made(patch), tmp_path)[0]
    refused = pytest.raises(HarnessError, match=f"ret.planted does not fit .*{told}")
    with refused, mutated(made(patch), tmp_path):
        pass


# Trials on the reference

NULL = Patch(
    "session.py", 'value = frame["value"]\n', 'value = frame["value"] or None\n'
)  # what is falsy arrives as null


def test_a_fault_is_caught_where_it_shows(plan: Plan) -> None:
    """By the cases of its requirement in their layer, while others pass."""
    result = run(made(NULL), dataclasses.replace(plan, whole=True))
    assert result.problems == []
    assert {"ret.value.zero", "ret.value.false"} <= set(result.catching("CM-RET-001", "value"))
    assert "ret.value.null" in result.related
    assert "ret.value.null" not in result.red
    assert len(result.passed) + len(result.others) == plan.sample


def test_a_known_case_comes_first_and_the_others_are_left_out(plan: Plan) -> None:
    """A short run ends with the first proof."""
    plan = dataclasses.replace(plan, known={"ret.planted": ("ret.value.false",)}, sample=0)
    result = run(made(NULL), plan)
    assert result.related == ["ret.value.false"]
    assert result.problems == []


def test_what_no_mutant_has_shown_comes_first_and_leaves(plan: Plan) -> None:
    """Of the cases of its requirements, until one mutant turns it red."""
    unshown = {"ret.value.false", "ret.value.null", "tim.sync-loop"}
    plan = dataclasses.replace(plan, unshown=unshown, sample=0)
    result = run(made(NULL), plan)
    assert set(result.related) == {"ret.value.false", "ret.value.null"}
    assert result.red == {"ret.value.false": ["value"]}
    assert unshown == {"ret.value.null", "tim.sync-loop"}


SOMETIMES = Patch(
    "session.py",
    'value = frame["value"]\n',
    """value = frame["value"]
        from pathlib import Path

        seen = Path(__file__).with_name("seen")
        if value == 0 and type(value) is int:
            value = None if seen.exists() else value
            seen.touch()
""",
)  # the first zero of all processes arrives, the others are null


def test_what_was_red_and_passes_by_chance_is_put_again(plan: Plan) -> None:
    """So that a fault which shows in some processes only goes on being caught."""
    known = {"ret.planted": ("ret.value.zero",)}
    plan = dataclasses.replace(plan, known=known, sample=0)
    result = run(made(SOMETIMES), plan)
    assert result.red == {"ret.value.zero": ["value"]}
    assert (result.withdrawn, result.problems) == ([], [])


def test_what_was_red_is_withdrawn_after_repeated_greens(plan: Plan) -> None:
    """A case that passes each time catches it no more; one that was not red is put once."""
    harmless = Patch("session.py", 'value = frame["value"]\n', 'value = (frame["value"])\n')
    known = {"ret.planted": ("ret.value.zero",)}
    plan = dataclasses.replace(plan, known=known, sample=0)
    result = run(made(harmless), plan)
    assert result.withdrawn == ["ret.value.zero"]
    assert len(result.related) > 1
    assert result.problems == ["no case of CM-RET-001 fails in value"]


def test_the_worker_role_keeps_its_program_and_has_the_fault(plan: Plan) -> None:
    """The first start makes it from the changed sources, the others use it."""
    ending = Patch("worker.py", "    worker.linger()\n    _leave(0)\n", "    _leave(1)\n")
    mutant = dataclasses.replace(
        made(ending, breaks={"CM-LIF-024": ("outcome",)}), name="lif.planted", role="worker"
    )
    result = run(mutant, dataclasses.replace(plan, sample=0))
    assert result.problems == []


def test_a_change_without_effect_survives(plan: Plan) -> None:
    """Nothing turns red, which is what the matrix is for."""
    harmless = Patch("session.py", 'value = frame["value"]\n', 'value = (frame["value"])\n')
    result = run(made(harmless), dataclasses.replace(plan, sample=0))
    assert result.problems == ["no case of CM-RET-001 fails in value"]


def test_a_fault_that_shows_elsewhere_survives(plan: Plan) -> None:
    """Red in another layer than the one it breaks is no proof."""
    refused = Patch("session.py", 'value = frame["value"]\n', 'value = frame["value"] or 1 / 0\n')
    result = run(made(refused), dataclasses.replace(plan, sample=0, whole=True))
    assert result.red["ret.value.zero"] == ["outcome"]
    assert result.problems == ["no case of CM-RET-001 fails in value"]


def test_a_fault_in_what_nobody_loads_does_not_count(plan: Plan) -> None:
    """It proves nothing that cases pass or fail."""
    text = (PACKAGE / "server/stdio.py").read_text(encoding="utf-8")
    first = text[: text.index("\n")]
    unused = Patch("server/stdio.py", first, f"{first}\n")
    result = run(made(unused), dataclasses.replace(plan, sample=0))
    assert result.fault == "nothing has read server/stdio.py: the fault was never there"


def test_a_mutant_that_does_not_start_is_no_mutant(plan: Plan) -> None:
    """What cannot be imported catches nothing."""
    broken = Patch("session.py", "class Session:", "class Session(:")
    result = run(made(broken), plan)
    assert result.fault is not None
    assert "SyntaxError" in result.fault


@pytest.mark.slow
def test_a_mutant_that_breaks_everything_is_too_coarse(plan: Plan) -> None:
    """Most unrelated cases must go on passing."""
    everything = Patch("session.py", 'value = frame["value"]\n', 'value = "ruined"\n')
    result = run(made(everything), dataclasses.replace(plan, sample=10))
    assert any(problem.startswith("only ") for problem in result.problems), result.problems


# The record


def test_the_record_is_up_to_date_and_complete() -> None:
    """Each mutant was caught, and every case of the core classes was red or says why it cannot."""
    _, problems = record.coverage(record.read(), MUTANTS, SPECIFICATION)
    assert [str(problem) for problem in problems] == []


def test_a_changed_mutant_or_case_is_stale() -> None:
    """What was shown with another version of either shows nothing."""
    shown = record.read()
    name, mutant = next((n, m) for n, m in MUTANTS.items() if n in shown.mutants)
    assert shown.current(mutant, SPECIFICATION)
    assert not shown.current(dataclasses.replace(mutant, digest="0" * 16), SPECIFICATION)
    old = dataclasses.replace(shown, cases=dict.fromkeys(shown.cases, "0" * 16))
    assert not old.current(mutant, SPECIFICATION)
    _, problems = record.coverage(old, {name: mutant}, SPECIFICATION)
    assert any(f"cmconf mutants --whole --write --mutant {name}" in str(one) for one in problems)


def test_what_nothing_turned_red_is_told() -> None:
    """Without mutants every case of the core classes is missing, which is too many."""
    covered, problems = record.coverage(record.Record({}, {}), {}, SPECIFICATION)
    assert covered.by_mutant == ()
    assert len(covered.missing) + len(covered.by_doctor) > 300
    (problem,) = problems
    assert str(problem).startswith(f"doctored.yaml: at_most: {len(covered.missing)} cases were")


def test_a_reason_that_a_mutant_refutes_is_told() -> None:
    """The list of what no mutant can break has no case that one breaks."""
    covered, _ = record.coverage(record.Record({}, {}), {}, SPECIFICATION)
    case = next(iter(covered.by_doctor))
    mutant = made(NULL, breaks={SPECIFICATION.cases[case].requirements["outcome"]: ("outcome",)})
    shown = record.Shown(mutant.digest, {case: ["outcome"]}, 1, 1)
    digests = {case: SPECIFICATION.digests[case][:16]}
    current = record.Record({mutant.name: shown}, digests)
    _, problems = record.coverage(current, {mutant.name: mutant}, SPECIFICATION)
    assert f"doctored.yaml: {case}: a mutant turns it red; take it out" in map(str, problems)


def test_a_case_that_is_red_for_another_reason_is_not_shown() -> None:
    """What fails beside the requirement of a mutant proves nothing of the case."""
    assert SPECIFICATION.cases["ret.value.zero"].requirements["value"] == "CM-RET-001"
    for layer, requirement, seen in (
        ("value", "CM-RET-001", True),
        ("outcome", "CM-RET-001", False),
        ("value", "CM-RET-002", False),
    ):
        mutant = made(NULL, breaks={requirement: ("value",)})
        shown = record.Shown(mutant.digest, {"ret.value.zero": [layer]}, 1, 1)
        digests = {"ret.value.zero": SPECIFICATION.digests["ret.value.zero"][:16]}
        current = record.Record({mutant.name: shown}, digests)
        covered, _ = record.coverage(current, {mutant.name: mutant}, SPECIFICATION)
        assert ("ret.value.zero" in covered.by_mutant) is seen


@pytest.mark.parametrize(("passing", "count"), [(4, 0), (3, 1), (0, 1)])
def test_a_ruin_is_told(passing: int, count: int) -> None:
    """A mutant on which most other cases fail as well shows nothing."""
    mutant = made(NULL)
    shown = record.Shown(mutant.digest, {"ret.value.zero": ["value"]}, passing, 5)
    digests = {"ret.value.zero": SPECIFICATION.digests["ret.value.zero"][:16]}
    current = record.Record({mutant.name: shown}, digests)
    _, problems = record.coverage(current, {mutant.name: mutant}, SPECIFICATION)
    assert sum("it is a ruin" in str(problem) for problem in problems) == count


@pytest.mark.parametrize(
    ("group", "told"),
    [
        ({"kind": "weather"}, "the kind is 'weather'; it must be one of engine, undeclared"),
        ({}, "the kind is None"),
        ({"kind": "engine", "cases": ["ret.nope.*"]}, "ret.nope.*: there is no such case"),
        ({"kind": "engine", "cases": ["ret.value.zero", "ret.value.z*"]}, "it stands twice"),
        ({"kind": "undeclared"}, "declares what it is for; add a mutant"),
    ],
)
def test_a_reason_is_of_a_kind_and_of_a_case(tmp_path: Path, group: dict, told: str) -> None:
    """And no case is said to be undeclared that a profile of the reference declares."""
    group = {"why": "so", "cases": ["ret.value.zero"], **group}
    path = tmp_path / "doctored.yaml"
    path.write_text(json.dumps({"format": 1, "at_most": 0, "groups": [group]}), encoding="utf-8")
    found = reasons.read(SPECIFICATION, path)
    assert any(told in str(problem) for problem in found.problems), found.problems


def test_the_reasons_are_in_order() -> None:
    """Those that are shipped."""
    assert reasons.read(SPECIFICATION, record.place() / reasons.DOCTORED).problems == []


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """New results replace old ones, others stay as long as they are current."""
    mutant = made(NULL)
    result = Result(
        mutant, SPECIFICATION.cases, red={"ret.value.zero": ["value"]}, passed=["a"] * 3
    )
    mutants = {mutant.name: mutant}
    path = tmp_path / "caught.json"
    path.write_text(record.text(record.Record({}, {}), [result], mutants, SPECIFICATION), "utf-8")
    again = record.read(path)
    assert again.current(mutant, SPECIFICATION) == result.red
    assert again.mutants[mutant.name].unrelated == 3
    assert record.text(again, [], mutants, SPECIFICATION) == path.read_text(encoding="utf-8")
    later = Result(mutant, SPECIFICATION.cases, red={"ret.value.false": ["value"]})
    both = json.loads(record.text(again, [later], mutants, SPECIFICATION))["mutants"]
    assert set(both[mutant.name]["red"]) == {"ret.value.false", "ret.value.zero"}
    withdrawn = Result(mutant, SPECIFICATION.cases, withdrawn=["ret.value.zero"])
    assert json.loads(record.text(again, [withdrawn], mutants, SPECIFICATION))["mutants"] == {
        mutant.name: {"digest": mutant.digest, "unrelated": [3, 3], "red": {}}
    }
    assert record.read(tmp_path / "none.json").mutants == {}
    smaller = Result(mutant, SPECIFICATION.cases, red={"ret.value.zero": ["value"]}, others=["b"])
    kept = json.loads(record.text(again, [smaller], mutants, SPECIFICATION))["mutants"]
    assert kept[mutant.name]["unrelated"] == [3, 3]


def test_a_catch_is_not_lost_in_a_run_that_does_not_repeat_it() -> None:
    """Neither what passed once nor an outcome that hides the layer takes it away."""
    mutant = made(NULL)
    shown = record.Shown(mutant.digest, {"ret.value.zero": ["value"]}, 3, 3)
    digest = SPECIFICATION.digests["ret.value.zero"][: record.DIGITS]
    known = record.Record({mutant.name: shown}, {"ret.value.zero": digest})
    passed = Result(mutant, SPECIFICATION.cases, related=["ret.value.zero"])
    hidden = dataclasses.replace(passed, red={"ret.value.zero": ["outcome"]})
    for result, red in ((passed, ["value"]), (hidden, ["value", "outcome"])):
        told = json.loads(record.text(known, [result], {mutant.name: mutant}, SPECIFICATION))
        assert told["mutants"][mutant.name]["red"] == {"ret.value.zero": red}


# The command


def test_the_matrix_shows_what_caught_and_what_survived() -> None:
    """A line for each layer, and a word for each problem."""
    result = Result(
        made(NULL), SPECIFICATION.cases, red={"ret.value.zero": ["value"]}, passed=["x"]
    )
    lost = Result(made(NULL), SPECIFICATION.cases, others=["x"], withdrawn=["ret.value.zero"])
    lines: list[str] = []
    matrix = Matrix([result.mutant], lines.append)
    matrix.row(result)
    matrix.row(lost)
    matrix.end([result, lost], 2.0)
    printed = "\n".join(lines)
    assert "ret.planted  CM-RET-001   value         1     1/1  ret.value.zero" in printed
    assert "SURVIVES ret.planted: no case of CM-RET-001 fails in value" in printed
    assert "SURVIVES ret.planted: only 0% of unrelated cases pass (not x)" in printed
    assert "WITHDRAWN ret.planted: ret.value.zero was red, and passed 3 times" in printed
    assert "1 of 2 mutants caught" in printed


def test_the_check_runs_nothing(capsys) -> None:
    """It counts, and names what only doctored outcomes turn red."""
    assert main(["mutants", "--check"]) == 0
    printed = capsys.readouterr().out
    assert f"{len(MUTANTS)} mutants" in printed
    assert "0 problems" in printed


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--mutant", "ret.nope"], "there is none; areas with mutants"),
        (["--shard", "3/2"], "is no I/N"),
        (["--part", "0"], "is no number from 1"),
        (["--jobs", "0"], "is no number from 1 to 16"),
    ],
)
def test_what_cannot_be_meant_is_refused(capsys, words: list[str], told: str) -> None:
    """With what is wrong."""
    try:
        code: object = main(["mutants", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert told in capsys.readouterr().err


def test_one_mutant_from_the_command_line(capsys) -> None:
    """It is started, caught and counted."""
    assert main(["mutants", "--mutant", "ret.falsy-is-null"]) == 0
    printed = capsys.readouterr().out
    assert "1 of 1 mutants caught" in printed
