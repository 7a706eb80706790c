"""What is rendered says all that the data says, and only that."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import codemode_spec
import pytest
from book.diagram import draw
from book.markdown import code, number, prose, short
from book.pages import rendered, write
from book.profiles import SURFACES
from book.requirements import area_page
from codemode_spec.schemas import problems
from codemode_spec.tables import Transition

BOOK = Path(__file__).parents[1]
SPECIFICATION = codemode_spec.load()
PAGES = rendered(SPECIFICATION)


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language in a page of the book."""
    text = (BOOK / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", list(SPECIFICATION.tables.endpoints))
def test_every_transition_is_in_its_diagram(name: str) -> None:
    """Each state lists each event once, and each ending that the table knows has its line."""
    endpoint = SPECIFICATION.tables.endpoints[name]
    drawn = draw(endpoint)
    cards = drawn.split('<rect class="card')[1:]
    assert len(cards) == len(endpoint.states)
    for state, card in zip(endpoint.states, cards, strict=True):
        rows = re.findall(
            r'<text class="(?:next|stay|error|exit|ignore)"[^>]*>([^<]*)</text>', card
        )
        text = " ".join(re.sub(r"^(?:to \w+|stays|ignored): ", "", row) for row in rows)
        assert sorted(re.findall(r"\w+", text)) == sorted(endpoint.events), state
    endings = {
        (state, transition.error or f"exit {transition.exit}")
        for state, row in endpoint.transitions.items()
        for transition in row.values()
        if transition.error is not None or transition.exit is not None
    }
    assert drawn.count('class="pill"') == len(endings)


def test_a_diagram_shows_what_changes() -> None:
    """A transition with another effect gives another picture: it is drawn from the table."""
    endpoint = SPECIFICATION.tables.endpoints["worker"]
    row = {**endpoint.transitions["running"], "stdin_eof": Transition(exit=9)}
    changed = replace(endpoint, transitions={**endpoint.transitions, "running": row})
    assert "exit 9" in draw(changed)
    assert "exit 9" not in draw(endpoint)


def test_every_transition_is_in_its_table() -> None:
    """One row for each event, one cell for each state."""
    for name, endpoint in SPECIFICATION.tables.endpoints.items():
        section = PAGES["protocol.md"].split(f"### Every transition of the {name}")[1]
        table = section.split("\n\n")[1].splitlines()[2:]
        assert [re.match(r"\| `(\w+)`", line)[1] for line in table] == list(endpoint.events)
        assert {line.count(" | ") for line in table} == {len(endpoint.states)}


def test_every_row_is_compared_between_the_profiles() -> None:
    """The profile page has a line for each row and each alternative."""
    page = PAGES["profiles.md"]
    for kind, names in (
        ("row", SPECIFICATION.tables.rows),
        ("alternative", SPECIFICATION.tables.alternatives),
    ):
        for name in names:
            assert f"(#{kind}-{name})" in page


def test_differences_between_profiles_are_marked() -> None:
    """A line is marked exactly where the values differ."""
    for line in PAGES["profiles.md"].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and cells[1].startswith("["):
            values = {cell.strip("*") for cell in cells[2:]}
            assert (cells[0] == "≠") is (len(values) > 1), line


def test_what_a_program_sees_is_told_of_each_profile() -> None:
    """Every fact has a text for every profile, and each stands on the page."""
    facts = json.loads(SURFACES.read_text(encoding="utf-8"))
    section = PAGES["profiles.md"].split("## What a program sees")[1].split("\n## ")[0]
    assert section.count("\n| ") == len(facts) + 2
    for fact in facts:
        assert set(fact) == {"fact", *SPECIFICATION.tables.profiles}


def test_what_is_asked_of_a_profile_is_counted_from_its_alternatives() -> None:
    """Synchronous cases are of one profile alone, and no profile is asked everything."""
    section = PAGES["profiles.md"].split("## What is asked of each")[1].split("\n## ")[0]
    lines = [line.split(" | ") for line in section.splitlines() if line.startswith("| ≠")]
    rows = {
        cells[1]: [int(cell.strip("* |").replace(",", "")) for cell in cells[2:]] for cells in lines
    }
    cases = SPECIFICATION.cases.values()
    sync = [case for case in cases if case.alternatives.get("script_style") == ("sync",)]
    assert rows["cases of it alone"][1] >= len(sync) > 80
    assert max(rows["cases"]) < len(SPECIFICATION.cases)


def test_the_sum_over_all_workers_is_told() -> None:
    """4 x (16 MiB + 64 MiB) with the defaults of process-async, 16 x (64 + 64) at most."""
    assert (
        "| 4 x (16 MiB + 64 MiB) = 320 MiB | 16 x (64 MiB + 64 MiB) = 2,048 MiB |"
        in (PAGES["policy.md"])
    )


def test_a_requirement_says_everything_that_it_has() -> None:
    """Text, reason, class, level, roles, origin, needs, alternatives, since and its cases."""
    item = replace(
        SPECIFICATION.requirements["CM-TIM-003"],
        needs=("op.never",),
        alternatives={"exhaustion": ("terminal",)},
    )
    changed = replace(
        SPECIFICATION, requirements={**SPECIFICATION.requirements, "CM-TIM-003": item}
    )
    section = area_page("TIM", changed).split("(CM-TIM-003)=")[1].split("(CM-TIM-004)=")[0]
    for part in (
        "No `catch`, `finally` or rejection handler",
        "A termination that can be caught is a request",
        "containment, MUST",
        "engine, server",
        "(#profile-inline-sync)",
        "`op.never`",
        "(#alternative-exhaustion) is `terminal`",
        "1-draft.1",
        "`tim.no-way-on` (5 variants)",
    ):
        assert part in section


def test_a_requirement_shows_its_rows_and_codes() -> None:
    """Where the data has them; a name that is in no table is shown without a link."""
    item = SPECIFICATION.requirements["CM-TIM-003"]
    names = {field.name: getattr(item, field.name) for field in fields(item)}
    wider = SimpleNamespace(**{**names, "rows": ("wall_time_ms",), "codes": ("deadline_exceeded",)})
    changed = replace(SPECIFICATION, requirements={item.id: wider})
    page = area_page("TIM", changed)
    assert "- **Rows:** [`wall_time_ms`](#row-wall_time_ms)" in page
    assert "- **Codes:** [`deadline_exceeded`](#error-deadline_exceeded)" in page


def test_a_case_that_judges_in_several_layers_is_one_line() -> None:
    """With the layers in their order."""
    section = PAGES["requirements/iso.md"].split("(CM-ISO-001)=")[1].split("(CM-ISO-002)=")[0]
    assert re.search(r"\| `iso.globals-between-runs` \| [^|]+ \| outcome, value \|", section)


def test_a_requirement_without_a_case_says_why() -> None:
    """The typed reason is shown in words."""
    lone = replace(
        SPECIFICATION.requirements["CM-TIM-003"],
        id="CM-TIM-999",
        untestable=("needs_clock", "Only a fake clock shows it."),
    )
    changed = replace(SPECIFICATION, requirements={"CM-TIM-999": lone}, cases={})
    page = area_page("TIM", changed)
    assert "no case: it needs a clock that the suite does not have. Only a fake clock" in page


def test_text_of_the_data_is_no_markup() -> None:
    """Special characters are shown, code spans stay, and nothing breaks out of a table."""
    assert prose("a|b <b> __proto__ `x|y` [z](w)") == (r"a\|b \<b\> \_\_proto\_\_ `x\|y` \[z\](w)")
    assert code("a`b") == "``a`b``"


def test_numbers_are_exact() -> None:
    """Thousands are marked, and a round size is told only where it is exact."""
    assert number(32768, "bytes") == "32,768 (32 KiB)"
    assert number(51201, "bytes") == "51,201"
    assert number(32768, "calls") == "32,768"
    assert short(1 << 20, "bytes") == "1 MiB"


def test_pages_that_are_gone_are_removed(tmp_path: Path) -> None:
    """The folder holds exactly what is rendered, and unchanged files keep their time."""
    (tmp_path / "old.md").write_text("old", encoding="utf-8")
    write(tmp_path, SPECIFICATION)
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.md")} == set(PAGES)
    before = (tmp_path / "policy.md").stat().st_mtime_ns
    write(tmp_path, SPECIFICATION)
    assert (tmp_path / "policy.md").stat().st_mtime_ns == before


def test_frames_in_the_book_are_legal() -> None:
    """Each example line is a frame of the schema, and the first one leaves nothing out."""
    lines = [line for block in blocks("boundary/frames.md", "json") for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        assert problems("frame", json.loads(line), line) == []
    profile = SPECIFICATION.tables.profiles["process-async"]
    execute = json.loads(lines[0])
    sent = {name: row.default for name, row in profile.rows.items() if row.in_execute}
    assert execute["limits"] == sent
    assert set(execute["alternatives"]) == set(profile.alternatives)


def test_adapter_messages_in_the_book_are_legal() -> None:
    """Each example line is a message of the adapter protocol."""
    page = "be-tested/adapter-protocol.md"
    lines = [line for block in blocks(page, "json") for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        message = json.loads(line)
        assert problems("adapter", message, line, message["m"]) == []


def test_the_target_file_in_the_book_is_valid() -> None:
    """A reader starts from a file that the suite accepts."""
    page = "be-tested/target-file.md"
    (text,) = blocks(page, "toml")
    assert problems("target", tomllib.loads(text), page) == []


def test_the_shown_fix_is_the_fix() -> None:
    """The worked example differs from its fixed form in exactly the lines that the page shows."""
    before, after = (
        (BOOK / "worked" / path).read_text(encoding="utf-8").splitlines()
        for path in ("sandbox.py", "fixed/sandbox.py")
    )
    made = [
        line
        for line in difflib.unified_diff(before, after, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    (shown,) = blocks("be-tested/worked-example.md", "diff")
    assert [line for line in shown.splitlines() if line[:1] in ("-", "+")] == made
