"""The black box: generated cases are right about a right target, and wrong targets are found."""

import json
import os
import subprocess
import sys
from collections import Counter

import codemode_spec
import pytest
from codemode_conformance import cli
from codemode_conformance.commands import fuzz
from codemode_conformance.verdicts import Verdict
from codemode_fuzz.blackbox import findings, session
from codemode_fuzz.blackbox.findings import Found, found_in, shrunk
from codemode_fuzz.blackbox.making import ROLES, case_of, document
from codemode_fuzz.blackbox.session import Plan, Session
from codemode_fuzz.blackbox.streams import expected
from codemode_fuzz.reading import ALTERNATIVES
from codemode_spec.schemas import problems

ROWS = codemode_spec.load_tables().profiles["process-async"].defaults() | {"wrapper_bytes": 0}
CHOSEN = {k: tuple(v) if isinstance(v, list) else v for k, v in ALTERNATIVES.items()}


@pytest.mark.parametrize("role", ROLES)
def test_documents_are_cases(role):
    """Each is valid by the schema of cases, fits a target, and is a pure function of its seed."""
    requirements = codemode_spec.shipped().requirements
    kinds = Counter()
    for number in range(80):
        made = document(role, 3, number)
        assert made == document(role, 3, number)
        assert json.loads(json.dumps(made)) == made
        assert problems("case", {"format": 1, "area": "ISO", "cases": [made]}, "made") == []
        case = case_of(made)
        assert set(case.requirements.values()) <= set(requirements)
        case.resolve(ROWS, CHOSEN, "javascript")
        kinds[made["title"]] += 1
    assert len(kinds) >= (1 if role in ("parent", "worker") else 5)
    assert document(role, 3, 1) != document(role, 4, 1)


