"""The example of the Go kit: built with Debian's packages, and put to some cases."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import codemode_conformance
import pytest

EXAMPLE = Path(codemode_conformance.__file__).parent / "kits" / "goja" / "target.toml"
GOJA = Path("/usr/share/gocode/src/github.com/dop251/goja")
# Programs that an ECMAScript 5 engine can read, in every layer that the example claims.
CASES = ("ret.value.zero", "err.throws.error", "val.from-operation", "tim.sync-loop")


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not on PATH")
@pytest.mark.skipif(not GOJA.is_dir(), reason="Debian's golang-github-dop251-goja-dev is missing")
def test_the_example_is_built_and_passes(tmp_path: Path) -> None:
    """Install builds it with the kit beside it; value, failure, call and deadline hold."""
    chosen = [word for case in CASES for word in ("--case", case)]
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "codemode_conformance", "run", "--target", str(EXAMPLE)),
            *(*chosen, "--report", f"json={report}"),
        ],
        env={**os.environ, "CMCONF_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
    assert {case["id"]: case["verdict"] for case in cases} == dict.fromkeys(CASES, "pass")
