"""`cmconf` as people call it: exit codes, one-line errors, reports."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codemode_conformance.__main__ import entry
from codemode_conformance.cli import main
from codemode_conformance.commands.smoke import STEPS
from codemode_conformance.report.terminal import Terminal
from codemode_conformance.running import run_cases
from codemode_conformance.summary import Summary
from codemode_conformance.target import shipped_targets
from codemode_spec import load
from codemode_spec.schemas import problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.target import Target

ROOT = Path(__file__).parents[2]


def cmconf(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code, and what was printed."""
    try:
        code = main(words)
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code, out, err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["run", "--target", "no-such"], "no-such"),
        (["run", "--target", "no/such/target.toml"], "no/such/target.toml"),
        (["run", "--case", "tim.sync-lop"], "did you mean tim.sync-loop?"),
        (["run", "--case", "zzz"], "`cmconf list` shows them all"),
        (["run", "--report", "pdf=x"], "is not KIND=PATH with one of: json"),
        (["run", "--report", "json=no/such/folder/x.json"], "there is no folder no/such/folder"),
        (["run", "--report", "json=."], "no file can be written there"),
        (["run", "--area", "xyz"], "--area XYZ: there is none; known: "),
        (["run", "--class", "nice"], "--class nice: there is none; known: admission, "),
        (["run", "--area", "SRC", "-k", "zzz"], "no case is chosen by all of that"),
        (["explain", "tim.sync-lop"], "did you mean tim.sync-loop?"),
        (
            ["explain", "CM-TIM-03"],
            "CM-TIM-03: there is no such requirement; did you mean CM-TIM-0",
        ),
        (["explain", "tim"], "tim: it is an area, not a case; `cmconf list` shows its cases"),
        (["run", "--case", "tim"], "--case tim: it is an area, not a case"),
        (["spec", "check", "--root", "no/such"], "--root no/such: there is no such folder"),
        (["spec", "freeze", "--root", "no/such"], "--root no/such: there is no such folder"),
        (
            ["spec", "explore", "--space", "batches", "--write"],
            "--space and --write do not go together; leave one out",
        ),
        (["smoke", "no-such"], "no-such"),
        (["run", "--role", "server"], "targets/reference/target.toml offers engine"),
        (["dance"], "invalid choice: 'dance'"),
        ([], "required: COMMAND"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(capsys, words: list[str], reason: str) -> None:
    """It says what was wrong and what to do."""
    code, out, err = cmconf(capsys, *words)
    assert code == 2
    assert reason in err.splitlines()[-1]
    assert out == ""


@pytest.mark.parametrize(
    ("config", "engine", "reason"),
    [
        ({"start": "die"}, {}, 'status 3.*"no engine here: \\\\x1b'),
        ({"start": "silent"}, {"start_timeout_ms": 600}, r"within 0\.6 s \(start_timeout_ms"),
        ({"start": "noise"}, {"start_timeout_ms": 3000}, r'"Welcome \\x1b\[2J to the engine"'),
        ({}, {"command": ["no-such-command-here"]}, "no-such-command-here"),
        ({"mute": ["open"]}, {"start_timeout_ms": 5000}, "open"),
    ],
)
def test_a_target_that_does_not_start_is_one_line_and_exit_3(
    capsys, targets: Callable[..., Target], config, engine, reason: str
) -> None:
    """Whatever it does instead of answering, nothing hangs and the line can be acted on."""
    target = targets(config, engine=engine)
    code, _, err = cmconf(capsys, "run", "--target", str(target.file))
    assert code == 3
    (line,) = err.strip().splitlines()
    assert line.startswith("cmconf: ")
    assert re.search(reason, line), line
    assert "\x1b" not in err


def test_claims_that_differ_are_exit_2(capsys, targets: Callable[..., Target]) -> None:
    """Target file and target must say the same."""
    target = targets({}, claims={})
    code, _, err = cmconf(capsys, "run", "--target", str(target.file))
    assert code == 2
    assert "claims: no link for what the target names: alternatives.script_style, policy" in err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--profile", "inline"], "--profile inline: it is one of inline-sync, process-async"),
        (
            ["--profile", "inline-sync", "--target", "reference"],
            "declares the profile process-async",
        ),
        (["--profile", "inline-sync", "--target", "run"], "declares no profile"),
    ],
    ids=["unknown", "another", "none"],
)
def test_a_profile_that_the_target_does_not_have_is_exit_2(
    capsys, words: list[str], reason: str
) -> None:
    """Before anything is started: what was asked for, and what is declared."""
    code, _, err = cmconf(capsys, "run", *words)
    assert code == 2
    assert reason in err


def test_nothing_judged_is_exit_5(capsys, targets: Callable[..., Target]) -> None:
    """A run without a verdict is no success."""
    target = targets(
        {"identity": {"alternatives": {}, "settable": [], "capabilities": []}}, claims={}
    )
    code, out, _ = cmconf(capsys, "run", "--target", str(target.file), "--case", "cal.total")
    assert code == 5
    assert "no verdict on the whole" in out
    assert "1  needs op.value" in out


