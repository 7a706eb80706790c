"""The adapter kits, each driven over pipes with a tiny target behind it."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import codemode_conformance
import pytest
from codemode_spec.schemas import problems

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent / "kits"
KITS = Path(codemode_conformance.__file__).parent / "kits"
KEY = "k-0123456789abcdef"
WAIT_S = 20  # for one line; only a broken kit ever waits that long
IDENTITY = {
    "target": "tiny",
    "version": "1",
    "language": ["javascript"],
    "settable": ["wall_time_ms"],
    "alternatives": {"script_style": "async", "options": ["timeout"]},
    "capabilities": ["policy.wall_time_ms", "options.timeout", "cancel.native", "call_cancelled"],
    "mapping": "typed",
    "sessions": 1,
    "runs_per_session": 2,
}


class Adapter:
    """An adapter process in its own group; what it writes is checked line by line."""

    def __init__(self, command: list[str]) -> None:
        self.target = command[-2]
        reading, writing = os.pipe()
        os.set_blocking(writing, False)  # as a target's own library may do: writes may be partial
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=writing, start_new_session=True
        )
        os.close(writing)
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.noise: list[bytes] = []
        self.reader = threading.Thread(target=self._read, args=(reading,))
        self.reader.start()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb") as lines:
            for line in lines:
                self.lines.put(line)
        self.lines.put(b"")  # the end

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, m: str, **fields: Any) -> None:
        """Write a message, which the schema knows."""
        message = {"m": m, **fields}
        assert problems("adapter", message, "sent", "to_adapter") == []
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        """The next message, without its key; all that comes before it and has none is noise."""
        while True:
            line = self.lines.get(timeout=WAIT_S)
            assert line, "the adapter ended"
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict) and message.get("k") == KEY:
                assert problems("adapter", message, "received", "from_adapter") == []
                return {name: value for name, value in message.items() if name != "k"}
            if line.strip():
                self.noise.append(line)

    def ask(self, m: str, **fields: Any) -> dict[str, Any]:
        """Write a message and return the next one that comes."""
        self.send(m, **fields)
        return self.receive()

    def run(self, program: dict[str, Any], r: str = "r", **options: Any) -> dict[str, Any]:
        """Start a program in the session `s` and return the next message that comes."""
        return self.ask("run", r=r, s="s", source=json.dumps(program), options=options)

    def end(self) -> None:
        """Kill the process group and close the pipes."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT_S)
        self.reader.join(WAIT_S)
        assert self.process.stdin
        self.process.stdin.close()


NEEDS = {"mjs": "node", "go": "go"}


@pytest.fixture(scope="module", params=["py", "mjs", "go"])
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The words that start the tiny target on one of the kits."""
    tool = NEEDS.get(request.param)
    if tool is not None and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not on PATH")
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copy(KITS / f"cmconf_kit.{request.param}", folder)
    target = shutil.copy(HERE / f"tiny.{request.param}", folder)
    if request.param == "go":
        start = [str(build_go(folder))]
    else:
        start = [sys.executable, "-u"] if request.param == "py" else [str(shutil.which("node"))]
    return [*start, *([] if request.param == "go" else [str(target)]), json.dumps(IDENTITY)]


def build_go(folder: Path, **more: str) -> Path:
    """The program made of the Go files in a folder, which are of one package."""
    env = {"HOME": str(folder), "GOCACHE": str(folder / "cache"), "GO111MODULE": "off", **more}
    env |= {name: os.environ[name] for name in ("PATH",)}
    built = subprocess.run(
        ["go", "build", "-o", "adapter", *sorted(path.name for path in folder.glob("*.go"))],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / "adapter"


@pytest.fixture
def fresh(command: list[str]) -> Iterator[Adapter]:
    """An adapter that has been told nothing yet."""
    adapter = Adapter(command)
    yield adapter
    adapter.end()


@pytest.fixture
def adapter(fresh: Adapter) -> Adapter:
    """An adapter with the session `s` open."""
    assert fresh.ask("hello", v=1, key=KEY)["m"] == "identity"
    assert fresh.ask("open", s="s", policy={}, ops=[])["m"] == "opened"
    return fresh


def test_hello_is_answered_by_the_identity(fresh: Adapter) -> None:
    """Hello: the identity as the author gave it."""
    answer = fresh.ask("hello", v=1, key=KEY)
    assert {name: answer[name] for name in IDENTITY} == IDENTITY


def test_open_tells_what_is_in_force(fresh: Adapter) -> None:
    """Open: opened, refused, or unsupported, as the author's function answers."""
    fresh.ask("hello", v=1, key=KEY)
    operation = {"name": "a", "effect": "read", "arguments": {"type": "object"}}
    assert fresh.ask("open", s=1, policy={"wall_time_ms": 5}, ops=[operation]) == {
        "m": "opened",
        "s": 1,
        "effective": {"wall_time_ms": {"value": 1000, "from": "documented"}},
        "unknown": [],
        "prelude": "host",
        "wrap": ["", ""],
    }
    refused = fresh.ask("open", s=2, policy={"wall_time_ms": 0}, ops=[])
    assert (refused["m"], refused["category"]) == ("refused", "policy")
    assert refused["native"]["message"] == "zero"
    unsupported = fresh.ask("open", s=3, policy={"pages": 1}, ops=[])
    assert unsupported == {"m": "unsupported", "s": 3, "fields": ["pages"]}
    plain = fresh.ask("open", s=4, policy={"plain": 1}, ops=[])
    assert (plain["effective"], plain["prelude"]) == ({}, "")


