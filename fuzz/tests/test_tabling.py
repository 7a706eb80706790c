"""The table of the documentation: made from what was kept and what is there, never edited."""

import pytest
from codemode_fuzz import tabling
from codemode_fuzz.targets import FAST, INSTRUMENTED
from codemode_fuzz.verbs import FOUND, OK, USAGE, VERBS

ENDED = "#5 DONE cov: 3\nDone 1200 runs in 61 second(s)\nstat::average: 19\n"
TABLE = VERBS["table"].execute


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page and kept numbers of its own; nothing is measured."""
    page, kept = tmp_path / "page.md", tmp_path / "measured.json"
    page.write_text(tabling.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    kept.write_bytes(tabling.MEASURED.read_bytes())
    monkeypatch.setattr(tabling, "PAGE", page)
    monkeypatch.setattr(tabling, "MEASURED", kept)
    monkeypatch.setattr(tabling, "branches_of", lambda name: {"some": 99.9, "all": 100.0})
    return page


def test_the_page_has_the_numbers_that_are_kept():
    """All but the branches, which the test of the coverage holds against the page."""
    there = tabling.on_page(tabling.PAGE.read_text(encoding="utf-8"))
    made = tabling.table({})
    assert [line.rpartition(" | ")[0] for line in there] == [
        line.rpartition(" | ")[0] for line in made
    ], "run: python -m codemode_fuzz table write"
    assert len(there) == len(INSTRUMENTED) + 2


def test_runs_are_read():
    """Those of the fuzzer and of a walk, together; one that was ended by force is none."""
    assert tabling.runs([ENDED]) == {"executions": 1200, "seconds": 61}
    walk = "worker: 300 inputs in 39.6 s, 8 a second\n"
    assert tabling.runs([ENDED, walk]) == {"executions": 1500, "seconds": 101}
    with pytest.raises(ValueError, match="ended"):
        tabling.runs([ENDED, "#7297 REDUCE cov: 153"])


def test_the_table_is_written(page, tmp_path, capsys):
    """It differs, is written, and does not differ; what is around it stays."""
    before = page.read_text(encoding="utf-8")
    assert TABLE(["check"]) == FOUND
    assert "not on the page" in capsys.readouterr().out
    log = tmp_path / "run.log"
    log.write_text(ENDED)
    assert TABLE(["frames", str(log), str(log)]) == OK
    assert TABLE(["write"]) == OK
    row = tabling.on_page(page.read_text(encoding="utf-8"))[2]
    assert row.startswith("| `frames` | ")
    assert row.endswith(" | 2,400 | 122 | 20 | `all` 100 %, `some` 99 % |")
    assert TABLE(["check"]) == OK
    assert "not on the page" not in capsys.readouterr().out
    there = "\n".join(tabling.on_page(before))
    now = page.read_text(encoding="utf-8")
    assert now == before.replace(there, "\n".join(tabling.on_page(now)))


@pytest.mark.parametrize("words", [["frames"], ["nothing", "x"], ["frames", "no/such"]])
def test_what_is_no_table(words, page, capsys):
    """Exit 2 and one line."""
    assert TABLE(words) == USAGE
    assert capsys.readouterr().err.startswith("codemode_fuzz: ")


def test_what_cannot_be_measured_is_told(page, monkeypatch, capsys):
    """As where the package `coverage` is missing."""

    def missing(name):
        raise ValueError(f"{name} cannot be measured")

    monkeypatch.setattr(tabling, "branches_of", missing)
    assert TABLE([]) == USAGE
    assert f"{FAST[0]} cannot be measured" in capsys.readouterr().err
