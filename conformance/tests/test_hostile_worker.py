"""The hostile worker: each step does what the schema says, without any parent."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import codemode_conformance
import pytest
from codemode_conformance.roles.hostile import worker
from codemode_spec.schemas import problems

WORKER = Path(codemode_conformance.__file__).parent / "roles" / "hostile" / "worker.py"
EXECUTE = {"type": "execute", "invocation_id": 12, "source": "é"}
REPLIES = [
    {"ok": True, "value_present": True, "value": [1]},
    {"ok": False, "value_present": False, "error": {"code": "operation_failed"}},
]
READ = {"read": "execute"}


@pytest.fixture
def play(tmp_path):
    """`play(step, ...)`: status, stdout, stderr of a worker that has read these frames."""

    def run(*steps):
        scenarios = {"format": 1, "run": "it", "scenarios": {"it": {"steps": list(steps)}}}
        assert problems("scenario", scenarios, "test") == []
        path = tmp_path / "scenarios.json"
        path.write_text(json.dumps(scenarios))
        return start(path)

    def start(*words):
        lines = "".join(json.dumps(frame) + "\n" for frame in (EXECUTE, *REPLIES))
        command = [sys.executable, "-I", "-S", str(WORKER), *map(str, words)]
        done = subprocess.run(
            command, input=lines.encode(), capture_output=True, env={}, cwd=tmp_path, check=False
        )
        return done.returncode, done.stdout, done.stderr

    run.start = start
    return run


def test_frames_have_the_id_of_the_invocation_unless_they_bring_one(play):
    """Places stand for what was read; several frames are one write."""
    status, out, _ = play(
        READ,
        {"read": "reply"},
        {"read": "reply"},
        {
            "send": [
                {"type": "a", "is": {"$": "replies"}},
                {"invocation_id": 1, "is": {"$": "source"}},
            ]
        },
    )
    assert status == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"invocation_id": 12, "type": "a", "is": [[1], {"code": "operation_failed"}]},
        {"invocation_id": 1, "is": "é"},
    ]


def test_text_and_bytes_are_written_as_they_stand(play):
    """Repeated, in pieces, to either stream."""
    status, out, errors = play(
        READ,
        {"text": ["<", {"$": "invocation_id"}, ">"], "times": 2},
        {"hex": "ff00", "times": 2, "to": "stderr"},
        {"text": "é", "piece": 1, "pause_ms": 1},
        {"repeat": 3, "do": [{"text": [{"$": "turn"}]}]},
        {"exit": 5},
    )
    assert (status, out, errors) == (5, "<12><12>é123".encode(), b"\xff\0\xff\0")


def test_signals_and_streams(play):
    """What is ignored does nothing; what is closed is closed."""
    assert play({"ignore": ["SIGTERM"]}, {"signal": "SIGTERM"}, {"text": "on"})[:2] == (0, b"on")
    assert play({"signal": "SIGKILL"})[0] == -signal.SIGKILL
    assert play({"close": ["stdout"]}, {"text": "x"})[0] == 74
    assert play({"wait": 1}, {"wait": "end_of_input"}, {"text": "end"})[1] == b"end"


def test_the_end_of_input_ends_a_worker_that_reads(play):
    """With 0, like any worker whose parent has gone."""
    assert play(READ, *[{"read": "reply"}] * 3, {"text": "never"}) == (0, b"", b"")


def test_a_child_has_only_the_streams_that_it_holds(play):
    """Its words come, though the worker has exited before; a pipe ends when the child does."""
    told = {"text": "late", "to": "stdout"}
    child = [{"wait": 100}, told]
    assert play({"child": child, "holds": ["stdout"]}, {"exit": 4})[:2] == (4, b"late")
    assert play({"child": child, "holds": []}, {"exit": 4})[:2] == (4, b"")
    session = {"child": child, "holds": ["stdout"], "session": True}
    assert play(session, {"exit": 4})[:2] == (4, b"late")


def test_files_are_left_in_the_working_directory(play, tmp_path):
    """Files, folders, links."""
    play({"leave": ["a/b/", "a/file"]}, {"leave": ["a/link"], "links": True})
    assert (tmp_path / "a/b").is_dir()
    assert (tmp_path / "a/file").read_bytes() == b""
    assert (tmp_path / "a/link").readlink() == Path("/")


def test_a_worker_without_a_scenario_says_why(play, tmp_path):
    """With a status that no scenario is likely to mean."""
    missing = tmp_path / "missing"
    status, _, errors = play.start(missing)
    assert (status, errors.count(b"\n")) == (65, 1)
    assert str(missing).encode() in errors
    assert play.start("a", "b", "c")[::2] == (64, b"usage: worker.py [FILE [NAME]]\n")
    play({"exit": 1})
    assert play.start(tmp_path / "scenarios.json", "it")[0] == 1
    status, _, errors = play.start(tmp_path / "scenarios.json", "other")
    assert (status, b"no scenario in" in errors) == (65, True)


def test_a_step_has_one_meaning():
    """Two names in one step, or none, are refused."""
    for step in ({"text": "x", "exit": 1}, {}, {"exit": 256}, {"signal": "SIGALRM"}):
        scenarios = {"format": 1, "scenarios": {"it": {"steps": [step]}}}
        assert problems("scenario", scenarios, "test")


def test_what_it_was_given_and_what_it_read_is_recorded_where_a_record_is(play, tmp_path):
    """A start is a marked line, also of a child; without the file nothing is written."""
    record = tmp_path / "scenarios.json.seen"
    steps = [READ, {"child": [{"exit": 0}], "holds": []}]
    assert play(*steps)[0] == 0
    assert not record.exists()
    record.touch()
    assert play(*steps)[0] == 0
    start, line, *child = record.read_bytes().splitlines()
    assert json.loads(line) == EXECUTE
    assert json.loads(start[1:])["directory"] == str(tmp_path)
    assert json.loads(child[0][1:])["child"] is True
    if sys.platform == "linux":
        assert json.loads(start[1:])["variables"] == []
        assert json.loads(start[1:])["descriptors"] == [0, 1, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="what is unread is not told")
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_piece_is_written_when_the_one_before_it_was_taken(kind: str) -> None:
    """So that a reader that is slow gets them one by one, and one that never reads is no hang."""
    ends = socket.socketpair() if kind == "socket" else os.pipe()
    reading, writing = (end if isinstance(end, int) else end.fileno() for end in ends)
    found: list[bytes] = []

    def read() -> None:
        while b"\n" not in b"".join(found):
            time.sleep(0.02)
            found.append(os.read(reading, 100))

    reader = threading.Thread(target=read)
    stdout = worker.STREAMS["stdout"]
    try:
        worker.STREAMS["stdout"] = writing
        reader.start()
        worker.write(b"abcdef\n", {"piece": 2})
        reader.join()
        assert found == [b"ab", b"cd", b"ef", b"\n"]
        worker.wait_until_taken(writing, time.monotonic() + 60)
        os.write(writing, b"x")
        worker.wait_until_taken(writing, time.monotonic() + 0.05)
        assert worker.unread(writing)
    finally:
        worker.STREAMS["stdout"] = stdout
        for end in ends:
            os.close(end) if isinstance(end, int) else end.close()