def test_calls_are_numbered_and_answered_in_any_order(adapter: Adapter) -> None:
    """Call and return: numbers from 1 in each run, replies by number, absent apart from null."""
    program = {"do": "calls", "calls": [["a", {"x": None}], ["b"]]}
    for r in ("first", "second"):
        first = adapter.run(program, r)
        args = {"present": True, "value": {"x": None}}
        assert first == {"m": "call", "r": r, "c": 1, "op": "a", "args": args}
        second = adapter.receive()
        assert second == {"m": "call", "r": r, "c": 2, "op": "b", "args": {"present": False}}
        adapter.send("return", r=r, c=2, ok=True, present=True, value="B")
        outcome = adapter.ask("return", r=r, c=1, ok=True, present=True, value=[1])
        expected = {"m": "outcome", "r": r, "ok": True, "present": True, "value": [[1], "B"]}
        assert outcome == expected


def test_a_late_or_unknown_return_is_ignored(adapter: Adapter) -> None:
    """A reply to no open call of a run that goes on changes nothing."""
    adapter.run({"do": "calls", "calls": [["a"], ["b"]]})
    assert adapter.receive()["c"] == 2
    answer = {"r": "r", "ok": True, "present": True}
    adapter.send("return", **answer, c=7, value="unknown")
    adapter.send("return", **{**answer, "r": "other"}, c=1, value="unknown")
    adapter.send("return", **answer, c=1, value="right")
    adapter.send("return", **answer, c=1, value="again")
    assert adapter.ask("ping", n=1) == {"m": "pong", "n": 1}
    assert adapter.ask("return", **answer, c=2, value=2)["value"] == ["right", 2]
    adapter.send("return", **answer, c=2, value="late")
    assert adapter.ask("ping", n=2) == {"m": "pong", "n": 2}


def test_a_failed_call_reaches_the_target_as_an_error(adapter: Adapter) -> None:
    """Code and message arrive as given; the author's own error fields travel along."""
    adapter.run({"do": "fail"})
    error = {"code": "gone", "message": "not there"}
    outcome = adapter.ask("return", r="r", c=1, ok=False, error=error)
    assert (outcome["ok"], outcome["category"]) == (False, "host")
    assert outcome["error"] == {"code": "operation_failed"}
    assert (outcome["native"]["code"], outcome["native"]["message"]) == ("gone", "not there")


def test_of_a_very_long_error_text_the_beginning_is_told(adapter: Adapter) -> None:
    """A program may throw a message of any length; the line stays below its limit."""
    adapter.run({"do": "fail"})
    message = "\x01" * 3_000_000
    outcome = adapter.ask("return", r="r", c=1, ok=False, error={"code": "c", "message": message})
    told = outcome["native"]["message"]
    assert 0 < len(told) <= 1_000_000
    assert set(told) == {"\x01"}


