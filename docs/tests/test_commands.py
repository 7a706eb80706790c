"""Every command in the documents works, or is listed here with the reason why it is not run."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from book.commands import Command, commands
from codemode_conformance.cli import parser
from codemode_conformance.target import find_target

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "docs"
RENDERED = (BOOK / "specification", BOOK / "_build")
DOCUMENTS = sorted(
    {
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
        *(
            page
            for page in BOOK.rglob("*.md")
            if not any(page.is_relative_to(folder) for folder in (*RENDERED, BOOK / "book"))
        ),
    }
)
SECONDS = 120

# What is not run, and why. It is parsed all the same: options, environments, targets must exist.
NOT_RUN = {
    r"^python3 -m venv ": "installs from a package registry; the gate runs the README's own line",
    r"\btox\b": "an environment of tox.ini: the gate runs each of them",
    r"\bpre-commit\b": "changes the hooks of the clone in which it is run",
    r"--target (run|db-mcp)\b": "needs Node and installs from a package registry",
    r"\bcmconf install\b": "installs from a package registry",
    r"\b(path/to|PATH|FILE|FOLDER)\b": "the reader's own file stands there",
    r"\bcodemode_fuzz seeds\b": "writes many files",
    r"^cmconf spec explore$": "takes half a minute; the gate runs it in the environment `spec`",
}
PROGRAMS = {"cp", "mkdir", "echo", "cat", "ls", "grep", "head", "pip", "pytest", "pre-commit"}


def reason(command: Command) -> str | None:
    """Why a command is not run, or None."""
    found = (why for pattern, why in NOT_RUN.items() if re.search(pattern, command.text))
    return next(found, None)


EVERY = [command for document in DOCUMENTS for command in commands(document, ROOT)]
SPOKEN = sorted({command.document for command in EVERY if reason(command) is None})


@pytest.mark.parametrize("document", SPOKEN)
def test_commands_work_as_they_are_shown(document: str, tmp_path: Path) -> None:
    """In a copy of the repository they succeed, one after the other, and print what is shown."""
    folder = tmp_path / "repository"
    shutil.copytree(
        ROOT, folder, ignore=shutil.ignore_patterns(".*", "_build", "corpus", "__pycache__")
    )
    (folder / ".venv").symlink_to(sys.prefix)
    shown = [command for command in EVERY if command.document == document]
    status = 0
    for command, following in zip(shown, [*shown[1:], None], strict=True):
        if reason(command) is not None:
            continue
        where = f"{document}:{command.line}: {command.text}"
        status, printed = run(command.text, status, folder)
        told = following is not None and following.text == "echo $?"
        assert status == 0 or told, f"{where}\nended with {status}:\n{printed}"
        assert command.prints(printed), f"{where}\nshows:\n{command.output}\nprinted:\n{printed}"


def run(text: str, status: int, folder: Path) -> tuple[int, str]:
    """Exit status and output of a command, after one that ended with `status`."""
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    words = ["bash", "-c", f"(exit {status}); {text}"]
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder.parent),
            "COLUMNS": "100",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, printed


@pytest.mark.parametrize("command", EVERY, ids=lambda c: f"{c.document}:{c.line}")
def test_commands_name_what_exists(command: Command) -> None:
    """Programs, options, tox environments and targets are real, also where nothing is run."""
    for words in command.parts:
        check(words)


def check(words: list[str]) -> None:
    """Fail when a simple command cannot be meant."""
    program, *rest = words
    name = Path(program).name
    if name == "cmconf":
        check_cmconf(rest)
    elif name == "tox":
        check_tox(rest)
    elif name in ("python", "python3") and rest[:1] == ["-m"]:
        assert importlib.util.find_spec(rest[1]) is not None, f"there is no module {rest[1]}"
    else:
        assert name in PROGRAMS or (ROOT / program).exists(), f"what is {program}?"


def check_cmconf(words: list[str]) -> None:
    """The words of `cmconf` are legal, and the target that they name is shipped."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            arguments = parser().parse_args(words)
    except SystemExit as end:
        if end.code:
            pytest.fail(f"cmconf {' '.join(words)}: {errors.getvalue()}")
        return
    target = getattr(arguments, "target", None)
    if target and "/" not in target and not target.isupper():
        find_target(target)


def check_tox(words: list[str]) -> None:
    """The environments of a tox command exist, and what it hands on to the suite is legal."""
    own, handed = words, []
    if "--" in words:
        at = words.index("--")
        own, handed = words[:at], words[at + 1 :]
    names = own[own.index("-e") + 1].split(",") if "-e" in own else []
    for name in names:
        assert name in tox_environments(), f"tox.ini has no {name}"
        if handed and name in ("conformance", "selftest"):
            check_cmconf(["run" if name == "conformance" else name, *handed])


def tox_environments() -> set[str]:
    """The environments that tox.ini describes, with the factors in braces written out."""
    found = set()
    for name in re.findall(
        r"^\[testenv:(.+)\]$", (ROOT / "tox.ini").read_text("utf-8"), re.MULTILINE
    ):
        braces = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
        parts = braces[2].split(",") if braces else [""]
        found |= {f"{braces[1]}{part}{braces[3]}" if braces else name for part in parts}
    return found


def test_the_list_of_commands_that_are_not_run_is_no_longer_than_needed() -> None:
    """Each of its patterns is there for a command that stands in a document."""
    unused = [p for p in NOT_RUN if not any(re.search(p, command.text) for command in EVERY)]
    assert unused == []


def test_every_page_of_the_book_is_looked_at() -> None:
    """A block of commands in an unusual fence is not overlooked."""
    for document in DOCUMENTS:
        fences = re.findall(
            r"^\s*(?:```+|~~~+|:::+)\{?(\w+)", document.read_text("utf-8"), re.MULTILINE
        )
        assert not {"bash", "shell", "zsh", "shell-session"} & set(fences), document


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("ok\n", "ok \n\n", True),
        ("took … s", "took 1.5 s", True),
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("took … s", "took 1.5 ms", False),
        ("ok", "ok\nand more", False),
    ],
)
def test_output_is_compared_whole(shown: str, printed: str, same: bool) -> None:  # noqa: FBT001
    """Only an ellipsis stands for something else, and trailing white space counts for nothing."""
    assert Command("page.md", 1, "x", shown).prints(printed) is same


def test_a_failing_command_is_seen(tmp_path: Path) -> None:
    """Its status comes through, and is there for the next one."""
    status, _ = run("exit 3", 0, tmp_path)
    assert status == 3
    assert run("echo $?", status, tmp_path) == (0, "3\n")
