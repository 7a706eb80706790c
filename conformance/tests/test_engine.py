"""A case is put to an adapter, and what came of it is observed truly."""

from collections.abc import Callable
from typing import Any

import pytest
from codemode_conformance.engine import Engine
from codemode_conformance.layers import SIDE_CHANNELS
from codemode_conformance.observation import (
    OFFERED,
    Call,
    CanaryHit,
    End,
    Health,
    Observation,
    Value,
)
from codemode_spec.cases import Case

MakeEngine = Callable[..., Engine]
MakeCase = Callable[..., Case]


def operation(*behaviour: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The operation `op`."""
    return {"name": "op", "effect": "read", "behaviour": list(behaviour), **more}


def test_a_value_is_observed_and_the_next_program_runs(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The plain case: value, effective numbers, health; the process is kept."""
    engine = fake_engine()
    observation = engine.run(case_of('return {"a": [1, null]}')).observation
    (run,) = observation.runs
    assert run.end is End.VALUE
    assert run.value == Value(present=True, value={"a": [1, None]})
    assert run.deadline_ms == 5_000
    assert (observation.after, observation.after_detail) == (Health.HEALTHY, "")
    assert observation.effective == {"wall_time_ms": 5_000, "wrapper_bytes": 0}
    assert observation.fault is observation.unsupported is None
    engine.run(case_of("absent"))
    assert engine.starts == 1


@pytest.mark.parametrize(
    ("program", "expected"),
    [("absent", Value(present=False)), ("return null", Value(present=True, value=None))],
)
def test_no_value_is_not_null(
    fake_engine: MakeEngine, case_of: MakeCase, program: str, expected: Value
) -> None:
    """Success without a value and null are two things."""
    assert fake_engine().run(case_of(program)).observation.runs[0].value == expected


def test_a_failure_carries_category_error_and_native(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """All three layers of what the target said."""
    (run,) = fake_engine().run(case_of("fail time deadline_exceeded")).observation.runs
    assert (run.end, run.category) == (End.FAILURE, "time")
    assert run.error == {"code": "deadline_exceeded"}
    assert run.native == {"message": "no"}


@pytest.mark.parametrize(
    ("program", "prelude", "more", "source"),
    [
        ("source", "let host;", {}, "((source))"),
        ("source host", "let host;", {}, "((let host;\nsource host))"),
        ("source host", "let host;", {"raw": True}, "((source host))"),
        ("source host", "", {}, "((source host))"),
    ],
)
def test_the_source_is_assembled_by_the_rules(
    fake_engine: MakeEngine,
    case_of: MakeCase,
    *,
    program: str,
    prelude: str,
    more: Any,
    source: str,
) -> None:
    """A prelude and its LF only with `host`, never with raw; the wrap always."""
    engine = fake_engine({"prelude": prelude, "wrap": ["((", "))"]})
    run = engine.run(case_of(program, after="none", **more)).observation.runs[0]
    assert run.value.value == source


def test_calls_are_answered_by_script_and_entered_in_the_ledger(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """Number, arguments and times of each call."""
    case = case_of(
        'call op {"x": 1}\ncall op\nlast',
        operations=[operation({"value": "a"}, {"fail": {"code": "gone", "message": "no"}})],
    )
    (run,) = fake_engine().run(case).observation.runs
    assert run.value.value == {"code": "gone", "message": "no"}
    first, second = run.calls
    assert (first.number, first.op, first.args) == (1, "op", Value(present=True, value={"x": 1}))
    assert (second.number, second.args, second.overlap) == (2, Value(present=False), 1)
    assert 0 <= first.at_ms <= (first.answered_ms or -1) <= second.at_ms <= run.elapsed_ms
    assert run.late_calls == ()


def test_overlap_and_release_order(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """Calls open at once are counted, and replies come in the order asked for."""
    case = case_of("all op 3", operations=[operation({"value": 0}, release=[3, 1, 2])])
    (run,) = fake_engine().run(case).observation.runs
    assert run.value.value == [3, 1, 2]
    assert [call.overlap for call in run.calls] == [1, 2, 3]


def test_an_odd_host_value_is_built_or_unsupported(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """Only kinds in `host_values` are asked for."""
    engine = fake_engine()
    program = "call op {}\nlast"
    observation = engine.run(case_of(program, operations=[operation({"odd": "NaN"})])).observation
    assert observation.runs[0].value.value == [[[], "NaN"]]
    observation = engine.run(case_of(program, operations=[operation({"odd": "Map"})])).observation
    assert observation.unsupported == "the adapter cannot build Map"
    assert engine.starts == 1


def test_a_row_is_set_as_policy_or_as_option(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """The option of that name serves where the row cannot be set, and shortens the deadline."""
    case = case_of("source", set={"wall_time_ms": 700})
    run = fake_engine().run(case).observation.runs[0]
    assert run.deadline_ms == 700
    identity = {"settable": [], "capabilities": ["options.timeout"]}
    links = {"alternatives.script_style": "https://example.org"}
    engine = fake_engine({"identity": identity}, claims=links)
    observation = engine.run(case).observation
    assert observation.runs[0].deadline_ms == 700
    assert observation.effective == {"wall_time_ms": 5_000, "wrapper_bytes": 0}
    case = case_of(set={"memory_bytes": 1_048_576})
    assert engine.run(case).observation.unsupported == "the target cannot set memory_bytes"


def test_a_row_that_cannot_be_set_is_unsupported(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The adapter may say so at open, too."""
    engine = fake_engine({"unsettable": {"fields": ["wall_time_ms"]}})
    observation = engine.run(case_of(set={"wall_time_ms": 1})).observation
    assert observation.unsupported == "the target cannot set wall_time_ms"
    assert engine.run(case_of()).observation.after is Health.HEALTHY
    assert engine.starts == 1


def test_notes_of_the_adapter_are_evidence(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """They are kept, escaped."""
    observation = fake_engine().run(case_of("note unhandled\x1b[0m\nreturn 1")).observation
    assert observation.notes == ('"test: unhandled\\x1b[0m"',)


def test_an_answer_other_than_one_is_unhealthy(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """It lives, but is not well; the next case gets another process."""
    engine = fake_engine({"unwell": True})
    observation = engine.run(case_of("return 2")).observation
    assert observation.after is Health.UNHEALTHY
    assert observation.after_detail == "`return 1`: value true"
    engine.run(case_of())
    assert engine.starts == 2


def test_a_refused_policy_is_a_failure_at_open(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """The stage says so; afterwards the default policy still works in the same process."""
    engine = fake_engine({"refuse": ["wall_time_ms"]})
    observation = engine.run(case_of(area="POL", set={"wall_time_ms": 0})).observation
    (run,) = observation.runs
    assert (run.stage, run.end, run.category) == ("open", End.FAILURE, "policy")
    assert run.error == {"code": "invalid_policy"}
    assert observation.after is Health.HEALTHY
    assert engine.starts == 1


def test_a_refusal_at_open_is_no_outcome_of_a_program(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """A deadline that the target does not take was not kept: nothing ran."""
    engine = fake_engine({"refuse": ["wall_time_ms"]})
    observation = engine.run(case_of(set={"wall_time_ms": 300})).observation
    assert observation.unsupported == "the target refuses wall_time_ms = 300"
    assert observation.runs == ()


def test_runs_at_once_and_after_a_call(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """A second run starts when the call it waits for has come."""
    runs = [
        {"program": {"javascript": "call op {}\nlast"}},
        {"program": {"javascript": "return 2"}, "at": "after_call 1"},
    ]
    case = case_of(runs=runs, operations=[operation({"value": 1, "until_run": 2})])
    observation = fake_engine().run(case).observation
    assert [run.value.value for run in observation.runs] == [1, 2]
    assert [(run.end, run.forced) for run in observation.runs] == [(End.VALUE, None)] * 2
    assert observation.after is Health.HEALTHY


def test_a_run_whose_call_never_came_was_not_started(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """It is no outcome, and its label says why."""
    runs = [
        {"program": {"javascript": "return 1"}},
        {"program": {"javascript": "return 2"}, "at": "after_call 1"},
    ]
    observation = fake_engine().run(case_of(runs=runs)).observation
    assert (observation.runs[1].end, observation.runs[1].label) == (End.NO_OUTCOME, "not_started")


def test_parallel_runs_take_further_sessions(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """As many sessions as needed, and no more than the target has."""
    runs = [{"program": {"javascript": "return 1"}}, {"program": {"javascript": "return 2"}}]
    engine = fake_engine({"identity": {"runs_per_session": 1, "sessions": 2}})
    observation = engine.run(case_of(runs=runs)).observation
    assert [run.value.value for run in observation.runs] == [1, 2]
    runs.append({"program": {"javascript": "return 3"}})
    unsupported = engine.run(case_of(runs=runs)).observation.unsupported
    assert unsupported == "3 runs at once need 3 sessions; the target has 2"


def test_follow_ups_run_in_the_same_process(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """After a failure, too: never a restart between a fault and its follow-up."""
    expect = [{"outcome": "any"}]
    then = [{"program": {"javascript": "pid"}, "expect": expect} for _ in range(2)]
    observation = fake_engine().run(case_of("fail script", then=then)).observation
    pids = [run.value.value for run in observation.then]
    assert pids[0] == pids[1]
    assert observation.after is Health.HEALTHY


@pytest.mark.parametrize("cancel", ["after_call 1", {"after_ms": 50}])
def test_a_case_may_cancel_its_run(
    fake_engine: MakeEngine, case_of: MakeCase, cancel: object
) -> None:
    """Natively, at a time or after a call; the ending rules are not needed."""
    case = case_of(
        "send op {}\nuntil_cancel", cancel=cancel, operations=[operation({"never": True})]
    )
    (run,) = fake_engine().run(case).observation.runs
    assert (run.end, run.category, run.forced) == (End.FAILURE, "cancelled", None)


def test_a_target_that_cannot_cancel_is_not_asked_further(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """`unsupported` for a cancel that the case asks for makes the case unsupported."""
    engine = fake_engine({"identity": {"capabilities": []}})
    observation = engine.run(case_of("until_cancel", cancel={"after_ms": 1})).observation
    assert observation.unsupported == "the target does not support cancel"


@pytest.mark.parametrize(
    ("capabilities", "lacks"),
    [
        (["op.aliases"], None),
        (["op.groups"], None),
        ([], "the adapter lacks op.groups"),
    ],
)
def test_aliases_need_no_groups(
    fake_engine: MakeEngine, case_of: MakeCase, capabilities: list[str], lacks: str | None
) -> None:
    """A target without groups may have operations with aliases."""
    engine = fake_engine({"identity": {"capabilities": capabilities}})
    named = {**operation({"value": 1}), "aliases": ["other"]}
    assert engine.run(case_of("return 1", operations=[named])).observation.unsupported == lacks


def test_a_late_call_and_its_cancellation_are_recorded(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """A call after the outcome stands in the ledger as late."""
    engine = fake_engine({"identity": {"capabilities": ["call_cancelled"]}})
    # What the target said before the next answer has been heard when that comes.
    then = [{"program": {"javascript": "return 1"}, "expect": [{"outcome": "any"}]}]
    case = case_of("late_call", operations=[operation({"never": True})], then=then)
    (run,) = engine.run(case).observation.runs
    (call,) = run.late_calls
    assert isinstance(call, Call)
    assert call.cancelled_ms is not None


def test_waiting_for_the_host_is_added_where_it_is_excluded(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """Scripted delays move the deadline; otherwise they do not."""
    links = {
        "policy.wall_time_ms": "https://example.org",
        "alternatives.host_wait": "https://example.org",
    }
    case = case_of("call op {}\nlast", operations=[operation({"value": 1, "delay_ms": 60})])
    for host_wait, deadline in (("excluded", 5_060), ("counted", 5_000)):
        config = {"identity": {"alternatives": {"host_wait": host_wait}}}
        attempt = fake_engine(config, claims=links).run(case)
        assert attempt.observation.runs[0].deadline_ms == pytest.approx(deadline)


def hits(observation: Observation) -> set[tuple[str, str]]:
    """Which secrets came where."""
    return {(hit.canary, hit.where) for hit in observation.canaries}


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("env {{canary.env.name}}", {("env", "run 1 value")}),
        ("read {{canary.file}}", {("file", "run 1 value")}),
        ("fetch {{canary.url}}", {("url", "run 1 value"), ("url", "listener")}),
        ("call op {}\nlast", {("error", "run 1 value")}),
        ('call op {"a": "{{canary.env.value}}"}\nreturn 1', {("env", "run 1 call 1 args")}),
        ("noise {{canary.env.value}}\nreturn 1", {("env", "stdout")}),
        ("stderr {{canary.env.value}}\nreturn 1", {("env", "stderr")}),
        ('call op {}\nreturn "{{canary.env.value}}\\\\n"', {("env", "run 1 value")}),
        ("return 1", set()),
    ],
)
def test_a_leaked_secret_is_reported_with_its_place(
    fake_engine: MakeEngine, case_of: MakeCase, program: str, found: set[tuple[str, str]]
) -> None:
    """Environment, file, listener and operation error, in whatever the target emits."""
    failing = operation({"fail": {"code": "x", "message": "at {{canary.error}}"}})
    observation = fake_engine().run(case_of(program, operations=[failing])).observation
    assert hits(observation) == found


def test_paths_of_the_host_are_reported_apart(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """Where the adapter and the installed target stand is not for programs to know."""
    engine = fake_engine()
    here = engine._installed.values["here"]
    observation = engine.run(case_of(f'return "at {here}/adapter.mjs"')).observation
    assert observation.canaries == (CanaryHit("path", "raw", "run 1 value"),)


def test_an_unknown_secret_is_a_fault_of_the_harness(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The case is wrong, not the target."""
    fault = fake_engine().run(case_of("env {{canary.moon}}")).observation.fault
    assert fault is not None
    assert fault.side == "harness"


@pytest.mark.parametrize(
    ("program", "expect", "side"),
    [
        ("fail capacity", [{"outcome": "any"}], "surroundings"),
        ("fail admission rate_limited", [{"outcome": "any"}], "surroundings"),
        ("fail admission pattern_blocked", [{"outcome": "any"}], None),
        (
            "fail capacity",
            [{"outcome": "failure", "category": {"want": ["capacity"]}}],
            None,
        ),
    ],
)
def test_a_refusal_for_rate_or_capacity_judges_nothing(
    fake_engine: MakeEngine, case_of: MakeCase, program: str, expect: Any, side: str | None
) -> None:
    """Unless the case asks for it."""
    fault = fake_engine().run(case_of(program, expect=expect)).observation.fault
    assert (fault and fault.side) == side


@pytest.mark.parametrize(
    ("program", "set_row", "needs"),
    [
        ("fail capacity server_workers_limit", {"server_workers": 2}, []),
        ("fail admission rate_limited", {"executions_per_minute": 2}, []),
        ("fail admission pattern_blocked", {}, ["admission"]),
    ],
)
def test_a_refusal_by_what_a_case_is_about_is_judged(
    fake_engine: MakeEngine, case_of: MakeCase, program: str, set_row: Any, needs: Any
) -> None:
    """A limit that the case has set, or a filter that it needs, may not refuse its program."""
    link = "https://example.org/limits"
    rows = ["wall_time_ms", "server_workers", "executions_per_minute"]
    names = [*(f"policy.{row}" for row in rows), "alternatives.script_style", "admission"]
    config = {
        "identity": {"capabilities": ["op.value", "admission"], "settable": rows},
        "effective": {row: {"value": 2, "from": "set"} for row in rows[1:]},
    }
    engine = fake_engine(config, dict.fromkeys(names, link))
    case = case_of(program, expect=[{"outcome": "value"}], set=set_row, needs=needs)
    seen = engine.run(case).observation
    assert (seen.fault, seen.unsupported) == (None, None)
    assert seen.runs[0].end is End.FAILURE


def test_a_case_that_does_not_fit_is_unsupported(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """No program in the language, or no number for a row."""
    engine = fake_engine()
    observation = engine.run(case_of(effective=["host_calls"])).observation
    assert observation.unsupported == "the target names no number for host_calls"
    assert engine.starts == 1


def test_unsupported_does_not_evade_a_verdict(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """A run without options has nothing that a target may lack."""
    observation = fake_engine().run(case_of("evade")).observation
    assert observation.unsupported is None
    assert observation.fault is not None
    assert observation.fault.side == "adapter"
    assert "unsupported" in observation.fault.text


def test_what_the_adapter_names_is_cut_and_escaped(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """Reasons are printed."""
    engine = fake_engine({"unsettable": {"fields": ["\x1b[31m" + "x" * 1_000]}})
    reason = engine.run(case_of(set={"wall_time_ms": 1})).observation.unsupported
    assert reason is not None
    assert reason.startswith("the target cannot set \\x1b[31mxxx")
    assert len(reason) < 300


def test_a_row_that_was_set_and_did_not_change_is_a_fault(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """An adapter that passes nothing on would be judged by numbers that do not hold."""
    engine = fake_engine({"effective": {"wall_time_ms": {"value": 30_000, "from": "documented"}}})
    fault = engine.run(case_of(set={"wall_time_ms": 300})).observation.fault
    assert fault is not None
    assert fault.side == "adapter"
    assert fault.text == "it was told wall_time_ms = 300, and opened a session with 30000"


def test_a_limit_that_is_absent_and_can_be_set_is_offered(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """Only what nobody can limit is documented as absent."""
    none = {"value": "none", "from": "documented"}
    engine = fake_engine({"effective": {"wall_time_ms": none, "memory_bytes": none}})
    effective = engine.run(case_of()).observation.effective
    assert effective == {"wall_time_ms": OFFERED, "memory_bytes": "none", "wrapper_bytes": 0}


def test_a_prelude_that_is_no_text_is_a_fault_of_the_adapter(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """A lone surrogate has no UTF-8."""
    observation = fake_engine({"wrap": ["\ud800", ""]}).run(case_of()).observation
    assert observation.fault is not None
    assert observation.fault.side == "adapter"


def test_a_fault_of_the_suite_in_one_case_does_not_end_the_others(
    fake_engine: MakeEngine, case_of: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error of that case, and the next one gets a fresh process."""
    engine = fake_engine()
    with monkeypatch.context() as patched:
        patched.setattr("codemode_conformance.trial.numbers_of", lambda _: 1 // 0)
        patched.setattr("codemode_conformance.engine.numbers_of", lambda _: {})
        fault = engine.run(case_of()).observation.fault
    assert fault is not None
    assert fault.side == "harness"
    assert fault.text.startswith("ZeroDivisionError")
    assert engine.run(case_of()).observation.after is Health.HEALTHY
    assert engine.starts == 2


def test_a_planted_file_that_is_gone_proves_nothing(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """That a program could not read it is no merit then."""
    expect = [{"outcome": "value", "evidence": {"canaries": ["file"]}}]
    case = case_of("unlink {{canary.file}}\nreturn []", expect=expect)
    fault = fake_engine().run(case).observation.fault
    assert fault is not None
    assert fault.side == "surroundings"


def test_a_refusal_by_a_declared_filter_judges_nothing(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The program did not run: what it would have tried is neither possible nor impossible."""
    links = dict.fromkeys(
        ("policy.wall_time_ms", "alternatives.script_style", "admission"), "https://example.org"
    )
    engine = fake_engine({"identity": {"capabilities": ["admission"]}}, claims=links)
    observation = engine.run(case_of("fail admission", expect=[{"outcome": "value"}])).observation
    assert observation.unsupported == "refused by the target's admission filter"
    wanted = [{"outcome": "failure", "category": {"want": ["admission"]}}]
    observation = engine.run(case_of("fail admission", expect=wanted)).observation
    assert observation.unsupported is None


def test_a_deadline_in_years_is_not_waited_for(
    fake_engine: MakeEngine, case_of: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a run that the suite ended before it is no FAIL."""
    monkeypatch.setattr("codemode_conformance.trial.LONGEST_MS", 100)
    engine = fake_engine({"wall": 10**12})
    fault = engine.run(case_of("hang")).observation.fault
    assert fault is not None
    assert fault.side == "surroundings"
    assert engine.run(case_of()).observation.after is Health.HEALTHY


def test_a_bare_connection_is_nobodys_leak(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """Whoever knows the path was told it; whoever scans ports was not."""
    observation = (
        fake_engine().run(case_of("knock {{canary.url}}\nfetch {{canary.url}}")).observation
    )
    assert ("url", "listener") in hits(observation)
    observation = fake_engine().run(case_of("knock {{canary.url}}\nreturn 1")).observation
    assert hits(observation) <= {("url", "port")}
    assert "port" in SIDE_CHANNELS
