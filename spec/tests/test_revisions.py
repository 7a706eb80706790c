"""Frozen revisions: released ones stay, retired ids stay retired, drafts may be frozen again."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import codemode_spec
import pytest
from codemode_spec import SpecificationError, revisions

SHIPPED = Path(str(files("codemode_spec")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the shipped data with no frozen revision."""
    place = tmp_path / "spec"
    shutil.copytree(SHIPPED, place, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for path in (place / "revisions").iterdir():
        path.unlink()
    write(place / "revisions/index.json", {"format": 1, "revisions": []})
    ledger(place, "1-draft.1")
    return place


def write(path: Path, document) -> None:
    """Write a document."""
    path.write_text(json.dumps(document), encoding="utf-8")


def ledger(root: Path, revision: str, *retired: str) -> None:
    """Set the current revision and the retired ids."""
    write(root / "revision.json", {"format": 1, "revision": revision, "retired": list(retired)})


def edit(path: Path, old: str, new: str) -> None:
    """Replace one place of a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def freeze(root: Path) -> Path:
    """Freeze the current revision."""
    return revisions.freeze(root, codemode_spec.load(root))


def faults(root: Path) -> list[str]:
    """What is found."""
    return [str(problem) for problem in revisions.problems(root, codemode_spec.load(root))]


def test_the_shipped_revisions_are_right() -> None:
    """What is released is unchanged, and nothing of it is lost."""
    assert revisions.problems(SHIPPED, codemode_spec.load()) == []


def test_a_draft_may_be_frozen_again(root: Path) -> None:
    """A draft promises nothing: changed, it is frozen anew, and one file stands in the index."""
    path = freeze(root)
    before = json.loads(path.read_text(encoding="utf-8"))
    edit(root / "requirements/src.yaml", "text: ", "text: Now ")
    assert faults(root) == []
    assert freeze(root) == path
    after = json.loads(path.read_text(encoding="utf-8"))
    changed = {n for n, d in after["requirements"].items() if before["requirements"][n] != d}
    assert len(changed) == 1
    assert (before["cases"], before["retired"]) == (after["cases"], after["retired"])
    index = json.loads((root / "revisions/index.json").read_text(encoding="utf-8"))
    assert [entry["revision"] for entry in index["revisions"]] == ["1-draft.1"]


def test_freezing_writes_the_same_bytes_again(root: Path) -> None:
    """Unchanged sources give an unchanged file."""
    path = freeze(root)
    data = path.read_bytes()
    freeze(root)
    assert path.read_bytes() == data


def test_reasons_may_be_reworded_and_what_is_asked_may_not(root: Path) -> None:
    """The digest of a requirement covers what it asks, and not why."""
    ledger(root, "1")
    freeze(root)
    edit(root / "requirements/src.yaml", "why: ", "why: Well, ")
    assert faults(root) == []
    edit(root / "requirements/src.yaml", "level: MUST", "level: SHOULD")
    (fault,) = faults(root)
    assert "revision 1 is released with another CM-SRC-" in fault
    with pytest.raises(SpecificationError, match="this revision is released and stays"):
        freeze(root)


def test_a_released_case_does_not_change(root: Path) -> None:
    """The digest of a case covers its program and what is expected."""
    ledger(root, "1")
    freeze(root)
    edit(root / "cases/src.yaml", "value: 1", "value: 2")
    assert any("revision 1 is released with another src." in fault for fault in faults(root))


def test_freezing_a_released_revision_again_changes_nothing(root: Path) -> None:
    """Unchanged, it is frozen already."""
    ledger(root, "1")
    path = freeze(root)
    assert freeze(root) == path
    assert faults(root) == []


def test_a_released_revision_must_be_frozen(root: Path) -> None:
    """A release without its file is told what to do."""
    ledger(root, "1")
    assert faults(root) == [
        "revision.json: /revision: 1 is released but not frozen; run `cmconf spec freeze`"
    ]


def test_a_changed_frozen_file_is_found(root: Path) -> None:
    """Its digest is pinned in the index."""
    ledger(root, "1")
    path = freeze(root)
    ledger(root, "2-draft.1")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["retired"] = ["CM-SRC-900"]
    write(path, document)
    assert faults(root) == [
        "revisions/1.json: the file is not the one that the index pins; restore it"
    ]


def test_a_file_beside_the_index_is_found(root: Path) -> None:
    """Nothing is frozen that the index does not pin, and nothing pinned is missing."""
    path = freeze(root)
    shutil.copy(path, root / "revisions/3.json")
    assert faults(root) == ["revisions/3.json: the index does not name this file"]
    (root / "revisions/3.json").unlink()
    path.unlink()
    assert faults(root) == ["revisions/1-draft.1.json: there is no such file"]


def test_a_file_is_of_the_revision_it_is_named_after(root: Path) -> None:
    """One revision's file does not stand for another's."""
    path = freeze(root)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["revision"] = "2"
    write(path, document)
    assert "revisions/1-draft.1.json: /revision: it is not 1-draft.1" in faults(root)


def test_a_released_id_is_kept_or_retired(root: Path) -> None:
    """An id that is gone stands in the ledger, then and in every later revision."""
    ledger(root, "1")
    freeze(root)
    ledger(root, "2-draft.1")
    edit(root / "cases/src.yaml", "id: src.edge\n", "id: src.border\n")
    (fault, *_) = faults(root)
    assert fault.startswith("revision.json: /retired: src.edge")
    assert fault.endswith("of released revision 1 is gone; keep it or retire it here")
    gone = [fault.split()[2] for fault in faults(root)]
    ledger(root, "2-draft.1", *gone)
    assert faults(root) == []
    freeze(root)
    ledger(root, "2", *gone)
    freeze(root)
    ledger(root, "3-draft.1")
    assert any("was retired by revision 2 and stays in the ledger" in f for f in faults(root))


def test_a_retired_id_is_not_used_again(root: Path) -> None:
    """An id means one thing for ever."""
    ledger(root, "1-draft.1", "CM-SRC-001")
    expected = "revision.json: /retired: CM-SRC-001 is retired and must not be used again"
    assert faults(root) == [expected]
    with pytest.raises(SpecificationError, match="must not be used again"):
        freeze(root)


def test_an_id_of_a_draft_may_go(root: Path) -> None:
    """A draft promises nothing."""
    freeze(root)
    ledger(root, "1-draft.2")
    edit(root / "cases/src.yaml", "id: src.edge\n", "id: src.border\n")
    assert faults(root) == []


def test_the_current_revision_is_the_newest(root: Path) -> None:
    """1-draft.1 < 1-draft.10 < 1 < 2-draft.1."""
    ledger(root, "1")
    freeze(root)
    for older in ("1-draft.1", "1-draft.10"):
        ledger(root, older)
        assert faults(root) == [f"revision.json: /revision: {older} is older than 1"]
    ledger(root, "2-draft.1")
    assert faults(root) == []
    freeze(root)
    index = json.loads((root / "revisions/index.json").read_text(encoding="utf-8"))
    assert [entry["revision"] for entry in index["revisions"]] == ["1", "2-draft.1"]


def test_a_frozen_file_follows_its_schema(root: Path) -> None:
    """What is written by hand into the folder is checked like the rest."""
    path = freeze(root)
    write(path, {"format": 1})
    assert any("is a required property" in fault for fault in faults(root))
