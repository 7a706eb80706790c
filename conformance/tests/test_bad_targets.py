"""Bad targets are named for what they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import codemode_spec
import pytest
from codemode_conformance import process
from codemode_conformance.engine import Engine
from codemode_conformance.running import Bench
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.install import Installed
    from codemode_conformance.verdicts import CaseVerdict

FAKE = Path(__file__).parent / "fakes" / "bad_target.py"
LINK = "https://example.org/bad"
CLAIMS = {"contract": LINK, "policy.wall_time_ms": LINK, "alternatives.isolation": LINK}
SPECIFICATION = codemode_spec.load()
CAPS = process.Caps(total_bytes=1 << 20)


def judged(installed: Callable[..., Installed], fault: str, case: str) -> CaseVerdict:
    """The verdict of a case on the target with this fault."""
    command = ["${python}", str(FAKE), fault]
    engine = {"command": command, "grace_ms": 300, "worker_pattern": "a-worker$"}
    with Engine(installed(engine=engine, claims=CLAIMS)) as role:
        return Bench(role, role.start(), SPECIFICATION).judge(SPECIFICATION.cases[case])


@pytest.mark.parametrize("case", ["lif.worker-gone.value", "ret.value.zero"])
def test_a_target_without_a_fault_has_no_fault(installed, case: str) -> None:
    """Where no worker process is seen, nothing is said of it."""
    verdict = judged(installed, "none", case)
    assert verdict.verdict is Verdict.PASS, verdict.layers


def test_one_that_floods_its_output_is_stopped(installed, monkeypatch) -> None:
    """It is an adapter that cannot be talked to: an error, with the reason."""
    monkeypatch.setattr(process, "Caps", lambda: CAPS)
    verdict = judged(installed, "floods", "ret.value.zero")
    assert verdict.verdict is Verdict.ERROR
    assert "printed more than 1 MiB" in verdict.layers[0].finding.reason


def test_one_that_leaves_its_children_fails_for_them(installed) -> None:
    """Its value is right; what it left is told in the evidence layer."""
    verdict = judged(installed, "leaves_children", "lif.worker-gone.value")
    found = {layer.layer: layer.finding for layer in verdict.layers}
    assert found["outcome"].verdict is Verdict.PASS
    assert found["evidence"].verdict is Verdict.FAIL
    assert "still there" in found["evidence"].observed


def test_one_that_answers_twice_fails_for_it(installed) -> None:
    """Whatever the first answer was."""
    verdict = judged(installed, "answers_twice", "ret.value.zero")
    assert verdict.layers[0].verdict is Verdict.FAIL
    assert verdict.layers[0].finding.reason == "a second outcome"


def test_one_that_lies_about_a_limit_fails_where_it_is_tested(installed) -> None:
    """It says that it sets the deadline, and echoes it; the clock of the harness knows better."""
    verdict = judged(installed, "lies", "tim.sync-loop")
    finding = verdict.layers[0].finding
    assert finding.verdict is Verdict.FAIL
    assert finding.reason in ("no outcome", "past its deadline")
