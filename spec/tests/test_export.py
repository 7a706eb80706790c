"""The exported specification: complete, valid, the same each time, and never over other files."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import codemode_spec
import pytest
from codemode_spec import SpecificationError, digests, schemas
from codemode_spec.export import MANIFEST, export, schema_of


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """An export of the shipped specification."""
    place: Path = tmp_path_factory.mktemp("export") / "new" / "folder"
    export(place)
    return place


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_every_document_is_valid_by_its_schema(exported: Path) -> None:
    """Each JSON file but the schemas has one, and the manifest names it."""
    manifest = json.loads((exported / MANIFEST).read_text(encoding="utf-8"))
    assert schemas.problems("manifest", manifest, MANIFEST) == []
    for path, entry in manifest["files"].items():
        assert entry.get("schema") == schema_of(path)
        plain = path.startswith("schema/") or path.endswith(".md")
        assert (schema_of(path) is None) == plain, path
        if not plain:
            document = json.loads((exported / path).read_text(encoding="utf-8"))
            assert schemas.problems(entry["schema"], document, path) == []


def test_the_manifest_names_every_file_with_its_digest(exported: Path) -> None:
    """Nothing is missing and nothing more is there."""
    found = contents(exported)
    manifest = json.loads(found.pop(MANIFEST))
    assert {path: entry["sha256"] for path, entry in manifest["files"].items()} == {
        path: hashlib.sha256(data).hexdigest() for path, data in found.items()
    }
    specification = codemode_spec.load()
    assert manifest["revision"] == specification.revision
    assert manifest["cases_digest"] == specification.cases_digest


def test_every_requirement_and_case_is_there(exported: Path) -> None:
    """Expanded, with templates kept and filled; a digest can be computed from the filled one."""
    specification = codemode_spec.load()
    found: dict[str, dict[str, dict]] = {}
    for folder in ("cases", "cases-filled"):
        for path in (exported / folder).iterdir():
            document = json.loads(path.read_text(encoding="utf-8"))
            assert document["templates"] == {"cases": "kept"}.get(folder, "filled")
            entries = {entry["id"]: entry for entry in document["cases"]}
            found.setdefault(folder, {}).update(entries)
    assert found["cases"].keys() == found["cases-filled"].keys() == specification.cases.keys()
    for name, entry in found["cases-filled"].items():
        assert digests.digest_of(entry["case"]) == entry["digest"] == specification.digests[name]
        whole = found["cases"][name]["case"]
        if entry["edges"]:
            whole = {**whole, "edges": entry["edges"]}
        assert whole == specification.cases[name].data
        assert [tuple(need) for need in entry["needs"]] == list(specification.cases[name].needs)
    assert "@{" in json.dumps(found["cases"])
    assert "@{source_bytes" not in json.dumps(found["cases-filled"])
    ids = {
        item["id"]
        for path in (exported / "requirements").iterdir()
        for item in json.loads(path.read_text(encoding="utf-8")).get("requirements", [])
    }
    assert ids == specification.requirements.keys()


def test_two_exports_are_the_same_bytes(exported: Path, tmp_path: Path) -> None:
    """Nothing depends on place, time or order."""
    export(tmp_path / "other")
    assert contents(tmp_path / "other") == contents(exported)


def test_an_earlier_export_is_replaced(tmp_path: Path) -> None:
    """Its files go, also those that are no part of the specification any more; others stay."""
    export(tmp_path)
    whole = contents(tmp_path)
    manifest = json.loads(whole[MANIFEST])
    manifest["files"]["cases/old.json"] = {"sha256": "0" * 64}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    (tmp_path / "cases/old.json").write_text("{}", encoding="utf-8")
    (tmp_path / "policy.json").write_text("{}", encoding="utf-8")
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    export(tmp_path)
    assert contents(tmp_path) == {**whole, "mine.txt": b"mine"}


@pytest.mark.parametrize("marker", [None, "{}", "[]", "not json", '{"files": {"a": 1}}'])
def test_a_folder_with_other_files_is_refused(tmp_path: Path, marker: str | None) -> None:
    """Nothing is written where anything else stands, and the message says what to do."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    if marker is not None:
        (tmp_path / MANIFEST).write_text(marker, encoding="utf-8")
    before = contents(tmp_path)
    with pytest.raises(SpecificationError, match=r"choose another folder|line 1|required"):
        export(tmp_path)
    assert contents(tmp_path) == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """It is refused and stays."""
    place = tmp_path / "file"
    place.write_text("mine", encoding="utf-8")
    with pytest.raises(SpecificationError, match="it is no folder"):
        export(place)
    assert place.read_text(encoding="utf-8") == "mine"


def test_a_forged_manifest_removes_nothing_outside(tmp_path: Path) -> None:
    """Paths and links that lead out of the folder are not followed."""
    inside, outside = tmp_path / "export", tmp_path / "outside"
    export(inside)
    outside.mkdir()
    (outside / "mine.txt").write_text("mine", encoding="utf-8")
    (inside / "link").symlink_to(outside)
    manifest = json.loads((inside / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"]["link/mine.txt"] = {"sha256": "0" * 64}
    manifest["files"]["../outside/mine.txt"] = {"sha256": "0" * 64}
    (inside / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    export(inside)
    assert (outside / "mine.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("place", "reason"),
    [("policy.json", "a file belongs here"), ("cases", "a folder belongs here")],
)
@pytest.mark.parametrize("kind", ["link", "other"])
def test_nothing_is_written_through_a_link(tmp_path: Path, place, reason, kind) -> None:
    """Nor over what is no file, or no folder; nothing is written then."""
    inside, outside = tmp_path / "export", tmp_path / "outside"
    export(inside)
    whole = contents(inside)
    (inside / place).rename(outside)
    if kind == "link":
        (inside / place).symlink_to(outside)
    elif outside.is_dir():
        (inside / place).write_text("mine", encoding="utf-8")
    else:
        (inside / place).mkdir()
    (inside / "order.json").write_text("earlier", encoding="utf-8")
    with pytest.raises(SpecificationError, match=f"{place}: {reason}; remove what is there"):
        export(inside)
    assert (inside / "order.json").read_text(encoding="utf-8") == "earlier"
    if outside.is_file():
        assert outside.read_bytes() == whole[place]


def test_the_specification_itself_is_no_place_for_an_export(tmp_path: Path) -> None:
    """A later load would read it; a link to nowhere is none either."""
    inside = Path(str(files("codemode_spec"))) / "cases" / "exported"
    with pytest.raises(SpecificationError, match="it is inside of the specification itself"):
        export(inside)
    assert not inside.exists()
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(SpecificationError, match="it is a link to nowhere"):
        export(tmp_path / "link")


def test_an_export_that_was_interrupted_is_made_again(tmp_path: Path, monkeypatch) -> None:
    """Wherever it stopped, its manifest is there, and shows what is missing."""
    write = Path.write_bytes
    written: list[Path] = []

    def stop(self: Path, data: bytes) -> int:
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(self)
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", stop)
    with pytest.raises(KeyboardInterrupt):
        export(tmp_path)
    monkeypatch.undo()
    assert written[0] == tmp_path / MANIFEST
    assert len(contents(tmp_path)) == 3
    count = export(tmp_path)
    assert len(contents(tmp_path)) == count
