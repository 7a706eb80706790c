"""The parent role: careless parents fail in the case about their fault, a careful one passes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec
import pytest
from codemode_conformance.install import Installed
from codemode_conformance.roles.parent import ParentRole
from codemode_conformance.roles.rig import Rig
from codemode_conformance.running import Bench
from codemode_conformance.target import find_target
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from codemode_conformance.verdicts import CaseVerdict

FAKE = Path(__file__).parent / "fakes" / "parent.py"
LINK = "https://example.org/parent"
SPECIFICATION = codemode_spec.load()


@pytest.fixture
def judged(installed: Callable[..., Installed]) -> Iterator[Callable[[str, str], CaseVerdict]]:
    """`judged(fault, case)`: the verdict of a case on a parent with this fault."""
    roles = []

    def judge(fault: str, case: str) -> CaseVerdict:
        command = ["${python}", str(FAKE), "${worker}", fault]
        claims = {"contract": LINK, "alternatives.script_style": LINK}
        target = installed(parent={"command": command, "grace_ms": 500}, claims=claims)
        role = ParentRole(target)
        roles.append(role)
        return Bench(role, role.start(), SPECIFICATION).judge(SPECIFICATION.cases[case])

    yield judge
    for role in roles:
        role.close()


CAREFUL = [
    "frm.legal.compact",
    "frm.empty-line.empty",
    "frm.key-twice.the-same-value",
    "frm.encoding.ff-fe",
    "frm.presence.present-without-value",
    "frm.invocation-id.another",
    "frm.compact",
    "frm.execute",
    "frm.fresh-ids",
    "lif.exit-before-result.status",
    "lif.what-a-worker-gets.environment",
    "lif.directory-of-its-own.left-empty",
    "lif.process-of-its-own",
]


@pytest.mark.parametrize("case", CAREFUL)
def test_a_careful_parent_passes(judged, case: str) -> None:
    """The fakes below differ from this one in one fault each."""
    verdict = judged("none", case)
    assert verdict.verdict is Verdict.PASS, verdict.layers


FAULTS = [
    ("lenient", "frm.key-twice.the-same-value", "code"),
    ("lenient", "frm.encoding.ff-fe", "code"),
    ("lenient", "frm.byte-order-mark.utf-8", "code"),
    ("lenient", "frm.unknown-field.of-a-result", "code"),
    ("lenient", "frm.presence.present-without-value", "code"),
    ("spaces", "frm.compact", "evidence"),
    ("tells_all", "frm.execute", "evidence"),
    ("counts", "frm.fresh-ids", "evidence"),
    ("environment", "lif.what-a-worker-gets.environment", "evidence"),
    ("leaves_it", "lif.reaped.broken-frame", "evidence"),
    ("keeps_it", "lif.process-of-its-own", "evidence"),
]


@pytest.mark.parametrize(("fault", "case", "layer"), FAULTS)
def test_a_careless_parent_fails_where_its_fault_is(judged, fault, case, layer) -> None:
    """Named in the layer that judges it; a value in place of a failure is told by the outcome."""
    verdict = judged(fault, case)
    failed = {entry.layer for entry in verdict.layers if entry.verdict is Verdict.FAIL}
    assert failed & {layer, "outcome"}, verdict.layers


@pytest.mark.parametrize("fault", ["starts_nothing", "own_worker"])
def test_a_target_that_does_not_start_our_worker_is_not_judged_by_luck(judged, fault) -> None:
    """Its codes may be right and its next program work: no worker of ours was there."""
    verdict = judged(fault, "frm.empty-line.empty")
    assert verdict.verdict in (Verdict.ERROR, Verdict.FAIL)


def test_the_health_of_a_parent_is_a_value_that_nobody_knows() -> None:
    """Each rig has its own."""
    rigs = [Rig() for _ in range(3)]
    try:
        assert len({rig.healthy_value for rig in rigs}) == 3
    finally:
        for rig in rigs:
            rig.close()


def test_a_missing_worker_comes_back(tmp_path: Path) -> None:
    """What is wrong with the command is undone by the next script."""
    del tmp_path
    rig = Rig()
    try:
        for script in ("missing", "folder", "not_executable", [{"exit": 0}]):
            rig.play(script)
            runnable = rig.command.is_file() and bool(rig.command.stat().st_mode & 0o111)
            assert runnable is isinstance(script, list), script
    finally:
        rig.close()


@pytest.mark.parametrize(
    "case",
    [
        "frm.legal.white-space",
        "lif.start-failed.missing",
        "cal.flood-unanswered",
        "tim.deaf-worker.stopped",
    ],
)
def test_the_reference_passes(case: str) -> None:
    """One case of each kind; all are run by `cmconf run --role parent`."""
    values = {"here": str(find_target("reference").folder), "cache": "", "python": sys.executable}
    with ParentRole(Installed(find_target("reference"), values)) as role:
        verdict = Bench(role, role.start(), SPECIFICATION).judge(SPECIFICATION.cases[case])
    assert verdict.verdict is Verdict.PASS, verdict.layers
