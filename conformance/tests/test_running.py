"""Running: a FAIL is seen twice, poisoned processes are left, and jobs keep the order."""

from __future__ import annotations

from typing import Any

import codemode_spec
import pytest
from codemode_conformance.doctor import correct
from codemode_conformance.identity import Identity
from codemode_conformance.observation import End, Fault, Observation, Run, Value
from codemode_conformance.running import ONCE, Bench, run_cases
from codemode_conformance.trial import Attempt
from codemode_conformance.verdicts import Verdict

SPECIFICATION = codemode_spec.load()
PROFILE = SPECIFICATION.tables.profiles["process-async"]
IDENTITY = Identity(
    target="t",
    version="1",
    languages=("javascript",),
    settable=(),
    alternatives={**PROFILE.alternatives},
    capabilities=frozenset({"contract", "policy.wall_time_ms", "policy.host_calls"}),
    mapping="typed",
)
WRONG = Run("", End.VALUE, 1.0, Value(present=True, value="wrong"))
LOST = Run("", End.NO_OUTCOME, 1.0)


class Scripted:
    """A role whose n-th run of a case gives the n-th of these: a Run, a Fault, or what is right."""

    def __init__(self, *script: Run | Fault | None) -> None:
        self.effective: dict[str, Any] = {}
        self.script = list(script)
        self.log: list[str] = []

    def start(self) -> Identity:
        """Say who it is."""
        return IDENTITY

    def restart(self) -> None:
        """Write it down."""
        self.log.append("restart")

    def close(self) -> None:
        """Write it down."""
        self.log.append("close")

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, case: codemode_spec.Case) -> Attempt:
        """Give the next of the script."""
        self.log.append(case.id)
        rows = {**PROFILE.defaults(), **case.prefer, "wrapper_bytes": 0}
        ready = case.resolve(rows, dict(PROFILE.alternatives), "javascript")
        step = self.script.pop(0) if self.script else None
        seen = correct(ready, 0, rows)
        if isinstance(step, Fault):
            seen = Observation(case.id, fault=step)
        elif step is not None:
            seen = Observation(case.id, runs=(step,), after=seen.after, effective=rows)
        return Attempt(seen, ready, spoiled=False)


def verdicts(role: Scripted, *names: str):
    """The verdicts of these cases on one role."""
    cases = [SPECIFICATION.cases[name] for name in names]
    return list(run_cases([role], IDENTITY, SPECIFICATION, cases))


def test_a_case_that_passes_is_run_once() -> None:
    """In the process that is there."""
    role = Scripted()
    (entry,) = verdicts(role, "ret.value.zero")
    assert (entry.verdict, role.log) == (Verdict.PASS, ["ret.value.zero"])


def test_a_fail_is_seen_twice_in_a_process_of_its_own() -> None:
    """Then the next case gets another one."""
    role = Scripted(WRONG, WRONG)
    (entry,) = verdicts(role, "ret.value.zero")
    assert entry.verdict is Verdict.FAIL
    assert role.log == ["ret.value.zero", "restart", "ret.value.zero", "restart"]


@pytest.mark.parametrize(("script", "layer"), [((WRONG, None), "value"), ((LOST, None), "outcome")])
def test_what_failed_once_is_flaky(script: tuple[Run | None, ...], layer: str) -> None:
    """It is neither FAIL nor PASS, and says so with what was observed."""
    (entry,) = verdicts(Scripted(*script), "ret.value.zero")
    assert entry.verdict is Verdict.FLAKY
    (flaky,) = [item for item in entry.layers if item.verdict is Verdict.FLAKY]
    assert flaky.layer == layer
    assert flaky.finding.reason.startswith(ONCE)
    assert flaky.finding.observed


@pytest.mark.parametrize(
    ("script", "verdict", "runs"),
    [
        ((WRONG, WRONG), Verdict.FAIL, ["run", "run"]),
        ((WRONG, None, WRONG), Verdict.FAIL, ["run", "run", "restart", "run", "restart"]),
        ((WRONG, None, None), Verdict.FLAKY, ["run", "run", "restart", "run", "restart"]),
    ],
)
def test_a_process_is_kept_for_what_fails_twice_in_the_same_way(
    script: tuple[Run | None, ...], verdict: Verdict, runs: list[str]
) -> None:
    """If that is asked for; anything else gets a process of its own as before."""
    role = Scripted(*script)
    bench = Bench(role, IDENTITY, SPECIFICATION, keeps=True)
    entry = bench.judge(SPECIFICATION.cases["ret.value.zero"])
    assert entry.verdict is verdict
    assert role.log == ["ret.value.zero" if name == "run" else name for name in runs]


def test_a_fail_whose_second_run_meets_a_fault_is_an_error() -> None:
    """Nothing was seen twice."""
    (entry,) = verdicts(Scripted(WRONG, Fault("adapter", "it stumbled")), "ret.value.zero")
    assert entry.verdict is Verdict.ERROR


def test_two_fails_in_different_layers_are_flaky_in_both() -> None:
    """Each was seen once."""
    (entry,) = verdicts(Scripted(WRONG, LOST), "ret.value.zero")
    assert entry.verdict is Verdict.FLAKY


def test_a_case_that_changes_built_ins_is_the_last_of_its_process() -> None:
    """What it left behind cannot spoil the next."""
    role = Scripted()
    verdicts(role, "iso.prototypes-between-runs", "ret.value.zero")
    assert role.log == ["iso.prototypes-between-runs", "restart", "ret.value.zero"]


def test_a_case_that_is_not_asked_is_not_run() -> None:
    """The reason stands in the verdict."""
    role = Scripted()
    (entry,) = verdicts(role, "cal.total")
    assert (entry.verdict, role.log) == (Verdict.UNSUPPORTED, [])
    assert entry.layers[0].finding.reason == "needs op.value"


def test_jobs_keep_the_order_and_run_each_case_once() -> None:
    """Whichever role is free takes the next one."""
    names = [name for name in SPECIFICATION.cases if name.startswith(("ret.value", "err.throws"))]
    roles = [Scripted() for _ in range(4)]
    cases = [SPECIFICATION.cases[name] for name in names]
    entries = list(run_cases(roles, IDENTITY, SPECIFICATION, cases))
    assert [entry.case.id for entry in entries] == names
    assert {entry.verdict for entry in entries} == {Verdict.PASS}
    assert sorted(name for role in roles for name in role.log) == sorted(names)
