"""`cmconf init`: what it writes works at once, and nothing of anybody's is overwritten."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from codemode_conformance import toml
from codemode_conformance.cli import main
from codemode_conformance.commands.init import KITS
from codemode_conformance.failures import UsageError
from codemode_conformance.server import guess
from codemode_conformance.target import load_target

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("language", KITS)
def test_what_it_writes_is_on_its_feet(language: str, tmp_path: Path, capsys) -> None:
    """Target file, adapter, stand-in and kit pass `cmconf smoke` unchanged, under their name."""
    if language == "javascript" and shutil.which("node") is None:
        pytest.fail("this test needs Node: install it, as CONTRIBUTING.md says")
    folder = tmp_path / "new" / "my-sandbox"
    assert main(["init", "--language", language, str(folder)]) == 0
    out = capsys.readouterr().out
    assert f"next: cmconf smoke {folder}/target.toml\n" in out
    assert load_target(folder / "target.toml").name == "my-sandbox"
    assert main(["smoke", str(folder / "target.toml")]) == 0
    assert capsys.readouterr().out.endswith("my-sandbox: on its feet\n")


def test_nothing_is_overwritten(tmp_path: Path, capsys) -> None:
    """Not even in part: either all files are new or none is written."""
    (tmp_path / "sandbox.py").write_text("mine", "utf-8")
    assert main(["init", "--language", "python", "--name", "x", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"cmconf: init: {tmp_path} has sandbox.py already; nothing was written")
    assert [path.name for path in tmp_path.iterdir()] == ["sandbox.py"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--language", "python", "{tmp}/My Sandbox"], "'my sandbox' is no name of a target"),
        (["--language", "python", "{tmp}/file/x"], "Not a directory"),
        (["--language", "python", "{tmp}/file", "--name", "x"], "is no folder"),
        (["--language", "python", "{tmp}/x", "--", "node"], "go with --mcp only"),
        (["--mcp", "{tmp}/x"], "give the server's command after --, or its URL"),
        (["--mcp", "{tmp}/x", "--", "no-such-command"], "no-such-command cannot be started"),
        (["--mcp", "{tmp}/x", "--", "true"], "before it was initialized, it exited"),
        (["--mcp", "{tmp}/x", "--", "a${b}"], "a word with ${ cannot be a literal there"),
    ],
)
def test_what_cannot_be_meant_is_one_line(words, reason: str, tmp_path: Path, capsys) -> None:
    """And leaves no file."""
    (tmp_path / "file").write_text("", "utf-8")
    assert main(["init", *(word.replace("{tmp}", str(tmp_path)) for word in words)]) in (2, 3)
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_server_is_asked_and_its_target_file_works(tmp_path: Path, capsys) -> None:
    """Tool, argument, form of source and places in answers are found; the rest is told."""
    folder = tmp_path / "toy"
    command = [sys.executable, str(ROOT / "docs/worked/server.py")]
    assert main(["init", "--mcp", str(folder), "--", *command]) == 0
    out = capsys.readouterr().out
    assert "to do: the numbers of your limits" in out
    target = load_target(folder / "target.toml")
    server = target.server
    assert server is not None
    assert server.command is not None
    assert server.command.words[0] == "${python}"
    assert (server.tool, dict(server.arguments)) == ("run_code", {"program": "code"})
    assert server.answer["success"] == {"pointer": "/structured/ok", "equals": True}
    assert server.answer["value"] == {"pointer": "/structured/value"}
    assert server.answer["message"] == {"pointer": "/structured/error"}
    assert server.identity["alternatives"] == {
        "script_style": "async",
        "source_form": "function_body",
        "undefined_result": "absent",
    }
    assert main(["run", "--target", str(target.file), "--case", "ret.value.zero"]) == 0


def tool(name: str, required: list[str] | None = None, **properties) -> dict:
    """A tool as a server lists it."""
    schema = {"type": "object", "properties": properties, "required": required or []}
    return {"name": name, "inputSchema": schema}


TEXT = {"type": "string"}


def test_the_tool_is_chosen_by_its_schema() -> None:
    """Not by its place in the list."""
    tools = [
        tool("search", ["query"], query=TEXT),
        tool("list_files", [], folder=TEXT, pattern=TEXT),
        tool("execute_code", ["code"], code=TEXT, language={"enum": ["python", "javascript"]}),
    ]
    assert guess.choose(tools, None).name == "execute_code"
    assert guess.choose(tools, "search").arguments == {"program": "query"}


@pytest.mark.parametrize(
    ("tools", "wanted", "reason"),
    [
        ([], None, "it has no tools"),
        ([tool("add", ["a"], a={"type": "number"})], None, "no tool of the server runs programs"),
        ([tool("run_a", [], code=TEXT), tool("run_b", [], code=TEXT)], None, "it is open"),
        ([tool("a", [], code=TEXT)], "b", "the server has no such tool; it has: a"),
        ([tool("a", [], n={"type": "number"})], "a", "no argument of it takes a program: n"),
    ],
)
def test_a_choice_that_cannot_be_made_is_left_to_the_user(tools, wanted, reason: str) -> None:
    """The message names the tools."""
    with pytest.raises(UsageError, match="init") as caught:
        guess.choose(tools, wanted)
    assert reason in str(caught.value)


def test_options_are_claimed_only_where_the_schema_says_what_they_are() -> None:
    """A time without a unit is told, a range is kept, and a language is set."""
    found = guess.described(
        tool(
            "run",
            ["source", "language", "session"],
            source=TEXT,
            timeoutMs={"type": "integer", "minimum": 100, "maximum": 5000},
            read_only={"type": "boolean"},
            language={"type": "string", "enum": ["python", "javascript"]},
            session=TEXT,
        )
    )
    assert found.arguments == {
        "program": "source",
        "options.timeout_ms": "timeoutMs",
        "options.readonly": "read_only",
    }
    assert found.capabilities == ["options.timeout", "options.readonly"]
    assert found.ranges == {"options.timeout_ms": {"minimum": 100, "maximum": 5000}}
    assert found.fixed == {"language": "javascript"}
    assert len(found.unknown) == 1
    assert "session is required" in found.unknown[0]
    (unit,) = guess.described(tool("run", [], code=TEXT, timeout={"type": "number"})).unknown
    assert unit.startswith("the unit of the argument timeout")


def test_places_in_answers_are_found_by_comparing_two() -> None:
    """A success and a failure, as text, as structure, and with a flag of their own."""
    good = {"is_error": False, "text": "7", "json": 7}
    bad = {"is_error": True, "text": "Error: said"}
    found = guess.compare(good, bad, 7, "said")
    assert found.success == {"pointer": "/is_error", "equals": False}
    assert (found.value, found.message) == ({"pointer": "/json"}, {"pointer": "/text"})
    assert found.code is None
    good = {"is_error": False, "text": "...", "structured": {"failed": False, "out": {"v/1": 7}}}
    bad = {
        "is_error": False,
        "text": "said",
        "structured": {"failed": True, "detail": "said", "message": "it said", "code": "X"},
    }
    found = guess.compare(good, bad, 7, "said")
    assert found.success == {"pointer": "/structured/failed", "equals": False}
    assert found.value == {"pointer": "/structured/out/v~11"}
    assert found.message == {"pointer": "/structured/message"}
    assert found.code == {"pointer": "/structured/code"}


@pytest.mark.parametrize(
    "value", ["a", 'q"\\\n\x7f\t', {"a b": [1, True, {"c": "é"}], "x": -0.5}, {}, [], "\ud800"]
)
def test_what_is_written_as_toml_is_read_back(value) -> None:
    """Also hostile text; what Unicode does not allow is replaced."""
    text = toml.table("t", {"k": value})
    expected = "?" if value == "\ud800" else value
    assert tomllib.loads(text) == {"t": {"k": expected}}
