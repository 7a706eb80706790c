"""Whatever a target does, a run ends, the end has its name, and the next case starts afresh."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from codemode_conformance import channel, processtable
from codemode_conformance.engine import Engine
from codemode_conformance.observation import End, Fault, Health, Run
from codemode_conformance.process import Caps
from codemode_conformance.target import Command
from codemode_spec.cases import Case

MakeEngine = Callable[..., Engine]
MakeCase = Callable[..., Case]
NEVER = [{"name": "op", "effect": "read", "behaviour": [{"never": True}]}]
SHORT = {"set": {"wall_time_ms": 100}}


def first(engine: Engine, case: Case) -> Run:
    """The first run of the case."""
    return engine.run(case).observation.runs[0]


def restarted(engine: Engine, case_of: MakeCase) -> bool:
    """Whether the next case is run by another process, and well."""
    before = engine.starts
    observation = engine.run(case_of()).observation
    assert observation.after is Health.HEALTHY
    return engine.starts == before + 1


def test_a_run_that_only_waits_for_a_call_is_ended_by_an_answer(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The first step: every open call is answered with an error."""
    engine = fake_engine()
    run = first(engine, case_of("call op {}\nlast", operations=NEVER, **SHORT))
    assert (run.end, run.forced) == (End.VALUE, "answer")
    assert run.value.value["code"] == "operation_failed"
    assert run.elapsed_ms >= 300
    assert not restarted(engine, case_of)


