"""The command line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from codemode_reference.builds import BUILDS
from codemode_reference.bundle import runs, worker_program
from codemode_reference.cli import main
from codemode_reference.protection import LAYERS, Layer, Protection

EXAMPLE = Path(__file__).parents[1] / "examples" / "inventory.js"


def test_the_example_runs(capsys):
    """Its value is printed as JSON."""
    assert main(["run", str(EXAMPLE)]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"folder": "docs", "files": 2, "bytes": 7397},
        {"folder": "src", "files": 2, "bytes": 8330},
        {"folder": "nowhere", "error": "operation_failed"},
    ]


@pytest.mark.skipif(not runs("inline-sync"), reason="the engine runs no synchronous programs")
def test_the_synchronous_example_runs(capsys):
    """Under its profile: a batch of three calls, one of which fails."""
    example = EXAMPLE.with_name("inventory-sync.js")
    assert main(["run", "--profile", "inline-sync", str(example)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "totals": [
            {"folder": "docs", "files": 2, "bytes": 7397},
            {"folder": "src", "files": 2, "bytes": 8330},
            {"folder": "nowhere", "error": "operation_failed"},
        ],
        "calls": 3,
    }


def test_the_example_with_positions_runs(capsys):
    """Under its profile: the last expression is the result, and calls are made by position."""
    example = EXAMPLE.with_name("inventory-rpc.js")
    assert main(["run", "--profile", "worker-rpc", str(example)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "totals": [
            {"folder": "docs", "files": 2, "bytes": 7397},
            {"folder": "src", "files": 2, "bytes": 8330},
            {"folder": "nowhere", "error": "operation_failed"},
        ],
        "methods": 6,
    }


def test_an_engine_that_will_not_do_is_told(capsys, monkeypatch):
    """One line that says what to install, and no traceback."""
    needed = BUILDS["inline-sync"]._replace(engine="no-such-engine")
    monkeypatch.setitem(BUILDS, "inline-sync", needed)
    worker_program.cache_clear()
    assert main(["run", "--profile", "inline-sync", str(EXAMPLE)]) == 1
    worker_program.cache_clear()
    (line,) = capsys.readouterr().err.splitlines()
    assert "need the engine package no-such-engine" in line


def test_an_unknown_profile_is_told(capsys):
    """With the names that there are."""
    with pytest.raises(SystemExit, match="2"):
        main(["run", "--profile", "inline", str(EXAMPLE)])
    assert "inline-sync" in capsys.readouterr().err


@pytest.fixture
def program(tmp_path):
    """`program(source)`: a file with that source."""

    def write(source):
        path = tmp_path / "program.js"
        path.write_text(source, encoding="utf-8")
        return str(path)

    return write


def test_every_demonstration_operation_works(program, capsys):
    """They take what their schemas say."""
    source = (
        "return [await codemode.echo({a: 1}), await codemode.add({a: 1, b: 2}), "
        "await codemode.slow({seconds: 0}), (await codemode.listFiles({folder: '/'})).length];"
    )
    assert main(["run", program(source), "--json"]) == 0
    assert capsys.readouterr().out == '[{"a": 1}, 3, "done", 5]\n'


def test_a_failure_is_one_line(program, capsys):
    """Code, message and fields on stderr, status 1; with --json as JSON."""
    path = program("return codemode.slow({seconds: 9});")
    assert main(["run", path, "--policy", "wall_time_ms=50"]) == 1
    assert capsys.readouterr().err == (
        "deadline_exceeded: the program ran longer than 50 ms (limit 50)\n"
    )
    assert main(["run", program("codemode.add()"), "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["code"] == "code_rejected"
    assert main(["run", program("for (;;);"), "--policy", "wall_time_ms=20", "--json"]) == 1
    assert main(["run", program("await codemode.listFiles({folder: 'x'})")]) == 1
    assert "list_files" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "/nonexistent.js"], "cannot read /nonexistent.js: No such file or directory\n"),
        (["run", "/"], "cannot read /: Is a directory\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(arguments, message, capsys):
    """Status 2 and no traceback."""
    assert main(arguments) == 2
    assert capsys.readouterr().err == message


def test_a_file_that_is_no_text_is_one_line(tmp_path, capsys):
    """Bytes that are no UTF-8 are said to be none."""
    path = tmp_path / "binary.js"
    path.write_bytes(b"\xff\xfe")
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err.endswith("not UTF-8 text\n")


@pytest.mark.parametrize("row", ["wall_time_ms=0", "nonsense=1"])
def test_a_bad_policy_is_named(row, program, capsys):
    """Status 2 with the field."""
    assert main(["run", program("return 1"), "--policy", row]) == 2
    assert capsys.readouterr().err == (
        f"invalid_policy: the policy is invalid: {row.partition('=')[0]}\n"
    )


@pytest.mark.parametrize("arguments", [[], ["run"], ["run", "x", "--policy", "a=b"], ["other"]])
def test_misuse_is_told(arguments, capsys):
    """Status 2 and the usage."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_value_is_printed_for_any_terminal(program, encoding):
    """Control and bidi characters, and what stdout cannot write, are escaped; it stays JSON."""
    command = [
        sys.executable,
        "-m",
        "codemode_reference",
        "run",
        program("return '\x9b\u202e\u00e9'"),
    ]
    done = subprocess.run(
        command, capture_output=True, check=True, env={"PYTHONIOENCODING": encoding}
    )
    assert done.stdout.decode(encoding).startswith('"\\u009b\\u202e')
    assert json.loads(done.stdout.decode(encoding)) == "\x9b\u202e\u00e9"


