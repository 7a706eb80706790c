"""Verdicts: each layer under its own requirement, from values alone."""

from __future__ import annotations

from dataclasses import replace

import codemode_spec
import pytest
from codemode_conformance import layers
from codemode_conformance.doctor import correct
from codemode_conformance.judge import Standing, judge, unasked
from codemode_conformance.observation import (
    OFFERED,
    Call,
    CanaryHit,
    End,
    Fault,
    Health,
    Observation,
    Run,
    Value,
)
from codemode_conformance.selftest import ALL_CLAIMED
from codemode_conformance.verdicts import CaseVerdict, Verdict

SPECIFICATION = codemode_spec.load()
PROFILE = SPECIFICATION.tables.profiles["process-async"]
ROWS = {**PROFILE.defaults(), "wrapper_bytes": 0, "wall_time_ms": 300}


def ready_case(name: str, **alternatives: str) -> codemode_spec.ReadyCase:
    """A shipped case fitted to the reference, with other alternatives where given."""
    chosen = {**PROFILE.alternatives, **alternatives}
    return SPECIFICATION.cases[name].resolve(ROWS, chosen, "javascript")


def verdict(
    ready: codemode_spec.ReadyCase, observation: Observation, standing: Standing = ALL_CLAIMED
) -> dict[str, Verdict]:
    """The verdict of each layer."""
    entry = judge(ready.case, ready, observation, SPECIFICATION.requirements, standing)
    return {layer.layer: layer.verdict for layer in entry.layers}


def seen(name: str, choice: int = 0) -> tuple[codemode_spec.ReadyCase, Observation]:
    """A case and a right outcome of it."""
    ready = ready_case(name)
    return ready, correct(ready, choice, ROWS)


def with_run(observation: Observation, **changes: object) -> Observation:
    """The observation with another first run."""
    return replace(observation, runs=(replace(observation.runs[0], **changes),))


def test_a_right_outcome_passes_in_every_layer() -> None:
    """The plain case."""
    assert set(verdict(*seen("tim.sync-loop")).values()) == {Verdict.PASS}


def test_layers_after_a_failed_outcome_are_not_reached() -> None:
    """A program that did not end has no category to judge."""
    ready, observation = seen("tim.sync-loop")
    lost = replace(observation, runs=(Run("", End.NO_OUTCOME, 1800.0, label="blocked"),))
    assert verdict(ready, lost) == {
        "outcome": Verdict.FAIL,
        "category": Verdict.NOT_REACHED,
        "code": Verdict.NOT_REACHED,
    }


def test_each_layer_fails_alone() -> None:
    """A wrong code leaves outcome and category passed."""
    ready, observation = seen("tim.sync-loop")
    wrong = with_run(observation, error={"code": "cancelled", "limit": 300})
    assert verdict(ready, wrong) == {
        "outcome": Verdict.PASS,
        "category": Verdict.PASS,
        "code": Verdict.FAIL,
    }


def test_the_contract_is_asked_only_of_those_who_claim_it() -> None:
    """Without `contract`, codes are unsupported and nothing else changes."""
    ready, observation = seen("tim.sync-loop")
    plain = Standing(frozenset(), "typed")
    assert verdict(ready, with_run(observation, error=None), plain) == {
        "outcome": Verdict.PASS,
        "category": Verdict.PASS,
        "code": Verdict.UNSUPPORTED,
    }


def test_a_label_read_from_text_needs_the_word_of_the_harness() -> None:
    """A category out of a message is judged only where clock or ledger confirm it."""
    ready, observation = seen("mem.with-call-in-flight")  # may end for its time, at any time
    observation = with_run(observation, category="time")
    text = Standing(frozenset(), "text")
    at_deadline = with_run(observation, elapsed_ms=320.0, deadline_ms=300.0)
    assert verdict(ready, at_deadline, text)["category"] is Verdict.NOT_REACHED
    early = with_run(observation, elapsed_ms=20.0, deadline_ms=300.0)
    assert verdict(ready, early, text)["category"] is Verdict.UNTESTABLE
    other = with_run(observation, elapsed_ms=320.0, deadline_ms=300.0, category="other")
    assert verdict(ready, other, text)["category"] is Verdict.UNTESTABLE
    assert verdict(ready, other, Standing(frozenset(), "typed"))["category"] is Verdict.FAIL


