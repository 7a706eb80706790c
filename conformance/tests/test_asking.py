"""The model beside the cases: two readings of the requirements, which must agree.

Where they do not, either the case expects what the rules do not ask, or the model is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import codemode_spec
import pytest
from codemode_conformance import asking
from codemode_conformance.cli import main
from codemode_conformance.selftest import alternatives_of
from codemode_spec import NotApplicable
from codemode_spec.model import expressions, parent, prediction, worker
from codemode_spec.model.checks import passes
from codemode_spec.model.faults import FAULTS
from codemode_spec.model.readings import load_readings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec import Case

SPECIFICATION = codemode_spec.load()
READINGS = load_readings(SPECIFICATION.cases)
PROFILES = SPECIFICATION.tables.profiles
READ = [case for case in SPECIFICATION.cases.values() if READINGS.knows(case)]
MODELED = (
    *("undefined_result", "nested_undefined", "exhaustion", "concurrency_excess", "host_wait"),
    *("operation_failure", "late_calls", "stall", "memory_error", "values"),
)
"""The alternatives that change what the model says."""

LONG = ("cal.probing", "lif.many-calls-in-one-program.")
"""Cases that take the model a second; what they leave open is judged by nobody."""


def asked(case: Case, profile: str, chosen: Mapping[str, Any]) -> list[str]:
    """Where the model parts from a case; an empty list also for one that does not apply."""
    alternatives = {**PROFILES[profile].alternatives, **chosen}
    try:
        answers = asking.answer(case, SPECIFICATION, READINGS, profile, alternatives)
    except NotApplicable:
        return []
    return [line for said in answers for line in said.differs]


def choices(case: Case) -> Iterator[tuple[str, dict[str, str]]]:
    """Each profile, with every choice of the alternatives that the case depends on."""
    for profile in PROFILES:
        for chosen in chosen_of(case):
            yield profile, chosen


def chosen_of(case: Case) -> list[dict[str, str]]:
    """The choices that the model follows; what a round trip makes of odd values it leaves open."""
    found = alternatives_of(case, SPECIFICATION)
    return [chosen for chosen in found if chosen.get("values") != "round_trip"]


def neighbors(case: Case) -> Iterator[dict[str, str]]:
    """The choices of the default profile with one alternative changed that the case leaves open.

    Waiting is excluded from the deadline only where calls return directly.
    """
    default = PROFILES[codemode_spec.DEFAULT_PROFILE].alternatives
    for chosen in chosen_of(case):
        for name in MODELED:
            for value in SPECIFICATION.tables.alternatives[name].values:
                changed = {**chosen, name: value}
                sync = {**default, **changed}["script_style"] == "sync"
                if value == "round_trip":
                    continue
                if name not in chosen and value != default[name] and (sync or value != "excluded"):
                    yield changed


@pytest.mark.parametrize("case", READ, ids=lambda case: case.id)
def test_the_model_says_what_the_case_expects(case: Case) -> None:
    """In every layer, for each profile, whatever is chosen where the case tells choices apart."""
    for profile, chosen in choices(case):
        assert asked(case, profile, chosen) == [], (profile, chosen)


@pytest.mark.parametrize(
    "case",
    # A third, since every alternative of every case takes a minute.
    [case for case in READ[::3] if not case.id.startswith(LONG)],
    ids=lambda case: case.id,
)
def test_a_case_names_every_alternative_on_which_it_depends(case: Case) -> None:
    """What it leaves open makes no difference: nobody fails for a legal choice."""
    for chosen in neighbors(case):
        assert asked(case, codemode_spec.DEFAULT_PROFILE, chosen) == [], chosen


def test_many_cases_are_read() -> None:
    """The others are about frames, modules, or the inside of an engine."""
    assert len(READ) >= 280


def _rules(**changes: Any) -> Any:
    """The rules of a model that takes a policy row or an alternative for another."""

    def changed(*args: Any, **kwargs: Any) -> Any:
        made = RULES(*args, **kwargs)
        policy = {name: change for name, change in changes.items() if name in made.policy}
        others = {name: change for name, change in changes.items() if name not in made.policy}
        return replace(
            made,
            policy={**made.policy, **{n: made.policy[n] + more for n, more in policy.items()}},
            alternatives={**made.alternatives, **others},
        )

    return changed


RULES = asking.rules


def _parents(fault: str) -> Any:
    boundary = FAULTS[fault].boundary
    return SimpleNamespace(
        TIME_UP=parent.TIME_UP,
        start=parent.start,
        on_event=boundary.on_event,
        on_answer=boundary.on_answer,
    )


def _without(procedure: Any, check: str) -> Any:
    return procedure._replace(tests={**procedure.tests, check: passes})


def _twice(value: Any, rules: Any) -> Any:
    SNAPSHOT(value, rules)
    return SNAPSHOT(value, rules)


SNAPSHOT = expressions.snapshot
FAULTY = {
    "one more call": (asking, "rules", _rules(host_calls=1), "cal.total"),
    "one byte more": (asking, "rules", _rules(final_result_bytes=1), "ret.edge.over"),
    "one level more": (asking, "rules", _rules(value_depth=1), "ret.depth.over"),
    "undefined left out": (
        *(asking, "rules", _rules(nested_undefined="omit")),
        "val.undefined-property",
    ),
    "a refused value is charged": (
        *(prediction, "parents", _parents("refused-charged")),
        "dat.refusal-codes",
    ),
    "no value is a value": (
        worker,
        "RESULT",
        _without(worker.RESULT, "undefined"),
        "ret.no-value.bare",
    ),
    "anything is a value": (worker, "RESULT", _without(worker.RESULT, "types"), "ret.not-json.map"),
    "no slots": (worker, "CALL", _without(worker.CALL, "concurrent_host_calls"), "cal.concurrent"),
    "a value is read twice": (prediction, "snapshot", _twice, "val.read-once.getter"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_model_differs_in_the_case_that_names_the_rule(monkeypatch, fault) -> None:
    """The comparison can fail, and does so where the rule is asked for."""
    module, name, changed, case = FAULTY[fault]
    entry = SPECIFICATION.cases[case]
    assert asked(entry, codemode_spec.DEFAULT_PROFILE, {}) == []
    monkeypatch.setattr(module, name, changed)
    assert asked(entry, codemode_spec.DEFAULT_PROFILE, {}) != []


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str], str]:
    """The exit code of `cmconf ask`, and what was printed."""
    code = main(["ask", *words])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code, out.splitlines(), err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["cal.totl"], "cal.totl: there is no such case; did you mean cal.total?"),
        (["cal"], "cal: it is an area, not a case; `cmconf list` shows its cases"),
        ([""], "'': there is no such case"),
        (
            ["cal.total", "--profile", "process-asyn"],
            "--profile process-asyn: it is one of inline-sync, process-async, worker-rpc",
        ),
        (
            ["cal.total", "--with", "exhaust=x"],
            "--with exhaust=x: the alternatives are script_style, source_form, ",
        ),
        (
            ["cal.total", "--with", "stall=at_once", "--with", "stall=deadline"],
            "--with stall=deadline: stall is at_once already; choose one",
        ),
        (
            ["cal.total", "--with", "host_wait=excluded"],
            "host_wait is excluded only where calls return: add script_style=sync",
        ),
        (["cal.total", "--with", "options=x"], "options is one of timeout, readonly"),
        (["cal.total", "--with", "exhaustion=x"], "exhaustion is one of catchable, terminal"),
        (["cal.total", "--with", "exhaustion"], "exhaustion is one of catchable, terminal"),
        (["cal.race"], "the model has no answer for cal.race"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(capsys, words: list[str], reason: str) -> None:
    """It says what was wrong."""
    code, _, err = ask(capsys, *words)
    assert code == 2
    assert reason in err
    assert len(err.splitlines()) == 1


def test_a_case_without_a_reading_says_so(capsys) -> None:
    """Nobody takes silence for agreement."""
    _, out, _ = ask(capsys, "cal.race")
    assert out[1] == (
        "  not asked under process-async: nobody has put the program of cal.race into steps"
    )


def test_a_case_that_sets_a_row_which_the_profile_lacks_is_not_asked(capsys) -> None:
    """It would be told of an invalid policy instead of its own rule."""
    code, out, _ = ask(capsys, "tim.processor")
    assert code == 2
    assert out[1] == "  not asked under process-async: the profile has no row cpu_time_ms"
    code, out, _ = ask(capsys, "tim.processor", "--profile", "worker-rpc")
    assert code == 0
    assert "  the model says: failure, cpu_time_exceeded, limit 500" in out


NOBODY = "server_invocations 0 of 4 used, server_workers 0 of 4 used"
NO_NAME = "name: not so: the method or operation is in the catalogue"
NOT_SO = "  NOT what the case expects: value"


def test_the_reasons_stand_step_by_step(capsys) -> None:
    """Each place in a line, then what was dispatched, what the model says, and that it agrees."""
    code, out, err = ask(capsys, "cal.unknown-name.empty")
    assert (code, err) == (0, "")
    assert out == [
        "cal.unknown-name.empty: A name that was not granted dispatches nothing (empty)",
        f"     1  tool call          11 checks hold; {NOBODY}",
        "     2  program            asks for ",
        f"     3  worker host call   {NO_NAME}: unknown_operation",
        "     4  worker final       7 checks hold",
        "     5  parent final       10 checks hold",
        "     6  protocol           from finishing to ended",
        "  dispatched: 0",
        '  the model says: value "refused"',
        "  the case expects the same",
    ]


def test_steps_that_are_like_others_are_left_out(capsys) -> None:
    """Sixteen calls take four lines, and every one of them with --all-steps."""
    _, short, _ = ask(capsys, "cal.total-uncaught")
    assert "        ... 71 more like these" in short
    assert '  dispatched: 16: echo({"i": 0}), echo({"i": 1}), and 14 more' in short
    spent = "host_calls_limit (operation echo, limit 16)"
    settled = f"it returned; what it threw is named by the identity of the error: {spent}"
    assert f"    84  worker final       settle: not so: {settled}" in short
    assert "  the model says: failure, host_calls_limit, operation echo, limit 16" in short
    _, every, _ = ask(capsys, "cal.total-uncaught", "--all-steps")
    assert every.count("          yes  operation_known: the operation is in the catalogue") == 16
    assert [line.strip() for line in every if line.startswith("           no  ")] == [
        f"no  host_calls: fewer than host_calls calls were made (16 of 16 used): {spent}",
        f"no  settle: {settled}",
    ]


def test_all_variants_of_a_case_are_asked_by_its_name(capsys) -> None:
    """One answer each; a case that lets its program succeed without a value is told so, too."""
    code, out, _ = ask(capsys, "ret.no-value", "--with", "undefined_result=absent")
    assert code == 0
    assert out.count("  the model says: success without a value") == 3


def test_a_set_of_alternatives_is_added_to_and_emptied(capsys) -> None:
    """As `options`: each value is one more, and none at all is a choice, too."""
    for more in ([], ["--with", "options=readonly"]):
        code, out, _ = ask(capsys, "tim.option", *more, "--with", "options=timeout")
        assert code == 0
        assert "  the model says: failure, deadline_exceeded, limit 1000" in out
    code, out, _ = ask(capsys, "tim.option", "--profile", "worker-rpc", "--with", "options=")
    assert code == 2
    assert out[1].startswith("  not asked under worker-rpc: options is empty, and the case is for")


@pytest.mark.parametrize("profile", PROFILES)
def test_no_case_is_asked_under_a_profile_that_it_is_not_for(profile: str) -> None:
    """What the profile chose otherwise is no difference between model and case."""
    assert {case.id: asked(case, profile, {}) for case in READ if asked(case, profile, {})} == {}
    declaration = SPECIFICATION.cases["src.last-declaration.function"]
    with pytest.raises(NotApplicable, match="source_form is function_body, and the case is for"):
        asking.answer(
            declaration,
            SPECIFICATION,
            READINGS,
            codemode_spec.DEFAULT_PROFILE,
            PROFILES[codemode_spec.DEFAULT_PROFILE].alternatives,
        )


def test_an_invalid_policy_starts_nothing(capsys) -> None:
    """There is no program to follow."""
    code, out, _ = ask(capsys, "pol.first-fault")
    assert code == 0
    assert out[1:3] == [
        "  the policy is invalid at source_bytes: nothing is started",
        "  the case expects the same",
    ]


def test_marks_of_what_json_loses_are_told(capsys) -> None:
    """Where more than JSON may cross, the kind and the place stand beside the value."""
    _, out, _ = ask(capsys, "ret.holes.undefined", "--with", "values=structured")
    assert "  the model says: value [1, null, 3], undefined at [1]" in out


def test_programs_that_run_together_are_told_apart(capsys) -> None:
    """Each has its own answer."""
    code, out, _ = ask(capsys, "lif.two-at-once")
    assert code == 0
    assert [line for line in out if line.startswith("  program ")] == [
        "  program 1 of 2",
        "  program 2 of 2",
    ]


def test_a_difference_is_shown_and_is_exit_1(capsys, monkeypatch) -> None:
    """With both sides in words."""
    monkeypatch.setattr(asking, "rules", _rules(host_calls=1))
    code, out, _ = ask(capsys, "cal.total")
    assert code == 1
    told = "the case expects value [16,3]; the model says value [17,2]"
    assert f"{NOT_SO}: {told}" in out
