"""The worker role: broken workers fail in the case that is about their fault, others pass."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec
import pytest
from codemode_conformance.evidence import State
from codemode_conformance.failures import StartError
from codemode_conformance.install import Installed
from codemode_conformance.roles.given_up import NAMES, given_up, look
from codemode_conformance.roles.worker import WorkerRole
from codemode_conformance.running import Bench
from codemode_conformance.target import find_target
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.verdicts import CaseVerdict

FAKE = Path(__file__).parent / "fakes" / "worker.py"
SPECIFICATION = codemode_spec.load()


@pytest.fixture
def fake(installed: Callable[..., Installed]) -> Callable[..., WorkerRole]:
    """`fake(fault)`: the role of a worker with this fault."""

    def make(fault: str, **worker: str) -> WorkerRole:
        return WorkerRole(installed(worker={"command": ["${python}", str(FAKE), fault], **worker}))

    return make


def judge(role: WorkerRole, case: str) -> CaseVerdict:
    """The verdict of a case; the start is tried first, as a run does."""
    return Bench(role, role.start(), SPECIFICATION).judge(SPECIFICATION.cases[case])


SOUND = [
    "frm.worker-legal-execute.byte-by-byte",
    "frm.worker-bad-execute.unknown-field",
    "frm.worker-bad-execute.empty-line",
    "frm.worker-end-of-input.at-once",
]


@pytest.mark.parametrize("case", SOUND)
@pytest.mark.parametrize("fault", ["none", "slow"])
def test_a_sound_worker_passes(fake, case: str, fault: str) -> None:
    """The fakes below differ from this one in one fault each; to be slow is none."""
    verdict = judge(fake(fault), case)
    assert verdict.verdict is Verdict.PASS, verdict.layers


FAULTS = [
    ("takes_all", "frm.worker-bad-execute.unknown-field", "value 1"),
    ("other_status", "frm.worker-bad-execute.no-source", "exited with status 1"),
    ("in_one_piece", "frm.worker-legal-execute.byte-by-byte", "exited with status 3"),
    ("in_one_piece", "frm.worker-legal-execute.in-halves", "exited with status 3"),
    ("complains", "frm.worker-bad-execute.a-log-line", "no legal frame"),
    pytest.param("stays", "frm.worker-end-of-input.at-once", "no outcome", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("fault", "case", "told"), FAULTS)
def test_a_broken_worker_is_named_for_what_it_is(fake, fault, case, told) -> None:
    """What was seen stands in the finding."""
    verdict = judge(fake(fault), case)
    first = verdict.layers[0]
    assert first.verdict is Verdict.FAIL
    assert told in first.finding.observed


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("answers_twice", "a result after the result"),
        ("other_id", "a result of another invocation"),
        ("speaks_first", "no JSON"),
        ("half_a_result", "half a line"),
    ],
)
def test_a_worker_that_cannot_give_one_value_is_not_started(fake, fault, told) -> None:
    """Before any case: its target file, or the worker itself, is wrong."""
    with pytest.raises(StartError, match="does not run") as caught:
        fake(fault).start()
    assert told in str(caught.value)


def test_an_unknown_profile_is_told(fake) -> None:
    """With those that there are."""
    with pytest.raises(StartError, match="it is one of inline-sync, process-async"):
        fake("none", profile="nothing")


def test_a_status_after_the_result_is_judged(fake) -> None:
    """The value stands, the exit does not."""
    role = fake("fails_after")
    verdict = judge(role, "lif.worker-clean-exit.after-a-value")
    assert verdict.layers[0].finding.observed.startswith("value 1") or (
        "status 5" in verdict.layers[0].finding.observed
    )
    assert verdict.layers[0].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "case",
    [
        "frm.worker-limits.calls-above",
        "frm.worker-second-execute.during",
        "frm.worker-writes",
        "cal.worker-total",
        "iso.worker-gives-up.privileges",
        "lif.worker-clean-exit.with-work-left",
    ],
)
def test_the_reference_passes(case: str) -> None:
    """One case of each kind; all are run by `cmconf run --role worker`."""
    target = find_target("reference")
    values = {"here": str(target.folder), "cache": "", "python": sys.executable}
    verdict = judge(WorkerRole(Installed(target, values)), case)
    assert verdict.verdict is Verdict.PASS, verdict.layers


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_process_that_gave_nothing_up_is_seen_as_such() -> None:
    """This one has no filter; what it may still do is told with what the kernel says."""
    facts = {fact.name: fact for fact in given_up(os.getpid(), patience=0)}
    assert set(facts) == set(NAMES)
    assert facts["filtered"].state is State.BROKEN or "2" in facts["filtered"].detail
    assert facts["no_files"].state is State.BROKEN
    assert "Max file size is" in facts["no_files"].detail


def test_a_process_that_is_gone_cannot_be_observed() -> None:
    """That is no fault of anybody."""
    assert {fact.state for fact in look(2**22 + 1)} == {State.UNOBSERVABLE}
