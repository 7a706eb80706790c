"""The pytest plugin: one test for each case, by the same verdicts, also with xdist."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import codemode_spec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from codemode_conformance.target import Target

CHOSEN = "ret.value.zero or tim.sync-loop or cal.total"


def pytest_run(folder: Path, *words: str) -> tuple[int, str]:
    """Exit status and output of pytest with these words, in an empty folder."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def test_each_case_is_a_test_with_its_layers(
    tmp_path: Path, targets: Callable[..., Target]
) -> None:
    """Passed, failed with what was observed, and skipped with the reason; layers as properties."""
    target = targets({}, engine={"grace_ms": 100})
    folder = tmp_path / "empty"
    folder.mkdir()
    words = ["--cmconf-target", str(target.file), "-k", CHOSEN, "-rs", "--junitxml", "j.xml"]
    status, out = pytest_run(folder, *words, "-n", "2")
    assert status == 1
    assert "Traceback" not in out
    assert out.count("fail tim.sync-loop: An endless loop") == 1
    assert "expected: exactly one outcome" in out
    cases = {e.get("name"): e for e in ET.parse(folder / "j.xml").iter("testcase")}
    assert cases["tim.sync-loop"].find("failure") is not None
    properties = {p.get("name"): p.get("value") for p in cases["tim.sync-loop"].iter("property")}
    assert properties["cmconf outcome CM-TIM-001"] == "fail"
    wanted = [name for name in codemode_spec.shipped().cases if name.startswith("cal.total")]
    assert set(wanted) <= set(cases)


def test_a_known_failure_is_xfail(tmp_path: Path, targets: Callable[..., Target]) -> None:
    """By the same baseline as the command."""
    target = targets({}, engine={"grace_ms": 100})
    file = tmp_path / "b.toml"
    file.write_text(
        'format = 1\ntarget = "fake"\nrole = "engine"\n[[expected]]\ncase = "tim.sync-loop"\n'
        'reason = "no_outcome"\nissue = "https://example.org/1"\nexpires = 2999-01-01\n',
        "utf-8",
    )
    words = ["--cmconf-target", str(target.file), "--cmconf-baseline", str(file)]
    status, out = pytest_run(tmp_path, *words, "-k", "tim.sync-loop", "-rx")
    assert (status, "1 xfailed" in out) == (0, True), out
    file.write_text(file.read_text("utf-8").replace('"no_outcome"', '"late"'), "utf-8")
    status, out = pytest_run(tmp_path, *words, "-k", "tim.sync-loop")
    assert (status, "baseline: differs: expected late, found no_outcome" in out) == (1, True), out


def test_without_the_option_nothing_is_added_and_nothing_of_the_suite_loaded(tmp_path) -> None:
    """Other people's tests run as ever."""
    (tmp_path / "test_x.py").write_text(
        "import sys\ndef test_x():\n"
        "    assert not [m for m in sys.modules if m.startswith('codemode_spec')]\n",
        "utf-8",
    )
    status, out = pytest_run(tmp_path)
    assert (status, "1 passed" in out) == (0, True), out


def test_what_cannot_be_meant_is_one_line(tmp_path: Path) -> None:
    """A target that is not there, and options without it."""
    status, out = pytest_run(tmp_path, "--cmconf-target", "no/such.toml")
    assert (status, out.strip().splitlines()[-1].startswith("ERROR: cmconf: ")) == (4, True), out
    status, out = pytest_run(tmp_path, "--cmconf-role", "engine")
    assert (status, "--cmconf-role needs --cmconf-target" in out) == (4, True), out


def test_a_target_that_does_not_start_is_an_error_of_each_test(tmp_path, targets) -> None:
    """And no failure of a case."""
    target = targets({"start": "die"})
    words = ["--cmconf-target", str(target.file), "-k", "ret.value.zero"]
    status, out = pytest_run(tmp_path, *words)
    assert (status, "1 error" in out, "Traceback" in out) == (1, True, False), out
