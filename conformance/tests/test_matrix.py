"""Reports side by side: what is joined, what is refused, and what a hostile report can do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from codemode_conformance.cli import main
from codemode_conformance.failures import TargetError, UsageError
from codemode_conformance.matrix import (
    badge,
    findings,
    html_page,
    joining,
    page,
    reading,
    result,
    words,
)
from codemode_conformance.target import SHIPPED, load_target, shipped_targets
from codemode_spec.schemas import problems

HOSTILE = "</script><script>alert(1)</script>\u202e\u0007\n::error::x|`<!--"


def layer(case: str, verdict: str, **more: str) -> dict[str, Any]:
    """A layer of a report."""
    return {
        "layer": "outcome",
        "requirement": "CM-TIM-001",
        "class": "containment",
        "level": "MUST",
        "verdict": verdict,
        **more,
    } | {"case": case}


def report(*layers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A report with the fields that the matrix reads, and some that it does not know."""
    cases: dict[str, dict[str, Any]] = {}
    for one in layers:
        name = one.pop("case")
        case = cases.setdefault(name, {"id": name, "title": "A title", "layers": [], "new": 1})
        case["layers"].append(one)
    return {
        "format": 1,
        "suite_version": "1",
        "spec_revision": "1-draft.1",
        "cases_digest": "d" * 64,
        "target": {"name": "a", "title": "A", "version": "1", "identity": {"language": ["python"]}},
        "selection": {"role": "engine", "complete": True},
        "started": "2026-11-30T10:00:00+00:00",
        "seconds": 1.5,
        "cases": list(cases.values()),
        "areas": {"TIM": "Deadlines"},
        "requirements": {"CM-TIM-001": {"text": "It ends."}},
        "of a later suite": [],
        **more,
    }