def test_presence_is_apart_from_null(adapter: Adapter) -> None:
    """Outcome: null is a value, no value is none; logs are kept."""
    outcome = {"m": "outcome", "r": "r", "ok": True}
    assert adapter.run({"do": "nothing"}) == {**outcome, "present": False}
    null = {**outcome, "present": True, "value": None, "logs": ["said"]}
    assert adapter.run({"do": "value", "value": None}) == null


def test_commands_are_read_while_a_run_goes_on(adapter: Adapter) -> None:
    """Ping is answered, a second run ends, and cancel reaches the run it names."""
    adapter.send("run", r="long", s="s", source='{"do": "wait"}', options={})
    assert adapter.ask("ping", n=3) == {"m": "pong", "n": 3}
    assert adapter.run({"do": "value", "value": 1}, "short")["r"] == "short"
    cancelled = adapter.ask("cancel", r="long")
    assert (cancelled["r"], cancelled["category"]) == ("long", "cancelled")
    adapter.send("cancel", r="long")  # it has ended: nothing more to say
    assert adapter.ask("close", s="s") == {"m": "closed", "s": "s"}


def test_a_session_that_cannot_cancel_says_so(fresh: Adapter) -> None:
    """Cancel: unsupported, with the run, where the author gave no way to cancel."""
    fresh.ask("hello", v=1, key=KEY)
    fresh.ask("open", s="s", policy={"plain": 1}, ops=[])
    fresh.send("run", r=1, s="s", source='{"do": "wait"}', options={})
    assert fresh.ask("cancel", r=1) == {"m": "unsupported", "of": "cancel", "r": 1}


def test_a_call_that_the_target_gives_up_is_reported(adapter: Adapter) -> None:
    """Call cancelled: told once; a reply to that call is late."""
    assert adapter.run({"do": "abandon"})["m"] == "call"
    assert adapter.receive() == {"m": "call_cancelled", "r": "r", "c": 1}
    adapter.send("return", r="r", c=1, ok=True, present=True, value=1)
    assert adapter.ask("cancel", r="r")["value"] == 1


def test_options_that_are_not_claimed_are_unsupported(adapter: Adapter) -> None:
    """Run: a claimed option reaches the author, another is unsupported by name."""
    assert adapter.run({"do": "options"}, timeout_ms=5)["value"] == {"timeout_ms": 5}
    answer = adapter.run({"do": "options"}, timeout_ms=5, readonly=True)
    assert answer == {"m": "unsupported", "of": "run", "r": "r", "fields": ["readonly"]}


def test_what_is_not_understood_is_answered(adapter: Adapter) -> None:
    """Unknown commands and fields are unsupported; a line that is no message is a fault."""
    adapter.write(b'{"m": "dance", "n": 1}\n{"m": "ping", "n": 1, "x": 2}\n')
    assert adapter.receive() == {"m": "unsupported", "of": "dance"}
    assert adapter.receive() == {"m": "unsupported", "of": "ping", "fields": ["x"]}
    for line in (b"not JSON", b'{"n": 1}', b"[]", b"null", b'{"m": 1}'):
        adapter.write(b"\n" + line + b"\n\n")
        fault = adapter.receive()
        assert (fault["m"], fault["of"]) == ("fault", "line")
    assert adapter.ask("ping", n=2)["n"] == 2


def test_the_adapters_own_failures_are_faults(adapter: Adapter) -> None:
    """A run of a session that is not open, and an exception of the author's code, are faults."""
    fault = adapter.ask("run", r=1, s="closed", source="{}", options={})
    assert (fault["m"], fault["of"]) == ("fault", "run")
    assert "closed" in fault["text"]
    fault = adapter.run({"do": "crash"})
    assert (fault["m"], fault["of"]) == ("fault", "run")
    assert "no such program" in fault["text"]
    adapter.ask("close", s="s")
    assert adapter.run({"do": "nothing"})["m"] == "fault"