def test_a_category_that_rests_on_codes_is_judged_beside_others_from_text() -> None:
    """`typed` lists them: wanted or seen, such a label counts; between two others none does."""
    some = Standing(frozenset(), "text", frozenset({"time", "calls"}))
    ready, observation = seen("tim.sync-loop")
    assert verdict(ready, observation, some)["category"] is Verdict.PASS
    wrong = with_run(observation, category="script")
    assert verdict(ready, wrong, some)["category"] is Verdict.FAIL
    ready, observation = seen("err.forged.time")
    assert verdict(ready, observation, some)["category"] is Verdict.UNTESTABLE
    assert verdict(ready, with_run(observation, category="time"), some)["category"] is Verdict.FAIL
    memory = with_run(observation, category="memory")
    assert verdict(ready, memory, some)["category"] is Verdict.UNTESTABLE


def test_a_category_that_is_allowed_is_not_the_one_that_is_asked_for() -> None:
    """The program may end so, and the requirement of the label is not judged."""
    ready, observation = seen("mem.with-call-in-flight")
    assert verdict(ready, observation)["category"] is Verdict.PASS
    late = with_run(observation, category="time", elapsed_ms=320.0, deadline_ms=300.0)
    entry = judge(ready.case, ready, late, SPECIFICATION.requirements, ALL_CLAIMED)
    found = next(layer.finding for layer in entry.layers if layer.layer == "category")
    assert found.verdict is Verdict.NOT_REACHED
    assert found.reason == "failed as time, which is allowed"
    assert entry.verdict is Verdict.PASS


def test_an_outcome_that_had_to_be_forced_is_late() -> None:
    """A target that ends only once the harness answers its calls has no deadline."""
    ready, observation = seen("mem.with-call-in-flight")  # may end for its time, at any time
    observation = with_run(observation, category="time")
    assert verdict(ready, with_run(observation, forced="answer"))["outcome"] is Verdict.FAIL
    silent = replace(observation.runs[0], forced="answer", calls=())
    called = replace(silent, calls=(Call(1, "stuck", Value(present=False), 1.0),))
    assert str(layers.forced(called).observed).endswith("had answered its open calls")
    assert str(layers.forced(silent).observed).endswith("while the harness waited on")
    unknown = replace(observation, effective={"wall_time_ms": "unknown"})
    assert verdict(ready, with_run(unknown, forced="answer"))["outcome"] is Verdict.PASS


@pytest.mark.parametrize("health", [Health.DEAD, Health.UNHEALTHY, Health.NOT_ASKED])
def test_a_right_outcome_of_a_dead_host_is_no_pass(health: Health) -> None:
    """`success: true` and then death was seen in a real server."""
    ready, observation = seen("ret.value.zero")
    dead = replace(observation, after=health, after_detail="exit status 1")
    assert verdict(ready, dead)["outcome"] is Verdict.FAIL


def test_a_run_that_never_started_is_no_pass() -> None:
    """Runs that are expected must have been seen."""
    ready, observation = seen("iso.globals-between-runs")
    assert verdict(ready, replace(observation, then=()))["outcome"] is Verdict.FAIL
    assert verdict(ready, replace(observation, runs=()))["outcome"] is Verdict.FAIL


def test_a_wrong_value_in_a_follow_up_is_a_fail_of_the_value() -> None:
    """State that leaks shows in the second program."""
    ready, observation = seen("iso.globals-between-runs")
    leaked = replace(observation.then[0], value=Value(present=True, value="number"))
    assert verdict(ready, replace(observation, then=(leaked,)))["value"] is Verdict.FAIL


def test_a_leak_counts_where_somebody_sees_it() -> None:
    """On the adapter's standard error it is evidence, elsewhere a FAIL."""
    ready, observation = seen("iso.environment")
    for where, expected in (("outcome", Verdict.FAIL), ("stderr", Verdict.PASS)):
        leaked = replace(observation, canaries=(CanaryHit("env", "hex", where),))
        assert verdict(ready, leaked)["evidence"] is expected
    other = replace(observation, canaries=(CanaryHit("url", "plain", "outcome"),))
    assert verdict(ready, other)["evidence"] is Verdict.PASS


def test_a_fault_is_an_error_and_no_verdict_on_the_target() -> None:
    """Adapter and harness faults are told apart from FAIL."""
    ready, observation = seen("ret.value.zero")
    broken = replace(observation, fault=Fault("adapter", "a line breaks the schema"))
    assert verdict(ready, broken)["outcome"] is Verdict.ERROR
    entry = judge(
        ready.case, None, replace(observation, runs=()), SPECIFICATION.requirements, ALL_CLAIMED
    )
    assert entry.verdict is Verdict.ERROR


def test_a_case_that_was_not_put_is_unsupported_with_its_reason() -> None:
    """Never silently skipped."""
    case = SPECIFICATION.cases["cal.total"]
    observation = Observation(case.id, unsupported="needs op.value")
    entry = judge(case, None, observation, SPECIFICATION.requirements, ALL_CLAIMED)
    assert entry == unasked(case, observation, SPECIFICATION.requirements, "needs op.value")
    assert entry.verdict is Verdict.UNSUPPORTED
    assert entry.layers[0].finding.reason == "needs op.value"