def test_a_call_made_while_ending_is_answered_at_once(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """A program that calls on and on gets errors only."""
    program = "call op {}\ncall op {}\ncall op {}\nlast"
    run = first(fake_engine(), case_of(program, operations=NEVER, **SHORT))
    assert run.forced == "answer"
    assert [call.answered_ms is not None for call in run.calls] == [True] * 3


def test_a_run_that_heeds_only_cancel_is_ended_by_it(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The second step."""
    run = first(fake_engine(), case_of("until_cancel", **SHORT))
    assert (run.end, run.category, run.forced) == (End.FAILURE, "cancelled", "cancel")


@pytest.mark.parametrize(("program", "label"), [("hang", "silent"), ("block", "blocked")])
def test_a_run_without_an_outcome_is_killed(
    fake_engine: MakeEngine, case_of: MakeCase, program: str, label: str
) -> None:
    """The third step only labels it, the fourth kills; nothing runs in a dead process."""
    engine = fake_engine()
    then = [{"program": {"javascript": "return 1"}, "expect": [{"outcome": "any"}]}]
    observation = engine.run(case_of(program, then=then, **SHORT)).observation
    assert [(run.end, run.label) for run in observation.runs] == [(End.NO_OUTCOME, label)]
    assert observation.then == ()
    assert observation.after is Health.DEAD
    assert restarted(engine, case_of)


def test_other_runs_may_finish_before_the_kill(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """A hanging run does not take the outcome from one beside it."""
    runs: list[dict[str, Any]] = [
        {"program": {"javascript": "hang"}},
        {"program": {"javascript": "call op {}\nlast"}},
    ]
    slow = [{"name": "op", "effect": "read", "behaviour": [{"value": 5, "delay_ms": 90}]}]
    observation = fake_engine().run(case_of(runs=runs, operations=slow, **SHORT)).observation
    assert [run.end for run in observation.runs] == [End.NO_OUTCOME, End.VALUE]


def test_exit_while_a_run_is_open_is_host_died(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """The status and the last words are quoted."""
    engine = fake_engine()
    observation = engine.run(case_of("stderr out of order\x1b\nexit 9")).observation
    (run,) = observation.runs
    assert run.end is End.HOST_DIED
    assert run.label == 'it exited with status 9; on stderr it said: "out of order\\x1b"'
    assert observation.after is Health.DEAD
    assert restarted(engine, case_of)


def test_exit_right_after_success_is_seen_by_the_next_program(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The value stands, but the process is dead."""
    engine = fake_engine()
    observation = engine.run(case_of("die 1")).observation
    assert observation.runs[0].end is End.VALUE
    assert observation.after is Health.DEAD
    assert "status 7" in observation.after_detail
    assert restarted(engine, case_of)


def test_a_second_outcome_is_seen(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """Also when it comes while the next program runs."""
    engine = fake_engine()
    assert first(engine, case_of("twice")).end is End.TWO_OUTCOMES
    assert restarted(engine, case_of)


@pytest.mark.parametrize(
    ("linger", "end"), [({}, End.VALUE), ({"linger_ms": 800}, End.TWO_OUTCOMES)]
)
def test_a_second_outcome_that_comes_later_is_listened_for(
    fake_engine: MakeEngine, case_of: MakeCase, linger: dict[str, int], end: End
) -> None:
    """Where a case says so; the next program is over before it comes."""
    assert first(fake_engine(), case_of("again_later", **linger)).end is end


def test_a_pause_before_a_program_listens_too(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """What comes in it was seen before the program that follows is put."""
    following = {
        "program": {"javascript": "return 1"},
        "expect": [{"outcome": "value", "value": 1}],
    }
    late = {"then": [{**following, "pause_ms": 800}]}
    assert first(fake_engine(), case_of("again_later", then=[following])).end is End.VALUE
    assert first(fake_engine(), case_of("again_later", **late)).end is End.TWO_OUTCOMES


def test_a_forged_outcome_is_never_believed(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """Lines without the key, or with a wrong one, are noise; an unfinished one swallows nothing."""
    engine = fake_engine()
    observation = engine.run(case_of('forge\nreturn "true"')).observation
    assert observation.runs[0].value.value == "true"
    assert sum("forged" in note for note in observation.notes) == 2
    assert not restarted(engine, case_of)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("broken", "/ok"),
        ("fault", 'run: "the adapter stumbled"'),
        ("repeat_call", "call 1 of one run came twice"),
    ],
)
def test_a_fault_of_the_adapter_judges_nothing(
    fake_engine: MakeEngine, case_of: MakeCase, program: str, text: str
) -> None:
    """A broken keyed line, its own exception, a call number used twice."""
    engine = fake_engine()
    fault = engine.run(case_of(program, operations=NEVER)).observation.fault
    assert fault is not None
    assert fault.side == "adapter"
    assert text in fault.text
    assert restarted(engine, case_of)


@pytest.mark.parametrize("mute", ["open", "close"])
def test_a_session_that_is_not_answered_is_a_fault(
    fake_engine: MakeEngine, case_of: MakeCase, monkeypatch: pytest.MonkeyPatch, mute: str
) -> None:
    """Both have their own time."""
    engine = fake_engine()
    engine.start()
    engine.restart()
    words = (*engine._command.words[:2], json.dumps({"mute": [mute]}))
    monkeypatch.setattr(engine, "_command", Command(words))
    monkeypatch.setattr(channel, "SESSION_SECONDS", 0.2)
    fault = engine.run(case_of()).observation.fault
    assert fault == Fault("adapter", f"{mute}: no answer in 0.2 s")


def test_a_line_of_an_earlier_case_proves_nothing(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """It is noted, and the process is not used again."""
    engine = fake_engine()
    engine.run(case_of("later"))
    observation = engine.run(case_of("earlier\nreturn 1")).observation
    assert observation.runs[0].end is End.VALUE
    assert observation.fault is None
    assert any("which is not open" in note for note in observation.notes)
    assert engine.starts == 1
    assert restarted(engine, case_of)


def test_memory_of_the_target_is_watched_from_outside(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """The limit of the target file holds where the policy has none."""
    engine = fake_engine(memory_mib=150)
    observation = engine.run(case_of("allocate 300")).observation
    assert observation.runs[0].end is End.MEMORY
    assert "MiB" in (observation.runs[0].label or "")
    assert restarted(engine, case_of)


def test_the_limit_of_memory_follows_the_policy(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """Twice the declared number and 512 MiB are allowed."""
    engine = fake_engine({"effective": {"memory_bytes": {"value": 1 << 20, "from": "documented"}}})
    engine.run(case_of())
    assert engine._adapter is not None
    assert engine._adapter.process is not None
    assert engine._adapter.process.memory_bytes == (2 << 20) + (512 << 20)


def test_noise_by_the_megabyte_does_not_hide_the_outcome(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """A hundred megabytes are read past; only the first lines are kept."""
    observation = fake_engine({"wall": 60_000}).run(case_of("flood 100\nreturn 3")).observation
    assert observation.runs[0].value.value == 3
    assert len(observation.notes) <= 20


def test_a_flood_is_a_fault(
    targets: Callable[..., Any], fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """Over the cap nothing can be judged, and the process is ended."""
    engine = fake_engine({"wall": 60_000})
    engine.start()
    assert engine._adapter is not None
    assert engine._adapter.process is not None
    engine._adapter.process.caps = Caps(total_bytes=4 << 20)
    fault = engine.run(case_of("flood 20\nreturn 1")).observation.fault
    assert fault == Fault("adapter", "it printed more than 4 MiB in one case")
    assert restarted(engine, case_of)


def test_a_message_over_the_cap_of_a_line_is_a_fault(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """With the key it is a broken message, without it only noise."""
    engine = fake_engine()
    engine.start()
    assert engine._adapter is not None
    assert engine._adapter.process is not None
    engine._adapter.process._splitter._limit = 1 << 20
    assert engine.run(case_of("long 2000000\nreturn 1")).observation.fault is None
    fault = engine.run(case_of("long_value 2000000")).observation.fault
    assert fault is not None
    assert "a line of more than" in fault.text


def test_a_value_of_any_depth_is_observed(fake_engine: MakeEngine, case_of: MakeCase) -> None:
    """Too deep to be read, it is marked; nothing breaks."""
    run = first(fake_engine(), case_of("deep 20000"))
    assert run.value.odd == (((), "unknown"),)


@pytest.mark.parametrize("program", ["orphan\nreturn 1", "child\nexit 1", "orphan\nhang"])
def test_no_process_is_left_behind(
    fake_engine: MakeEngine, case_of: MakeCase, program: str
) -> None:
    """Whatever the run started, and however it ended."""
    engine = fake_engine()
    engine.start()
    assert engine._adapter is not None
    process = engine._adapter.process
    assert process is not None
    observation = engine.run(case_of(program, **SHORT)).observation
    engine.close()
    assert process.kin.living() == []
    mine = [entry for entry in processtable.all_entries() if entry.parent == os.getpid()]
    assert [entry for entry in mine if not entry.alive] == []
    assert any("outlived" in note for note in observation.notes) is program.startswith("child")
