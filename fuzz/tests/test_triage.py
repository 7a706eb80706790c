"""Triage: one directory for a finding, its smallest input, and a script that shows it again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from codemode_fuzz import triage
from codemode_fuzz.clock import Slow, at_most
from codemode_fuzz.replay import files, replay
from codemode_fuzz.triage import failure, record, shrink, signature


def check(data):
    """Find a b, and count."""
    if b"b" in data:
        raise ValueError(f"b among {len(data)} bytes at 0x{id(data):x}")
    if b"c" in data:
        raise KeyError("c")


def test_a_signature_has_no_digits_and_no_addresses():
    """Two occurrences of one finding have one signature, two findings have two."""
    first, second, other = (failure(data, check) for data in (b"ab", b"aabb", b"c"))
    assert str(first) != str(second)
    assert signature(first) == signature(second) != signature(other)
    assert signature(first) == "ValueError: b among N bytes at ADDRESS in failure > check"


def test_a_finding_has_one_directory_with_the_smallest_input(tmp_path):
    """Later ones only count when they are smaller."""
    home = record(tmp_path, "frames", b"aaaabaaaa", check)
    assert (home / "input.bin").read_bytes() == b"b"
    assert record(tmp_path, "frames", b"bbb", check) == home
    assert record(tmp_path, "frames", b"xc", check) != home
    assert record(tmp_path, "frames", b"x", check) is None
    assert len(list(tmp_path.iterdir())) == 2
    assert "Traceback" in (home / "finding.txt").read_text()
    (home / "input.bin").write_bytes(b"aab")
    assert (record(tmp_path, "frames", b"b", check) / "input.bin").read_bytes() == b"b"


def test_the_script_stands_alone(tmp_path):
    """It replays the input from any directory; a finding that is fixed passes."""
    home = record(tmp_path, "frames", b"b", check)
    found = subprocess.run(
        [home / "reproduce.sh"],
        env={**os.environ, "PYTHON": sys.executable},
        cwd=Path("/"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (0, "1 inputs, 0 findings\n"), found.stderr


def test_shrinking_keeps_what_matters():
    """What is left out is what the finding does not need."""
    assert shrink(b"xxxaxxxxbxx", lambda part: b"a" in part and b"b" in part) == b"ab"
    assert shrink(b"a", lambda part: True) == b"a"


def test_shrinking_ends_where_each_part_is_slow(monkeypatch):
    """A finding that is one by its slowness is kept as it is when the time is up."""
    monkeypatch.setattr(triage, "_SHRINKING_SECONDS", 0.0)
    assert shrink(b"xxa", lambda part: b"a" in part) == b"xxa"


def test_the_clock_rings_only_in_its_block():
    """An input that takes too long is a finding; the next has its own time."""
    with pytest.raises(Slow, match="longer than"), at_most(0.05):
        time.sleep(60)
    with at_most(60):
        pass


def test_replay_names_the_files_that_are_findings(tmp_path):
    """Files and folders, in order."""
    for name, data in (("one", b"b"), ("two", b"x"), ("three", b"c")):
        (tmp_path / name).write_bytes(data)
    found = dict(replay(check, [tmp_path]))
    assert {path.name for path in found} == {"one", "three"}
    assert found[tmp_path / "three"] == "KeyError: 'c'"
    assert files([tmp_path / "two", tmp_path / "two"]) == [tmp_path / "two"]
