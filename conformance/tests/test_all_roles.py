"""`--role all`: each role that a target offers, one report of them all, and each case again."""

from __future__ import annotations

import html.parser
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from codemode_conformance.cli import main
from codemode_conformance.report.kinds import KINDS
from codemode_conformance.target import SHIPPED
from codemode_spec.schemas import problems

if TYPE_CHECKING:
    from pathlib import Path

ENGINE, WORKER, PARENT = "ret.value.zero", "frm.worker-legal-execute.compact", "frm.execute"
CASES = [word for case in (ENGINE, WORKER, PARENT) for word in ("--case", case)]


def broken(folder: Path) -> Path:
    """The reference with a worker that runs nothing and a parent that is not there."""
    text = (SHIPPED / "reference" / "target.toml").read_text("utf-8")
    for old, new in (
        ('"${here}/worker.py"', '"-c", "raise SystemExit(1)"'),
        ('"${here}/adapter.py", "--worker"', '"-c", "print()"'),
        ("${here}", str(SHIPPED / "reference")),
    ):
        assert old in text
        text = text.replace(old, new)
    file = folder / "broken.toml"
    file.write_text(text, "utf-8")
    return file


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports, by kind, of a run of all roles of the reference."""
    folder = tmp_path_factory.mktemp("roles")
    reports = [word for kind in KINDS for word in ("--report", f"{kind}={folder / kind}")]
    assert main(["run", "--role", "all", *CASES, *reports]) == 0
    return folder


def whole(folder: Path) -> dict[str, Any]:
    """The JSON report in it."""
    found: dict[str, Any] = json.loads((folder / "json").read_text("utf-8"))
    return found


def test_each_role_has_a_report_as_of_a_run_of_it_alone(written: Path) -> None:
    """In the order in which the target offers them, with the cases that are for them."""
    report = whole(written)
    assert problems("roles", report, "the report") == []
    assert [one["selection"]["role"] for one in report["roles"]] == ["engine", "worker", "parent"]
    assert [[case["id"] for case in one["cases"]] for one in report["roles"]] == [
        [ENGINE],
        [WORKER],
        [PARENT],
    ]
    assert (report["exit_code"], report["not_started"]) == (0, [])
    for one in report["roles"]:
        assert problems("report", one, "a part") == []


def test_a_report_that_lacks_a_part_of_its_form_is_told(written: Path) -> None:
    """The schema holds for the parts too."""
    report = whole(written)
    del report["roles"][1]["cases"][0]["layers"]
    (problem,) = problems("roles", report, "the report")
    assert problem.path == "/roles/1/cases/0"


def test_the_junit_report_names_the_role_of_each_suite(written: Path) -> None:
    """Two roles may have a suite of one area."""
    root = ET.fromstring((written / "junit").read_text("utf-8"))
    assert [suite.get("name") for suite in root] == ["engine RET", "worker FRM", "parent FRM"]
    assert (root.get("tests"), root.get("failures")) == ("3", "0")
    names = [case.get("classname") for case in root.iter("testcase")]
    assert names == ["cmconf.engine.RET", "cmconf.worker.FRM", "cmconf.parent.FRM"]


def test_the_sarif_report_has_a_run_for_each_role(written: Path) -> None:
    """Apart by their category, as those who show them want it."""
    log = json.loads((written / "sarif").read_text("utf-8"))
    ids = [run["automationDetails"]["id"] for run in log["runs"]]
    assert ids == [f"cmconf/reference/{role}/" for role in ("engine", "worker", "parent")]


class _Names(html.parser.HTMLParser):
    """The names in a page, and those that its links and labels go to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect both."""
        given = dict(attrs)
        self.names += [name] if (name := given.get("id")) else []
        link = given.get("href") or ""
        self.links += [link[1:]] if link.startswith("#") else []


def test_no_name_stands_twice_on_the_page_and_each_link_leads_somewhere(written: Path) -> None:
    """The sections are alike, and their names are not."""
    page = _Names((written / "html").read_text("utf-8"))
    assert len(page.names) == len(set(page.names))
    assert set(page.links) <= set(page.names)
    for role in ("engine", "worker", "parent"):
        assert {f"{role}-report", f"{role}-search", f"{role}-classes"} <= set(page.names)
    assert f"worker-case-{WORKER}" in page.names


def test_the_other_reports_tell_of_each_role(written: Path) -> None:
    """The summary of a CI job, and its annotations."""
    markdown = (written / "markdown").read_text("utf-8")
    assert "| `parent` | conforming | 1 pass |" in markdown
    assert markdown.count("# Code Mode Conformance: ") == 3
    commands = (written / "github").read_text("utf-8").splitlines()
    assert [line.partition(" title=")[2].partition("::")[0] for line in commands] == [
        f"cmconf reference {role}" for role in ("engine", "worker", "parent")
    ]


def test_a_role_that_does_not_start_hides_no_other(tmp_path: Path, capsys) -> None:
    """It is exit 3, and the reports say which and why."""
    file = broken(tmp_path)
    kinds = [k for kind in KINDS for k in ("--report", f"{kind}={tmp_path / kind}")]
    words = ["run", "--target", str(file), "--role", "all"]
    assert main([*words, *CASES, *kinds]) == 3
    report = whole(tmp_path)
    assert problems("roles", report, "the report") == []
    assert [one["selection"]["role"] for one in report["roles"]] == ["engine"]
    assert [one["role"] for one in report["not_started"]] == ["worker", "parent"]
    assert "worker" in report["not_started"][0]["reason"]
    printed = capsys.readouterr()
    assert "worker   did not start: " in printed.out
    assert "cmconf: parent role: " in printed.err
    assert "<error" in (tmp_path / "junit").read_text("utf-8")
    for kind in ("sarif", "html", "markdown", "github"):
        assert "the worker does not run" in (tmp_path / kind).read_text("utf-8"), kind


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--shard", "1/2"], "--shard is of one role"),
        (["--baseline", "known.toml"], "--baseline is of one role"),
    ],
)
def test_what_is_of_one_role_does_not_go_with_all(capsys, words: list[str], told: str) -> None:
    """A baseline names its role, and shards are of one."""
    assert main(["run", "--role", "all", "--case", ENGINE, *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("case", "lines"),
    [
        (ENGINE, ['-> {"m":"run"', '<- {"m":"outcome"']),
        (WORKER, ['-> frame {"type":"execute","v":1,', '<- frame {"type":"result"']),
        (PARENT, ['<- frame {"type":"execute"', '-> frame {"invocation_id"', '-> {"m":"run"']),
    ],
)
def test_a_case_of_each_role_is_run_again_message_by_message(
    written: Path, capsys, case: str, lines: list[str]
) -> None:
    """Adapter messages, and in the roles worker and parent what goes over the channel."""
    assert main(["repro", str(written / "json"), case]) == 0
    printed = capsys.readouterr().out
    for line in lines:
        assert line in printed
    assert printed.endswith(f"{case}: pass, the same as in the report (pass)\n")


def test_frames_of_a_worker_are_shown_both_ways(written: Path, capsys) -> None:
    """Of the healthy program that is run after the case, too."""
    report = whole(written)["roles"][1]
    file = written / "worker.json"
    file.write_text(json.dumps(report), "utf-8")
    assert main(["repro", str(file), WORKER]) == 0
    printed = capsys.readouterr().out
    assert '-> frame {"type":"execute","v":1,' in printed
    assert '<- frame {"type":"result"' in printed


def test_a_report_of_all_roles_is_told_from_one_of_one(written: Path, capsys, tmp_path) -> None:
    """`matrix` shows a column for each; `merge` joins shards of one; `--role` chooses a part."""
    path = str(written / "json")
    assert main(["matrix", path]) == 0
    assert "reference (worker)" in capsys.readouterr().out
    assert main(["merge", path, "--report", f"json={tmp_path / 'out'}"]) == 2
    assert "it is of all roles" in capsys.readouterr().err
    assert main(["repro", path, ENGINE, "--role", "server"]) == 2
    assert "has no report of that role" in capsys.readouterr().err
    assert main(["repro", path, ENGINE, "--role", "worker"]) == 2
    assert "the report has no case" in capsys.readouterr().err