def of(name: str, *layers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A report of the target of this name."""
    target = {"name": name, "title": name, "version": "1", "identity": {}}
    return report(*layers, target=target, **more)


@pytest.fixture
def joined(tmp_path: Path) -> Any:
    """Joins reports that are written to files first."""

    def join(*reports: dict[str, Any]) -> dict[str, Any]:
        paths = []
        for number, value in enumerate(reports):
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps(value), encoding="utf-8")
            paths.append(path)
        return joining.matrix([reading.read(path) for path in paths])

    return join


def test_the_overview_says_of_how_many_requirements_it_is(joined: Any) -> None:
    """Two layers of one requirement are one; what was not asked or cannot be seen is none."""
    matrix = joined(
        report(
            layer("tim.one", "pass"),
            layer("tim.two", "fail"),
            layer("ret.one", "pass", requirement="CM-RET-001"),
            layer("ret.two", "unsupported", requirement="CM-RET-002"),
            layer("ret.six", "untestable", requirement="CM-RET-006", **{"class": "budgets"}),
        )
    )
    assert words.breadth(matrix, matrix["targets"][0]) == {"containment": 2}
    assert "2 / 3, 2 R" in page.text(matrix)
    assert "2 requirements" in html_page.text(matrix)


def test_a_requirement_has_the_worst_of_its_verdicts(joined: Any) -> None:
    """A case that was not asked hides neither a pass nor a failure of another one."""
    found = joined(
        report(layer("tim.one", "unsupported"), layer("tim.two", "pass")),
        of("b", layer("tim.one", "fail"), layer("tim.two", "pass"), layer("tim.x", "not_reached")),
        of("c", layer("tim.one", "unsupported"), layer("tim.two", "untestable")),
    )
    (entry,) = found["requirements"]
    assert entry["verdicts"] == {"a": "pass", "b": "fail", "c": "untestable"}
    assert found["targets"][1]["classes"] == {"containment": {"fail": 1, "pass": 1}}
    assert found["areas"] == {"TIM": "Deadlines"}


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, "contract"),
        ({"contract": "fail"}, "budgets"),
        ({"contract": "unsupported"}, "budgets"),
        ({"budgets": "flaky"}, "containment"),
        ({"containment": "fail"}, "none"),
        ({"budgets": "error"}, "incomplete"),
    ],
)
def test_a_badge_tells_how_far_every_must_holds(joined: Any, changes: Any, level: str) -> None:
    """Each class stands on those before it; what was not judged is not met."""
    classes = {"containment": "pass", "budgets": "pass", "contract": "pass", **changes}
    layers = [layer(f"tim.{name}", told, **{"class": name}) for name, told in classes.items()]
    advice = layer("tim.advice", "fail", level="SHOULD")
    found = joined(report(*layers, advice))
    assert found["targets"][0]["level"] == level
    text = badge.badge(found, found["targets"][0])
    assert badge.told(level) in text
    assert "1-draft.1" in text
    assert "2026-11-30" in text


def test_a_part_of_the_suite_gives_no_level(joined: Any) -> None:
    """A run of a part says nothing about the whole."""
    part = report(layer("tim.one", "pass"), selection={"role": "engine", "complete": False})
    assert joined(part)["targets"][0]["level"] == "incomplete"


def test_reproduction_lines_are_made_here(joined: Any) -> None:
    """A command in a report is never shown: somebody would paste it."""
    bad = report(layer("tim.one", "fail", observed="x"), reproduce="rm -rf /")
    bad["cases"][0]["reproduce"] = "rm -rf /"
    found = joined(bad)
    (failure,) = found["targets"][0]["failures"]
    expected = "cmconf run --target path/to/a/target.toml --role engine --case tim.one"
    assert failure["reproduce"] == expected
    assert "rm -rf" not in json.dumps(found) + html_page.text(found) + page.text(found)


def test_paths_of_a_machine_are_not_published(joined: Any) -> None:
    """What a target leaked of the place where it was run stays there."""
    seen = "at f (file:///home/me/cache/x.js:1:2) in /tmp/a/b, 3 ms"
    (failure,) = joined(report(layer("tim.one", "fail", observed=seen)))["targets"][0]["failures"]
    assert failure["observed"] == "at f ((path)) in (path) 3 ms"


def test_a_hostile_report_stays_text(joined: Any) -> None:
    """No text of a report begins markup, a script, a workflow command or another line."""
    texts = dict.fromkeys(("reason", "expected", "observed"), HOSTILE)
    found = joined(
        report(
            layer("tim.one", "fail", **texts),
            target={
                "name": "a",
                "title": HOSTILE,
                "version": HOSTILE[:20],
                "identity": {"language": [HOSTILE], "alternatives": {HOSTILE: HOSTILE}},
            },
            started=HOSTILE,
            areas={"TIM": HOSTILE},
            requirements={"CM-TIM-001": {"text": HOSTILE}},
            effective={HOSTILE: {"value": HOSTILE}},
            platform={HOSTILE: HOSTILE, "system": HOSTILE},
        )
    )
    html = html_page.text(found)
    assert html.count("<script>") == 1
    assert "alert(1)</script>" not in html
    svg = badge.badge(found, found["targets"][0])
    assert "<script" not in svg
    for text in (html, svg, page.text(found)):
        assert "\u202e" not in text
        assert "\u0007" not in text
        assert not re.search("^::error", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 2}, "/format"),
        ({"cases": None}, "/cases: it is not an array"),
        ({"target": {"name": "../x", "version": "1"}}, "/target/name"),
        ({"target": {"name": "x"}}, "/target: version is missing"),
        ({"selection": {"role": "Engine"}}, "/selection/role"),
        ({"cases": [{"id": "x", "title": "", "layers": []}]}, "/cases/0/id"),
    ],
)
def test_what_is_no_report_is_refused_with_its_place(joined: Any, change: Any, told: str) -> None:
    """The file, the place in it, and what to give instead."""
    with pytest.raises(UsageError) as error:
        joined(report(layer("tim.one", "pass"), **change))
    assert told in str(error.value)
    assert "0.json" in str(error.value)


def test_reports_that_do_not_belong_together_are_refused(joined: Any) -> None:
    """The same target twice, and reports of other cases, are no matrix."""
    with pytest.raises(UsageError, match="two reports are of a"):
        joined(report(layer("tim.one", "pass")), report(layer("tim.one", "pass")))
    with pytest.raises(UsageError, match="cases_digest"):
        joined(report(layer("tim.one", "pass")), of("b", cases_digest="e" * 64))


def test_the_same_target_in_two_roles_has_two_columns(joined: Any) -> None:
    """The role is in the name where there is more than one."""
    server = report(layer("tim.one", "pass"), selection={"role": "server", "complete": True})
    found = joined(report(layer("tim.one", "pass")), server)
    assert [target["key"] for target in found["targets"]] == ["a (engine)", "a (server)"]


def test_the_command_writes_every_form(joined: Any, tmp_path: Path, capsys: Any) -> None:
    """JSON, page, page of the book and badges; without a place the overview is printed."""
    joined(report(layer("tim.one", "pass")))
    words = ["matrix", str(tmp_path / "0.json")]
    forms = {form: tmp_path / f"out.{form}" for form in ("json", "html", "markdown")}
    more = [word for form, path in forms.items() for word in (f"--{form}", str(path))]
    assert main([*words, *more, "--badges", str(tmp_path / "badges")]) == 0
    assert json.loads(forms["json"].read_text(encoding="utf-8"))["format"] == 1
    assert (tmp_path / "badges" / "a.svg").is_file()
    assert main(words) == 0
    assert "| `a` |" in capsys.readouterr().out
    assert main(["matrix", str(tmp_path / "missing.json")]) == 2
    assert "give the path" in capsys.readouterr().err


FINDINGS = """format = 1
version = "2"
confirmed = "2026-11-30"
note = "For friends."
[passes]
how = "The messages were read."
cases = ["tim.two"]
[[finding]]
kind = "design"
text = "So."
how = "A program by itself."
cases = ["tim.one.more"]
"""


def test_findings_are_of_single_cases_at_one_version(tmp_path: Path) -> None:
    """No pattern explains a case that nobody looked at, and no other version is explained."""
    path = tmp_path / "findings.toml"
    path.write_text(FINDINGS, encoding="utf-8")
    known = findings.load(path, "2")
    (found,) = known.findings
    assert found.covers("tim.one.more")
    assert not found.covers("tim.one.less")
    assert (known.note, known.passes) == ("For friends.", ("tim.two",))
    assert findings.load(path, "3") == findings.Confirmation()
    for change, place in (
        (("confirmed", "remembered"), "confirmed"),
        (("tim.one.more", "tim.one.*"), "finding.0.cases.0"),
        (('how = "A', 'who = "A'), "finding.0"),
    ):
        path.write_text(FINDINGS.replace(*change), encoding="utf-8")
        with pytest.raises(TargetError, match=re.escape(place)):
            findings.load(path, "2")


@pytest.mark.parametrize("name", shipped_targets())
def test_the_files_of_a_shipped_target_belong_together(name: str) -> None:
    """Findings are of the version of the target file, and the page tells each of them."""
    target = load_target(SHIPPED / name / "target.toml")
    path = SHIPPED / name / findings.FILE_NAME
    if not path.is_file():
        return
    told = (SHIPPED / name / "README.md").read_text(encoding="utf-8")
    known = findings.load(path, target.version)
    assert known.confirmed
    for one in known.findings:
        assert one.text in told


@pytest.mark.parametrize("name", shipped_targets())
def test_a_lock_file_names_no_address(name: str) -> None:
    """Where a package comes from is the matter of whoever installs it."""
    lock = load_target(SHIPPED / name / "target.toml").install.lock
    if lock is not None:
        text = (SHIPPED / name / lock).read_text(encoding="utf-8")
        assert '"resolved"' not in text
        assert " @ http" not in text


def test_the_committed_matrix_fits_its_schema() -> None:
    """The page of the book is made of it."""
    path = Path(__file__).parents[2] / "docs" / "comparison" / "matrix.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    assert problems("matrix", value, str(path)) == []
    assert page.text(value) == (path.parent / "index.md").read_text(encoding="utf-8")
    assert html_page.text(value) == (path.parent / "matrix.html").read_text(encoding="utf-8")


def committed() -> dict[str, Any]:
    """The matrix that the book shows."""
    path = Path(__file__).parents[2] / "docs" / "comparison" / "matrix.json"
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def test_the_page_of_a_target_tells_the_result_of_the_matrix() -> None:
    """Its section is the one that `cmconf matrix --readmes` writes."""
    matrix = committed()
    others = [target for target in matrix["targets"] if target["name"] != "reference"]
    assert len(others) >= 10
    for target in others:
        path = SHIPPED / target["name"] / "README.md"
        wanted = result.readme(path, result.section(matrix, target))
        assert path.read_text(encoding="utf-8") == wanted, target["name"]


def test_a_result_names_causes_and_some_of_their_cases(joined: Any, tmp_path: Path) -> None:
    """And replaces the section that was there, in a page that has one."""
    matrix = joined(report())
    target = {**matrix["targets"][0], "findings": [{"kind": "suite", "text": "T.", "how": "H."}]}
    bad = {"finding": 0, "layer": "outcome"}
    target["failures"] = [{**bad, "case": f"tim.case-{number}"} for number in range(6)]
    told = result.section(matrix, target)
    assert "| mistake of the suite | T. | `tim.case-0`, `tim.case-1`, `tim.case-2`, " in told
    assert told.endswith("`tim.case-3` and 2 more |\n")
    path = tmp_path / "README.md"
    assert result.readme(path, told) is None
    path.write_text("# Page\n", encoding="utf-8")
    assert result.readme(path, told) is None
    path.write_text("# Page\n\n## Result\n\nOld.\n", encoding="utf-8")
    assert result.readme(path, told) == f"# Page\n\n{told}"
    path.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="README"):
        result.readme(path, told)


def test_every_failure_of_the_book_was_confirmed_by_hand() -> None:
    """The message names the failures of the committed reports that nobody has looked at."""
    bare = [
        f"{target['key']}: {entry['case']} ({entry['layer']})"
        for target in committed()["targets"]
        for entry in target["failures"]
        if entry["finding"] is None
    ]
    assert bare == []


def test_nothing_is_confirmed_that_did_not_fail() -> None:
    """A cause, or a case of one, that no failure of the committed reports has is an old one."""
    for target in committed()["targets"]:
        failed = {entry["case"] for entry in target["failures"]}
        known = findings.confirmation_of(target["name"], target["version"])
        assert {case for one in known.findings for case in one.cases} == failed, target["key"]
        assert list(known.passes) == target["passes_read"]


def test_the_page_says_what_was_confirmed_and_what_not(joined: Any) -> None:
    """Also where there is nothing to say, or no cause is known."""
    matrix = joined(report(layer("tim.one", "fail")))
    assert (
        words.lead(matrix)[-1]
        == "Failing cases on this page: 1. The cause of none was confirmed by hand."
    )
    assert words.causes(matrix["targets"][0]) == "1 not looked at"
    target = matrix["targets"][0]
    target["findings"] = [{"kind": "fault", "text": "So.", "how": "By itself."}]
    target["confirmed"] = "2026-12-01"
    target["failures"].append({**target["failures"][0], "case": "tim.two", "finding": 0})
    assert words.causes(target) == "1 fault, 1 not looked at"
    assert words.lead(matrix)[-1] == (
        "Failing cases on this page: 2. The cause of 1 was confirmed by hand by 2026-12-01, "
        "on a run of the suite's authors, as is told beside it; 1 more were not looked at by hand."
    )
    target["failures"][0]["finding"] = 0
    assert words.lead(matrix)[-1] == (
        "Failing cases on this page: 2. The cause of each was confirmed by hand by 2026-12-01, "
        "on a run of the suite's authors, as is told beside it."
    )
    for text in (page.text(matrix), html_page.text(matrix)):
        assert "By itself." in text
    target["failures"].clear()
    assert words.lead(matrix) == []
    assert words.causes(target) == "none"


def test_the_lead_is_text_on_every_page(joined: Any, tmp_path: Path, capsys: Any) -> None:
    """Its paragraphs are escaped like all that is not ours, and it is bounded."""
    joined(report(layer("tim.one", "pass")))
    lead, out = tmp_path / "lead.txt", tmp_path / "out.html"
    lead.write_text(f"One\nparagraph.\n\n{HOSTILE}\n", encoding="utf-8")
    command = ["matrix", str(tmp_path / "0.json"), "--lead", str(lead)]
    assert main([*command, "--html", str(out)]) == 0
    shown = out.read_text(encoding="utf-8")
    assert "<p class='lead'>One paragraph.</p>" in shown
    assert "<script>alert" not in shown
    assert main(command) == 0
    assert "<script>alert" not in capsys.readouterr().out
    for content, told in ((b"x" * 9_000, "at most 8192 bytes"), (b"\xff", "UTF-8")):
        lead.write_bytes(content)
        assert main(command) == 2
        assert told in capsys.readouterr().err
    lead.unlink()
    assert main(command) == 2
    assert "give the path of a text file" in capsys.readouterr().err


def test_what_changed_since_an_earlier_matrix_is_told(
    joined: Any, tmp_path: Path, capsys: Any
) -> None:
    """Failures that are new and those that are gone, by target."""
    unsteady = layer("tim.three", "fail")
    joined(of("a", layer("tim.one", "fail"), layer("tim.two", "pass"), unsteady), of("b"))
    first = [str(tmp_path / "0.json"), str(tmp_path / "1.json")]
    before = tmp_path / "before.json"
    assert main(["matrix", *first, "--json", str(before)]) == 0
    unsteady = layer("tim.three", "flaky", observed="z")
    now_fails = layer("tim.two", "fail", observed="x|y")
    joined(of("a", layer("tim.one", "pass"), now_fails, unsteady), of("b"))
    assert main(["matrix", *first, "--since", str(before)]) == 0
    told = capsys.readouterr().out
    assert "| `tim.two` | `outcome` | fails now | `x\\x7cy` |" in told
    assert "| `tim.three` | `outcome` | fails in some runs now | `z` |" in told
    assert "| `tim.one` | `outcome` | fails no more |" in told
    assert "No verdict changed." in told
    assert main(["matrix", *first, "--since", first[0]]) == 2
    assert "give the JSON of a matrix" in capsys.readouterr().err
