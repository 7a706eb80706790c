"""A short run of the soak; `tox -e soak` is a long one."""

import subprocess
import sys
from pathlib import Path

import pytest
from codemode_reference.bundle import runs
from codemode_spec.documents import parse_json
from codemode_spec.schemas import problems

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
@pytest.mark.parametrize("profile", ["process-async", "inline-sync"])
def test_mixed_invocations_leave_nothing(profile):
    """Each has its one outcome; no slot, process, directory, descriptor or thread is left."""
    if not runs(profile):
        pytest.skip("the engine that is installed runs no programs of this profile")
    words = ["--profile", profile, "--invocations", "150", "--seed", "1"]
    command = [sys.executable, str(BENCH / "soak.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    assert done.stdout.splitlines()[-1] == "nothing left"


def test_the_scenarios_of_the_soak_follow_their_schema():
    """They are those of the hostile worker."""
    path = BENCH / "scenarios.json"
    assert problems("scenario", parse_json(path.read_text(), path.name), path.name) == []