def test_it_needs_neither_the_reference_nor_atheris():
    """For anyone's implementation."""
    program = """
import sys
sys.modules["codemode_reference"] = sys.modules["atheris"] = None
from codemode_fuzz.blackbox.session import Session
from codemode_fuzz.blackbox.making import document
print(document("engine", 1, 1)["id"], document("parent", 1, 1)["id"])
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.stdout.split()[1] == "fuz.stream-1-1", ended.stderr


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('"ok":true,"value_present":true,"value":[1]', {"outcome": "value", "value": [1]}),
        ('"ok":true,"value_present":false', {"outcome": "any"}),
        ('"ok":true,"value_present":false,"value":1', {"outcome": "failure"}),
        ('"ok":false,"value_present":false,"error":{"code":"cancelled"}', {"outcome": "failure"}),
    ],
)
def test_streams_are_judged_by_the_second_reading(line, wanted):
    """Legal where every profile says so, a failure where none does."""
    head = '{"type":"result","invocation_id":424242424242424,'
    assert expected(f"{head}{line}}}".encode()) == wanted
    assert expected(f"{head}{line}}}".replace("4,", "5,", 1).encode())["outcome"] != "value"


def run(tmp_path, capsys, *words):
    """`cmconf fuzz` in a cache of its own."""
    code = cli.main(["fuzz", "--target", "reference", *words])
    return code, capsys.readouterr()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("CMCONF_CACHE", str(tmp_path))
    return tmp_path / "fuzz" / "blackbox"


@pytest.mark.parametrize(("role", "runs"), [("engine", 12), ("parent", 12), ("worker", 12)])
def test_nothing_is_found_in_the_reference(role, runs, cache, tmp_path, capsys):
    """Programs and streams, all of them as they must be."""
    code, told = run(tmp_path, capsys, "--role", role, "--runs", str(runs))
    assert code == fuzz.NOTHING, told
    assert f"{runs} cases in" in told.out
    assert f"{runs} pass" in told.out


def test_a_session_goes_on_where_it_was(cache, tmp_path, capsys):
    """Cases are not put twice, unless it is to begin anew; broken progress is told."""
    for runs, words in ((2, ()), (3, ()), (1, ("--fresh",))):
        code, told = run(tmp_path, capsys, "--runs", str(runs), *words)
        assert (code, f"{runs} cases in" in told.out) == (fuzz.NOTHING, True), told
    progress = cache / "reference-engine-1" / session.PROGRESS
    assert json.loads(progress.read_bytes())["next"] == 1
    progress.write_text("[]")
    code, told = run(tmp_path, capsys, "--runs", "4")
    assert code == 2
    assert "delete it" in told.err


class Role:
    """A role that nobody asks for anything."""

    def restart(self):
        """Nothing to restart."""


def put(monkeypatch, tmp_path, judge, runs=30, seconds=60.0):
    """A session whose cases are judged by `judge`."""
    monkeypatch.setattr(session, "obstacle", lambda case, identity, role: None)
    made = Session.__new__(Session)
    made._plan = Plan("t", "engine", 1, runs, seconds)
    made._folder, made._errors, made.homes = tmp_path, 0, {}
    made.progress = session.Progress()
    made.put = judge
    lines = []
    return made, made.run(lines.append), lines


def test_each_different_finding_has_a_folder(monkeypatch, tmp_path):
    """With the case, what was seen, and a script; numbers and texts make no difference."""

    def judge(made):
        kind = made["id"].split("-")[0].removeprefix("fuz.")
        observed = f"value {len(made['id'])}"
        return Verdict.FAIL, Found(kind, "value", Verdict.FAIL, "value 1", observed)

    made, why, lines = put(monkeypatch, tmp_path, judge)
    assert why == "all cases were put"
    assert 3 <= len(made.homes) == len(lines) <= 7
    home = next(iter(made.homes))
    assert {path.name for path in home.iterdir()} == {"case.json", "finding.txt", "reproduce.sh"}
    assert "--replay case.json" in (home / "reproduce.sh").read_text()
    assert os.access(home / "reproduce.sh", os.X_OK)


@pytest.mark.parametrize(
    ("answer", "runs", "seconds", "why"),
    [
        ((Verdict.ERROR, None), 30, 60.0, "10 errors of the adapter or the suite in a row"),
        ((Verdict.PASS, None), 30, -1.0, "the time is over"),
        ((Verdict.PASS, None), 5, 60.0, "all cases were put"),
    ],
)
def test_a_session_is_bounded(answer, runs, seconds, why, monkeypatch, tmp_path):  # noqa: PLR0917
    """By cases, time, and errors that would go on for ever."""
    made, stopped, _ = put(monkeypatch, tmp_path, lambda made: answer, runs, seconds)
    assert stopped == why
    assert made.progress.next <= runs


def test_many_different_findings_end_a_session(monkeypatch, tmp_path):
    """Then one fault shows in many ways."""

    def judge(made):
        letters = "".join(chr(97 + int(digit)) for digit in made["id"] if digit.isdigit())
        return Verdict.FAIL, Found(letters, "outcome", Verdict.FAIL, "", letters)

    monkeypatch.setattr(session, "MOST_FINDINGS", 5)
    made, why, _ = put(monkeypatch, tmp_path, judge)
    assert (len(made.homes), why) == (5, "5 different findings")


def test_a_program_is_made_smaller_where_its_value_does_not_matter():
    """Lines that the finding does not need are left out; a known value is never touched."""
    made = {"program": {"javascript": "a\nb\nbad\nc"}, "expect": [{"outcome": "any"}]}

    def still(other):
        return "bad" in other["program"]["javascript"]

    assert shrunk(made, still)["program"]["javascript"] == "bad"
    known = made | {"expect": [{"outcome": "value", "value": 1}]}
    assert shrunk(known, still) == known
    assert findings.program_of(made) == "a\nb\nbad\nc"


def test_what_is_right_is_no_finding():
    """Every layer that passes, is not claimed or not reached."""

    class Passing:
        layers = ()

    assert found_in({"id": "fuz.value-1-1"}, Passing()) is None


def test_a_case_is_put_again(cache, tmp_path, capsys):
    """A right one passes, a wrong expectation is a finding, bad files are usage."""
    made = document("engine", 1, 0)
    made |= {"program": {"javascript": "return 1"}, "expect": [{"outcome": "value", "value": 1}]}
    made |= {"requirements": {"outcome": "CM-RET-001", "value": "CM-RET-001"}, "raw": True}
    path = tmp_path / "case.json"
    path.write_text(json.dumps(made))
    assert run(tmp_path, capsys, "--replay", str(path))[0] == fuzz.NOTHING
    made["expect"][0]["value"] = 2
    path.write_text(json.dumps(made))
    code, told = run(tmp_path, capsys, "--replay", str(path))
    assert code == fuzz.FOUND
    assert "value: expected value 2; observed value 1" in told.out
    for text in ("{", "{}", None):
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        assert run(tmp_path, capsys, "--replay", str(path))[0] == 2