def test_an_output_that_nobody_reads_is_one_line(program):
    """Status 1 and no traceback."""
    command = [sys.executable, "-m", "codemode_reference", "run", program("return 1")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"cannot write the value: No space left on device\n"


def test_a_reader_that_has_left_is_no_traceback():
    """Status 1, as where the output goes to `head`."""
    command = [sys.executable, "-m", "codemode_reference", "protection"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == (b"", 1)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_cleanly(program, tmp_path, number, status):
    """No traceback, and neither worker nor directory stay."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = [sys.executable, "-m", "codemode_reference", "run", program("for (;;);")]
    with subprocess.Popen(command, env={"TMPDIR": str(folder)}, stderr=subprocess.PIPE) as running:
        while not list(folder.glob("*/*/")):
            assert running.poll() is None
            time.sleep(0.005)
        running.send_signal(number)
        assert running.stderr.read() == b""
        assert running.wait(10) == status
    assert not list(folder.iterdir())


@pytest.mark.parametrize("module", ["codemode_reference.parent", "codemode_reference.cli"])
def test_an_interrupt_during_the_imports_is_no_traceback(program, tmp_path, module):
    """Status 130, whatever is being imported."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    command = [sys.executable, "-m", "codemode_reference", "run", program("return 1")]
    done = subprocess.run(
        command, capture_output=True, check=False, env={"PYTHONPATH": str(tmp_path)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_it_runs_as_a_module(program):
    """`python -m codemode_reference`."""
    command = [sys.executable, "-m", "codemode_reference", "run", program("return {a: 1}")]
    done = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(done.stdout) == {"a": 1}


def test_the_protection_of_this_machine_is_shown(capsys):
    """Each layer on a line of its own; status 0 only with a wall around the worker."""
    status = main(["protection"])
    first, *layers = capsys.readouterr().out.splitlines()
    assert (status, first) in [(0, "protected"), (1, "not protected")]
    assert [line.split()[0] for line in layers] == list(LAYERS)


def test_missing_protection_can_be_refused(program, capsys, monkeypatch):
    """The layer is named and nothing runs."""
    missing = Protection((Layer("landlock", "unavailable", "Function not implemented"),))
    monkeypatch.setattr(
        "codemode_reference.parent.install", lambda folder, program: (["worker"], missing)
    )
    for command in (["run", program("return 1")], ["serve"]):
        assert main([*command, "--require-hardening"]) == 1
        assert capsys.readouterr().err == (
            "hardening_unavailable: a required protection of the worker is not available: "
            "landlock (Function not implemented)\n"
        )
