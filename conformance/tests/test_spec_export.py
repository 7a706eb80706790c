"""`cmconf spec export` and `cmconf spec freeze`, and what `cmconf spec check` finds besides."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import codemode_spec
import pytest
from codemode_conformance.cli import main

SHIPPED = Path(str(files("codemode_spec")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the shipped data."""
    place = tmp_path / "spec"
    shutil.copytree(SHIPPED, place, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return place


def test_an_export_says_what_it_wrote(tmp_path: Path, capsys) -> None:
    """The command writes into a new folder, and again over its own export."""
    place = tmp_path / "vendored"
    for _ in range(2):
        assert main(["spec", "export", str(place)]) == 0
        line = capsys.readouterr().out
        count = sum(path.is_file() for path in place.rglob("*"))
        assert line == f"revision {codemode_spec.load().revision}: {count} files in {place}\n"


def test_a_folder_in_use_is_refused(tmp_path: Path, capsys) -> None:
    """One line says what is wrong and what to do."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert main(["spec", "export", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"cmconf: {tmp_path}: it is not empty and holds no earlier export; choose another folder\n"
    )


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, capsys) -> None:
    """A file on the way to the folder is named."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["spec", "export", str(tmp_path / "file" / "folder")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"cmconf: {tmp_path / 'file' / 'folder'}: ")
    assert error.endswith("choose another folder\n")


def test_a_draft_is_frozen_and_checked(root: Path, capsys) -> None:
    """What is frozen passes the check; a released revision is not written again."""
    (root / "revision.json").write_text(
        '{"format": 1, "revision": "1", "retired": []}', encoding="utf-8"
    )
    assert main(["spec", "check", "--root", str(root)]) == 5
    assert "1 is released but not frozen; run `cmconf spec freeze`" in capsys.readouterr().err
    assert main(["spec", "freeze", "--root", str(root)]) == 0
    assert f"are frozen in {root / 'revisions/1.json'}\n" in capsys.readouterr().out
    assert main(["spec", "check", "--root", str(root)]) == 0
    path = root / "cases/src.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("value: 1", "value: 2", 1), "utf-8")
    capsys.readouterr()
    assert main(["spec", "freeze", "--root", str(root)]) == 2
    assert "revisions/1.json: this revision is released and stays" in capsys.readouterr().err


def test_the_check_counts_vectors_and_finds_their_faults(root: Path, capsys) -> None:
    """The vectors are part of what is checked."""
    assert main(["spec", "check", "--root", str(root)]) == 0
    assert " vectors; " in capsys.readouterr().out
    path = root / "vectors/sizes.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["vectors"][1]["id"] = document["vectors"][0]["id"]
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["spec", "check", "--root", str(root)]) == 5
    assert "vectors/sizes.json: /number.zero: the id stands twice" in capsys.readouterr().err


def test_a_package_that_cannot_be_written_is_not_frozen(root: Path, capsys, monkeypatch) -> None:
    """An installed package is often read-only; the message says where to freeze."""

    def freeze(root, specification):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("codemode_spec.revisions.freeze", freeze)
    assert main(["spec", "freeze", "--root", str(root)]) == 2
    assert capsys.readouterr().err == (
        f"cmconf: {root}: Permission denied; freeze in a checkout of the sources\n"
    )


def test_faults_and_gaps_are_told_together(root: Path, capsys) -> None:
    """One run shows all of them, whatever else a name holds on one line."""
    (root / "vectors/\x1b[31m\n.json").write_text("{}", encoding="utf-8")
    pending = (root / "pending.yaml").read_text(encoding="utf-8")
    (root / "pending.yaml").write_text(pending.replace("at_most: ", "at_most: 1"), "utf-8")
    assert main(["spec", "check", "--root", str(root)]) == 5
    out, err = capsys.readouterr()
    assert out.startswith("pending.yaml: /at_most: ")
    assert err == (
        "cmconf: specification: vectors/\\x1b[31m\\x0a.json: nobody reads it; remove it\n"
    )


def test_traces_that_cannot_be_written_are_not_searched_for(capsys, monkeypatch) -> None:
    """The search takes minutes; the file is looked at before."""
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["spec", "explore", "--write"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        (
            f"cmconf: {SHIPPED / 'vectors/traces.json'}: it cannot be written; "
            "search in a checkout of the sources\n"
        ),
    )