def test_noise_swallows_and_forges_nothing(adapter: Adapter) -> None:
    """A guest's unfinished line and its forged outcome stay noise; the true outcome follows."""
    forged = '{"m": "outcome", "r": "r", "ok": true, "present": true, "value": "forged"}'
    outcome = adapter.run({"do": "noise", "text": f"{forged}\nunfinished"})
    assert outcome["value"] == 1
    assert b"".join(adapter.noise) == f"{forged}\nunfinished\n".encode()


def test_large_lines_and_separators_pass_whole(adapter: Adapter) -> None:
    """A line may be larger than a pipe, and hold U+2028 as itself."""
    text = "\u2028\u2029\u0085\r" + "é" * 2_000_000
    adapter.send(
        "run",
        r="r",
        s="s",
        source=json.dumps({"do": "value", "value": text}, ensure_ascii=False),
        options={},
    )
    assert adapter.receive()["value"] == text


def test_a_return_may_ask_for_a_value_that_json_cannot_carry(fresh: Adapter) -> None:
    """Odd: built for the target and marked on its way back; one that cannot be built is refused."""
    known = fresh.ask("hello", v=1, key=KEY)["host_values"]
    other = "hole" if "hole" not in known else "unknown"
    assert other not in known
    fresh.ask("open", s="s", policy={}, ops=[])
    fresh.run({"do": "calls", "calls": [["a"]]})
    answer = {"r": "r", "c": 1, "ok": True, "present": True, "value": {"x": [None, str(2**53 + 1)]}}
    unsupported = fresh.ask("return", **answer, odd=[[["x", 0], other]])
    assert unsupported == {"m": "unsupported", "of": "return", "r": "r", "fields": [other]}
    outcome = fresh.ask("return", **answer, odd=[[["x", 0], "NaN"], [["x", 1], "bigint"]])
    assert outcome["value"] == [{"x": [None, "9007199254740993"]}]
    assert outcome["odd"] == [[[0, "x", 0], "NaN"], [[0, "x", 1], "bigint"]]


def test_a_value_without_bound_is_cut_and_marked(adapter: Adapter) -> None:
    """What is too deep, or too large as JSON, is cut and marked unknown, in bounded time."""
    value: list[Any] = []
    for _ in range(400):
        value = [value]
    assert adapter.run({"do": "value", "value": value})["odd"] == [[[0] * 257, "unknown"]]
    kinds = {kind for _, kind in adapter.run({"do": "shared"})["odd"]}
    assert kinds == {"unknown"}


@pytest.mark.parametrize("command", ["py"], indirect=True)
def test_a_target_that_blocks_calls_from_its_own_thread(adapter: Adapter) -> None:
    """A thread waits for the host's value while commands are read."""
    call = {"m": "call", "r": "r", "c": 1, "op": "a", "args": {"present": True, "value": 1}}
    assert adapter.run({"do": "thread"}) == call
    assert adapter.ask("ping", n=4)["n"] == 4
    assert adapter.ask("return", r="r", c=1, ok=True, present=True, value="x")["value"] == "x"


def test_a_failure_that_nobody_handles_is_a_note(adapter: Adapter) -> None:
    """It is told, and has its usual effect: a rejection in Node takes the host down."""
    if ".py" not in adapter.target and ".mjs" not in adapter.target:
        # Go has no place to tell it from: the process ends, and the suite sees that.
        adapter.send("run", r="r", s="s", source='{"do": "orphan"}', options={})
        assert adapter.process.wait(WAIT_S) != 0
        return
    note = adapter.run({"do": "orphan"})
    assert note["m"] == "note"
    assert "nobody listens" in note["text"]
    if ".py" in adapter.target:
        assert adapter.ask("ping", n=5)["n"] == 5
    else:
        assert adapter.process.wait(WAIT_S) != 0


def test_stop_ends_the_adapter(adapter: Adapter) -> None:
    """The process exits at once, also while a run waits."""
    adapter.send("run", r="long", s="s", source='{"do": "wait"}', options={})
    adapter.send("stop")
    assert adapter.process.wait(WAIT_S) == 0


def test_the_end_of_input_ends_the_adapter(adapter: Adapter) -> None:
    """A harness that is gone leaves no adapter behind."""
    assert adapter.process.stdin
    adapter.process.stdin.close()
    assert adapter.process.wait(WAIT_S) == 0
