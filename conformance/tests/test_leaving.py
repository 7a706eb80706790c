"""What a target leaves running when it has been closed is told, in every role, and not judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from codemode_conformance import leaving
from codemode_conformance.cli import main
from codemode_conformance.observation import End, Health
from codemode_conformance.report.kinds import KINDS
from codemode_conformance.server import dialogue
from codemode_conformance.server.role import ServerRole
from codemode_spec.expansion import expand
from codemode_spec.schemas import problems

FAKES = Path(__file__).parent / "fakes"
LINK = "https://example.org/bad"
CLAIMS = {"contract": LINK, "policy.wall_time_ms": LINK, "alternatives.isolation": LINK}
HEADING = "Processes that ran on when the target had been closed"
TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http"])


def command(transport: str, *end: str) -> list[str]:
    """That of the fake server, which behaves like this in its end."""
    port = "0" if transport == "stdio" else "${port}"
    return ["${python}", str(FAKES / "mcp_server.py"), transport, port, *end]


@pytest.fixture
def target(installed: Any, server: Any) -> Any:
    """Makes the target file of a role, of one that leaves its children or one that does not."""

    def make(role: str, *, leaves: bool) -> Path:
        if role == "engine":
            fault = "leaves_children" if leaves else "none"
            engine = {"command": ["${python}", str(FAKES / "bad_target.py"), fault]}
            found = installed(engine={**engine, "grace_ms": 300}, claims=CLAIMS).target.file
        else:
            words = command(role, *(["leaves"] if leaves else []))
            found = server(role, command=words, grace_ms=300)._installed.target.file
        assert isinstance(found, Path)
        return found

    return make


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("role", ["engine", "stdio", "http"])
def test_what_a_target_leaves_is_told_in_every_report(
    target: Any,
    tmp_path: Path,
    capsys: Any,
    role: str,
    leaves: bool,  # noqa: FBT001
) -> None:
    """As text, and with the exit code and the counts of one that leaves nothing."""
    files = {name: tmp_path / name for name in KINDS}
    reports = [f"--report={name}={file}" for name, file in files.items()]
    file = str(target(role, leaves=leaves))
    assert main(["run", "--target", file, "--case", "ret.value.zero", *reports]) == 0
    told = {name: file.read_text("utf-8") for name, file in files.items()}
    told["terminal"] = capsys.readouterr().out
    report = json.loads(told["json"])
    assert problems("report", report, "test") == []
    suites = ET.fromstring(told["junit"])
    assert {name: suites.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        **dict.fromkeys(("failures", "errors", "skipped"), "0"),
        "tests": "1",
    }
    (run,) = json.loads(told["sarif"])["runs"]
    (call,) = run["invocations"]
    assert (run["results"], call["executionSuccessful"], call["exitCode"]) == ([], True, 0)
    del told["json"]
    if not leaves:
        assert "left" not in report
        assert call["toolExecutionNotifications"] == []
        assert not [name for name, text in told.items() if HEADING in text]
        return
    (left,) = report["left"]
    assert left["number"] == 2  # of the program, and of the one after it
    assert "\x1b" in left["command"]
    assert left["command"].endswith(" a-worker")
    for text in told.values():
        assert HEADING in text
        assert "a-worker" in text
        assert "\x1b" not in text
    assert "<b>`" not in told["html"]
    (note,) = call["toolExecutionNotifications"]
    assert note["level"] == "warning"
    assert note["message"]["text"].startswith(f"{HEADING} (not judged): 2: ")
    values = [
        one.get("value") or "" for one in suites.iter("property") if HEADING in one.get("name", "")
    ]
    assert [value.partition(": ")[0] for value in values] == ["2"]


@TRANSPORTS
def test_each_server_that_was_closed_counts(server: Any, transport: str) -> None:
    """The one that a fresh one took the place of, too."""
    role = server(transport, command=command(transport, "leaves"))
    for _ in range(2):
        seen = role.see("return 1")
        assert (seen.runs[0].end, seen.after) == (End.VALUE, Health.HEALTHY)
        role.restart()
    role.close()
    assert list(role.left.values()) == [4]


@TRANSPORTS
def test_what_goes_when_its_server_has_gone_is_not_told(
    server: Any, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    """It has a while to do so."""
    monkeypatch.setattr(leaving, "LEAVING_SECONDS", 20.0)
    role = server(transport, command=command(transport, "worker"))
    assert role.see("return 1").after is Health.HEALTHY
    role.close()
    assert role.left == {}


@TRANSPORTS
@pytest.mark.parametrize("program", ["return 1", "die 3", "block"])
def test_of_a_server_that_does_not_exit_as_it_is_asked_nothing_is_told(
    server: Any, transport: str, program: str
) -> None:
    """It is ended, and what it started with it: nobody knows what it would have left."""
    role = server(transport, command=command(transport, "leaves", "stays"))
    role.see(program, set={"wall_time_ms": 100})
    role.close()
    assert role.left == {}


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        ("none", []),
        ("none", [{"close": ["stdin"]}]),
        ("none", [{"close": ["stdin", "stdout"]}]),
        ("stays", []),
        ("stays", [{"close": ["stdin"]}]),
    ],
)
def test_a_server_of_a_scripted_client_counts_too(
    served: Any, monkeypatch: pytest.MonkeyPatch, fault: str, last: list[Any]
) -> None:
    """Whether its client leaves by the script or after it; not one that has to be ended."""
    monkeypatch.setattr(dialogue, "LEAVE_SECONDS", 3.0)
    case = expand(
        "MCP",
        {
            "id": "mcp.fake-case",
            "title": "A case",
            "requirements": {"outcome": "CM-MCP-013"},
            "roles": ["server"],
            "client": [{"program": "leave", "as": "run"}, {"read": "run"}, *last],
            "after": "none",
            "expect": [{"outcome": "any"}],
        },
    )[0]
    with ServerRole(served({}, command=["${python}", str(FAKES / "raw_server.py"), fault])) as role:
        seen = role.run(case).observation
    assert (seen.fault, len(seen.runs)) == (None, 1)
    assert role.left == ({"sleep 60": 1} if fault == "none" else {})