def test_the_reference_conforms_on_a_few_cases_and_its_report_fits_the_schema(
    capsys, tmp_path: Path
) -> None:
    """The report names suite, specification, cases and target, and each layer's requirement."""
    path = tmp_path / "report.json"
    words = [
        "run",
        "--case",
        "ret.value",
        "--case",
        "tim.deadline-kept",
        "--report",
        f"json={path}",
    ]
    code, out, _ = cmconf(capsys, *words)
    assert code == 0
    specification = load()
    assert f"specification {specification.revision}" in out
    assert specification.cases_digest[:16] in out
    report = json.loads(path.read_text(encoding="utf-8"))
    assert problems("report", report, "report.json") == []
    assert report["cases_digest"] == specification.cases_digest
    assert report["totals"] == {"pass": 12}
    assert report["selection"] == {
        "role": "engine",
        "cases": 12,
        "of": sum("engine" in case.roles for case in specification.cases.values()),
        "complete": False,
        "chosen": 12,
        "filters": ["--case", "ret.value", "--case", "tim.deadline-kept"],
    }
    kept = next(entry for entry in report["cases"] if entry["id"] == "tim.deadline-kept")
    assert kept["reproduce"] == "cmconf run --target reference --case tim.deadline-kept"
    # That it did not take too long either is what its verdict says.
    assert kept["verdict"] == "pass"
    assert kept["evidence"]["runs"][0]["elapsed_ms"] >= 300
    assert list(tmp_path.iterdir()) == [path]


def test_one_case_is_shown_with_its_program_and_evidence(capsys) -> None:
    """The reproduction line of a failure shows all that is known."""
    code, out, _ = cmconf(capsys, "run", "--case", "cal.one-after-the-other")
    assert code == 0
    for text in ("PASS cal.one-after-the-other", "CM-CAL-007", 'sum += await host.call("next"'):
        assert text in out
    assert "call 5 next at" in out


def test_a_failure_is_shown_with_its_reproduction_line(capsys, targets) -> None:
    """Expected, observed, the requirement and a line to paste; exit 1."""
    # To the fake adapter the program `throw ...` is no verb it knows: it gives no outcome at all.
    target = targets({}, engine={"grace_ms": 100})
    words = ["run", "--target", str(target.file), "--case", "tim.sync-loop"]
    code, out, _ = cmconf(capsys, *words)
    assert code == 1
    assert "FAIL tim.sync-loop" in out
    assert re.search(r"expected +exactly one outcome\n +observed +no outcome \(silent\)", out)
    assert f"run it    cmconf run --target {target.file} --case tim.sync-loop" in out


def test_a_requirement_and_a_case_are_explained(capsys) -> None:
    """Text, reason, origin, and what would make it fail."""
    code, out, _ = cmconf(capsys, "explain", "cm-tim-001")
    assert code == 0
    assert "Why: The commonest way to hang a host." in out
    assert "tim.sync-loop (outcome)" in out
    code, out, _ = cmconf(capsys, "explain", "CM-FAI-010")
    assert code == 0
    assert "Asked only of a target that claims `server`." in out
    assert "Only where isolation is process." in out
    assert "Rows: pool_min, pool_idle_ms." in out
    code, out, _ = cmconf(capsys, "explain", "CM-LIF-027")
    assert out.endswith("No case judges it yet.\n")
    code, out, _ = cmconf(capsys, "explain", "cal.total")
    assert code == 0
    assert "Fails on: one call more; a call made twice; one call fewer" in out
    assert "for (let i = 0; i < 19; i++) {" in out
    code, out, _ = cmconf(capsys, "explain", "tim.job-chain")
    assert out.startswith("tim.job-chain has 3 variants; here is the first, the others are\n")


def test_listings_and_smoke(capsys) -> None:
    """Everything that exists can be listed; the reference is on its feet."""
    code, out, _ = cmconf(capsys, "list")
    assert code == 0
    assert len(out.splitlines()) == len(load().cases)
    code, out, _ = cmconf(capsys, "list", "requirements")
    assert out.startswith("CM-ADM-001")
    assert len(out.splitlines()) == len(load().requirements)
    code, out, _ = cmconf(capsys, "list", "targets")
    assert [line.split()[0] for line in out.splitlines()] == list(shipped_targets())
    code, out, _ = cmconf(capsys, "smoke")
    assert code == 0
    assert out.count("ok    ") == len(STEPS) + 2


def test_the_specification_is_checked_and_its_schemas_printed(capsys, tmp_path: Path) -> None:
    """A broken one is refused with file, path and reason."""
    code, out, _ = cmconf(capsys, "spec", "check")
    assert code == 0
    assert f"0 gaps, {load().pending.count} pending (" in out
    code, out, _ = cmconf(capsys, "spec", "schema", "case")
    assert json.loads(out)["title"] == "Cases of one area"
    code, _, err = cmconf(capsys, "spec", "check", "--root", str(tmp_path))
    assert code != 0
    assert "cmconf: specification: policy.json: there is no such file" in err


