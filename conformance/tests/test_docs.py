"""What the documents tell people to write works as it stands there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from codemode_conformance.engine import Engine
from codemode_conformance.install import install
from codemode_conformance.running import run_cases
from codemode_conformance.selftest import prove
from codemode_conformance.target import find_target
from codemode_conformance.verdicts import Verdict
from codemode_spec import load, load_cases
from codemode_spec.schemas import problems

ROOT = Path(__file__).parents[2]


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of this language in a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block(document: str, language: str) -> str:
    """The one fenced block of this language in a document."""
    (found,) = blocks(document, language)
    return found


def test_the_worked_case_of_contributing_passes_and_can_fail(tmp_path: Path) -> None:
    """It is valid, the reference passes it, and each of its layers was shown red."""
    file = tmp_path / "case.yaml"
    entries = yaml.safe_load(block("CONTRIBUTING.md", "yaml"))
    file.write_text(yaml.safe_dump({"format": 1, "area": "ISO", "cases": entries}), "utf-8")
    specification = load()
    cases = load_cases(file, file.name, specification)
    with Engine(install(find_target("reference"), print)) as engine:
        verdicts = list(run_cases([engine], engine.start(), specification, cases.values()))
    assert [entry.verdict for entry in verdicts] == [Verdict.PASS]
    for case in cases.values():
        assert prove(case, specification, {}).gaps == ()


def test_the_target_files_of_the_guide_are_valid() -> None:
    """A newcomer starts from a file that the suite accepts, for an engine and for a server."""
    found = [tomllib.loads(text) for text in blocks("conformance/README.md", "toml")]
    assert [set(data) & {"engine", "server"} for data in found] == [{"engine"}, {"server"}]
    for data in found:
        assert problems("target", data, "target.toml") == []


def test_the_documents_name_commands_that_exist() -> None:
    """No command of `cmconf` is only on paper, and none is missing from the README."""
    named = set()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*/README.md")]:
        named |= set(re.findall(r"cmconf ([a-z]+)\b", path.read_text(encoding="utf-8")))
    commands = {"run", "list", "explain", "ask", "smoke", "init", "install", "merge", "repro"}
    commands |= {"selftest", "spec", "matrix", "fuzz", "mutants", "property"}
    assert named == commands