def test_an_optional_requirement_never_fails() -> None:
    """A MAY that does not hold is shown as not supported."""
    ready, observation = seen("ret.value.zero")
    name = ready.case.requirements["value"]
    optional = {
        **SPECIFICATION.requirements,
        name: replace(SPECIFICATION.requirements[name], level="MAY"),
    }
    wrong = with_run(observation, value=Value(present=True, value=7))
    entry = judge(ready.case, ready, wrong, optional, ALL_CLAIMED)
    assert {layer.layer: layer.verdict for layer in entry.layers}["value"] is Verdict.UNSUPPORTED


def test_any_legal_outcome_will_do_and_the_nearest_explains_a_fail() -> None:
    """Among several legal outcomes the finding names the one that fits best."""
    ready, observation = seen("tim.native-loop.regexp", choice=1)
    # It ended with the value, so that there is no failure whose category could be judged.
    assert verdict(ready, observation) == {
        "outcome": Verdict.PASS,
        "category": Verdict.NOT_REACHED,
        "value": Verdict.PASS,
    }
    wrong = with_run(observation, value=Value(present=True, value=True))
    entry = judge(ready.case, ready, wrong, SPECIFICATION.requirements, ALL_CLAIMED)
    finding = next(layer.finding for layer in entry.layers if layer.verdict is Verdict.FAIL)
    assert (finding.expected, finding.observed) == ("value false", "value true")


def test_what_no_run_of_a_case_has_shown_is_no_pass() -> None:
    """A layer counts once a run came to what it judges, and then whatever the other runs do."""
    ready, observation = seen("tim.native-loop.regexp")
    assert verdict(ready, observation) == {
        "outcome": Verdict.PASS,
        "category": Verdict.PASS,
        "value": Verdict.NOT_REACHED,
    }
    wrong = with_run(observation, category="calls")
    assert verdict(ready, wrong)["category"] is Verdict.FAIL


def test_the_verdict_of_a_case_is_the_worst_of_its_layers() -> None:
    """Error before fail before pass before untestable before unsupported."""
    ready, observation = seen("tim.sync-loop")
    entry = judge(
        ready.case, ready, observation, SPECIFICATION.requirements, Standing(frozenset(), "text")
    )
    assert entry.verdict is Verdict.PASS
    assert isinstance(entry, CaseVerdict)
    wrong = with_run(observation, end=End.VALUE, value=Value(present=True, value=1))
    assert (
        judge(ready.case, ready, wrong, SPECIFICATION.requirements, ALL_CLAIMED).verdict
        is Verdict.FAIL
    )


def test_a_program_that_ended_early_did_not_end_for_its_time() -> None:
    """The clock of the harness speaks against the label; where no deadline is known it is mute."""
    ready, observation = seen("mem.with-call-in-flight")  # may end for its time, at any time
    observation = with_run(observation, category="time")
    at_once = with_run(observation, elapsed_ms=5.0, deadline_ms=300.0)
    assert verdict(ready, at_once)["category"] is Verdict.FAIL
    late = with_run(observation, elapsed_ms=299.0, deadline_ms=300.0)
    assert verdict(ready, late)["category"] is Verdict.NOT_REACHED
    unknown = replace(at_once, effective={**ROWS, "wall_time_ms": "unknown"})
    assert verdict(ready, unknown)["category"] is Verdict.NOT_REACHED
    busy = replace(
        with_run(observation, elapsed_ms=90.0, deadline_ms=300.0),
        effective={**ROWS, "cpu_time_ms": 100},
    )
    assert verdict(ready, busy)["category"] is Verdict.NOT_REACHED


def test_a_limit_with_a_fraction_is_a_limit() -> None:
    """An adapter in another language may write 30000 as 30000.0."""
    ready, observation = seen("pol.limited.wall-time")
    limited = replace(observation, effective={**ROWS, "wall_time_ms": 30_000.0})
    assert verdict(ready, limited)["evidence"] is Verdict.PASS
    absent = replace(observation, effective={**ROWS, "wall_time_ms": "none"})
    assert verdict(ready, absent)["evidence"] is Verdict.FAIL


def test_a_limit_that_the_host_can_set_is_a_limit() -> None:
    """CM-POL-001: there is none by default, but nobody has to run without one."""
    ready, observation = seen("pol.limited.wall-time")
    offered = replace(observation, effective={**ROWS, "wall_time_ms": OFFERED})
    assert verdict(ready, offered)["evidence"] is Verdict.PASS
