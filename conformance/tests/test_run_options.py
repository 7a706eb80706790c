"""`cmconf run` with the options for scale, on targets that misbehave in one way each."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from codemode_conformance.cli import main
from codemode_spec.schemas import problems

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from codemode_conformance.target import Target

ISO = ["iso.globals-between-runs", "ret.value.zero", "ret.value.false", "tim.sync-loop"]


def chosen(*names: str) -> list[str]:
    """The options that choose these cases."""
    return [word for name in names for word in ("--case", name)]


def test_fail_fast_stops_at_the_first_failure(capsys, targets: Callable[..., Target]) -> None:
    """What was not run is not counted, and the conclusion says why."""
    target = targets({}, engine={"grace_ms": 100})
    words = ["run", "--target", str(target.file), "--fail-fast", *chosen(*ISO[1:])]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "stopped at the first failure, ret.value.false" in re.sub(r"\s+", " ", out)
    assert "1 fail in" in out


@pytest.mark.slow
def test_repeats_find_a_target_that_fails_now_and_then(capsys, targets, tmp_path) -> None:
    """It is flaky, with how often; one that always fails is not."""
    target = targets({}, engine={"grace_ms": 100})
    file = tmp_path / "r.json"
    words = ["run", "--target", str(target.file), "--repeat", "2", "--report", f"json={file}"]
    assert main([*words, *chosen("ret.value.zero")]) == 1
    report = json.loads(file.read_text("utf-8"))
    assert (report["repeat"], report["cases"][0]["repeats"]) == (2, {"fail": 2})
    assert problems("report", report, "r.json") == []


def test_two_reports_in_one_place_and_a_report_to_the_terminal(capsys, tmp_path) -> None:
    """The first is refused before the run; `-` prints."""
    words = ["run", "--case", "ret.value.zero", "--report"]
    place = str(tmp_path / "x")
    assert main([*words, f"json={place}", "--report", f"html={place}"]) == 2
    assert "two reports have this path" in capsys.readouterr().err
    assert main([*words, "github=-"]) == 0
    assert capsys.readouterr().out.endswith("::notice title=cmconf reference::conforming; 1 pass\n")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_leaves_no_process_and_a_readable_report(
    targets: Callable[..., Target], tmp_path: Path, jobs: str
) -> None:
    """Exit 130; what was judged until then stands in the reports, which say that it is not all."""
    marker = f"cmconf-interrupt-{os.getpid()}-{jobs}"
    target = targets({"marker": marker}, engine={"grace_ms": 100})
    paths = {kind: tmp_path / f"r.{kind}" for kind in ("json", "html", "junit", "markdown")}
    words = [sys.executable, "-u", "-m", "codemode_conformance", "run", "--jobs", jobs]
    words += ["--target", str(target.file), "--area", "RET"]
    words += [word for kind, path in paths.items() for word in ("--report", f"{kind}={path}")]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        seen = b""
        while not re.search(rb"RET  [^ ]", seen):
            byte = process.stdout.read(1)
            assert byte, seen
            seen += byte
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
    assert (process.returncode, err) == (130, b"")
    assert b"interrupted" in out
    report = json.loads(paths["json"].read_text("utf-8"))
    assert problems("report", report, "r.json") == []
    assert report["interrupted"] is True
    assert report["selection"]["complete"] is False
    assert 1 <= len(report["cases"]) < report["selection"]["chosen"]
    assert "interrupted" in paths["html"].read_text("utf-8")
    assert "**interrupted**" in paths["markdown"].read_text("utf-8")
    assert not list(tmp_path.glob("*.part"))
    until = time.monotonic() + 30
    while (left := alive(marker)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def alive(marker: str) -> list[str]:
    """The processes with this word in their command line."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if marker in line and "fakes" in line]


def test_one_case_is_run_again_with_every_message(capsys, tmp_path, targets) -> None:
    """By a report; the target that it names is taken from it only if it is shipped."""
    target = targets({}, engine={"grace_ms": 100})
    file = tmp_path / "r.json"
    words = ["run", "--target", str(target.file), *chosen("ret.value.zero")]
    assert main([*words, "--report", f"json={file}"]) == 1
    capsys.readouterr()
    assert main(["repro", str(file), "ret.value.zero"]) == 2
    assert "target fake is not shipped; name it with --target FILE" in capsys.readouterr().err
    assert main(["repro", str(file), "ret.value.zero", "--target", str(target.file)]) == 1
    out = capsys.readouterr().out
    for piece in ('-> {"m":"run"', '"source":"return 0;"', '-> {"m":"ping"', '<- {"m":"pong"'):
        assert piece in out, piece
    assert '"k":' not in out
    assert out.endswith("ret.value.zero: fail, the same as in the report (fail)\n")
    assert main(["repro", str(file), "tim.sync-loop"]) == 2
    assert "the report has no case tim.sync-loop" in capsys.readouterr().err


def test_a_report_cannot_name_what_is_run(capsys, tmp_path) -> None:
    """Neither by its target, nor by its lines."""
    file = tmp_path / "r.json"
    assert main(["run", *chosen("ret.value.zero"), "--report", f"json={file}"]) == 0
    report = json.loads(file.read_text("utf-8"))
    owned = tmp_path / "owned"
    report["cases"][0]["reproduce"] = f"touch {owned}"
    report["target"].update(name=f"../{tmp_path.name}/evil.toml", version="9")
    file.write_text(json.dumps(report), "utf-8")
    capsys.readouterr()
    assert main(["repro", str(file), "ret.value.zero"]) == 2
    assert "is not shipped; name it with --target FILE" in capsys.readouterr().err
    assert main(["repro", str(file), "ret.value.zero", "--target", "reference"]) == 0
    assert "note: the report is of ../" in capsys.readouterr().out
    assert not owned.exists()