def test_a_gap_in_the_trace_is_told_and_red(capsys, tmp_path: Path) -> None:
    """Each on a line of its own, before the count."""
    root = tmp_path / "spec"
    ignored = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(ROOT / "spec/codemode_spec", root, ignore=ignored)
    data = (root / "requirements/src.yaml").read_text(encoding="utf-8")
    text = data.replace("  codes: [source_empty]\n", "")
    (root / "requirements/src.yaml").write_text(text, encoding="utf-8")
    code, out, _ = cmconf(capsys, "spec", "check", "--root", str(root))
    assert code == 1
    told, count = out.splitlines()
    assert told.startswith("errors.json: /errors/source_empty: no requirement speaks of it;")
    assert "; 1 gaps, " in count


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_shows_what_it_has_and_leaves_nothing(tmp_path: Path, number) -> None:
    """Exit 130, no traceback, no process left."""
    words = [sys.executable, "-m", "codemode_conformance", "run"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    environment.pop("CMCONF_CACHE", None)
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=tmp_path,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        seen = b""
        while not re.search(rb"^[A-Z]{3}  -*\.", seen, re.MULTILINE):
            more = process.stdout.read(1)
            assert more, seen
            seen += more
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted" in out
    assert err == b""
    assert not (tmp_path / ".cmconf-cache").exists()


def test_the_gate_calls_the_command_of_the_readme() -> None:
    """What a newcomer is told is what is checked."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    line = "python3 -m venv .venv && .venv/bin/pip install -q tox && .venv/bin/tox -q"
    assert f"\n{line}\n" in readme
    assert "sed -n 's/^" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_words_of_a_target_stay_on_their_line_and_within_bounds(
    capsys, fake_engine, case_of, targets
) -> None:
    """No text of a target begins a line of the output, or fills it."""
    text = "a\n::error::b\r\x1b[2J" + "x" * 10_000
    case = case_of(f"say {json.dumps(text)}", expect=[{"outcome": "value"}])
    engine = fake_engine()
    identity = engine.start()
    specification = load()
    summary = Summary(specification, targets(), identity, {}, "", of=1)
    summary.verdicts += run_cases([engine], identity, specification, [case])
    Terminal(summary).end(details=True)
    lines = capsys.readouterr().out.split("\n")
    assert any("a\\x0a::error::b\\x0d\\x1b[2Jxxx" in line for line in lines)
    assert not any(line.startswith("::") for line in lines)
    assert max(len(line) for line in lines if "| say" not in line) < 1_000


def test_an_error_message_steers_no_terminal(capsys) -> None:
    """Not even by the path in it."""
    code, _, err = cmconf(capsys, "run", "--target", "/no/\x1b[31m\u202e.toml")
    assert code == 2
    assert err.startswith("cmconf: /no/\\x1b[31m\\u202e.toml: ")


def test_what_a_terminal_cannot_show_is_an_escape() -> None:
    """An encoding without a character ends nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "codemode_conformance", "explain", "ret.value.keys"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u2028" in done.stdout


def test_a_full_disk_is_no_fault_of_the_suite() -> None:
    """It is told as what it is."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "codemode_conformance", "list", "requirements"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    told = b"cmconf: what this command prints: No space left on device; nothing more is written\n"
    assert (done.returncode, done.stderr) == (5, told)


def test_an_interrupt_while_loading_is_one_line(monkeypatch, capsys) -> None:
    """Ctrl-C comes whenever it comes."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("codemode_conformance.cli.main", interrupted)
    assert entry() == 130
    assert capsys.readouterr().err == "cmconf: interrupted\n"


@pytest.mark.parametrize("words", ["--version", "list cases", "list targets"])
@pytest.mark.parametrize("left", ["| true", ">&-", ">&- 2>&-", "<&- >/dev/null"])
def test_a_stream_that_nobody_reads_gives_no_traceback(words: str, left: str) -> None:
    """A reader that left, and streams that are closed from the start."""
    command = f"{shlex.quote(sys.executable)} -m codemode_conformance {words} {left}"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ended.stderr == ""


def test_a_report_is_whole_where_stdout_is_closed(tmp_path: Path) -> None:
    """Nothing that is printed gets into another file that was opened in its place."""
    path = tmp_path / "report.json"
    words = ["run", "--target", "reference", "--case", "ret.value.zero", "--report", f"json={path}"]
    command = shlex.join([sys.executable, "-m", "codemode_conformance", *words]) + " >&-"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(path.read_text("utf-8"))["totals"]["pass"] == 1


def test_a_fault_of_the_suite_steers_no_terminal(monkeypatch, capsys) -> None:
    """What it says may be what a target said."""

    def broken(*_: object) -> None:
        raise ValueError("\x1b[31m")

    monkeypatch.setattr("codemode_conformance.commands.listing.execute", broken)
    code, _, err = cmconf(capsys, "list", "targets")
    assert code == 5
    assert err.startswith("cmconf: a fault of the suite itself: ValueError: \\x1b[31m; ")
