"""The packaged bundle: equal to the sources, fast, and refused when damaged or stale."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import codemode_spec
import pytest
from codemode_spec import SpecificationError, bundle

SHIPPED = Path(str(files("codemode_spec")))


@pytest.fixture(scope="module")
def built() -> bytes:
    """The bundle of the shipped sources."""
    return bundle.build()


@pytest.fixture
def packaged(tmp_path, built, monkeypatch) -> Path:
    """A package folder as a wheel brings it, with its bundle."""
    for name, entry in bundle._sources(SHIPPED, ""):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(entry.read_bytes())
    (tmp_path / bundle.NAME).write_bytes(built)
    monkeypatch.setattr(bundle, "files", lambda _: tmp_path)
    return tmp_path


def same(one, other) -> bool:
    """Whether two specifications say the same, the documents of cases included."""
    data = [[case.data for case in each.cases.values()] for each in (one, other)]
    return one == other and one.digests == other.digests and data[0] == data[1]


def test_the_bundle_says_what_the_sources_say(packaged: Path) -> None:
    """Tables, requirements, cases, digests and their order."""
    sources, bundled = codemode_spec.load(), bundle.load_bundle()
    assert same(bundled, sources)
    assert list(bundled.cases) == list(sources.cases)
    assert list(bundled.requirements) == list(sources.requirements)
    assert bundled.cases_digest == sources.cases_digest
    first = next(iter(bundled.requirements.values()))
    assert isinstance(hash(first.roles), int)


def test_it_is_built_the_same_each_time(built: bytes) -> None:
    """The same sources give the same bytes."""
    assert bundle.build() == built


def test_a_fresh_bundle_is_used(packaged: Path, monkeypatch) -> None:
    """The sources are not read where the bundle is of exactly these."""
    monkeypatch.setattr("codemode_spec.specification.load", lambda _: pytest.fail("read"))
    assert bundle.shipped().cases_digest


def test_a_stale_bundle_is_not_used(packaged: Path) -> None:
    """After a change of a source the sources are read."""
    path = packaged / "requirements/src.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("text: ", "text: Now ", 1), encoding="utf-8")
    assert any(item.text.startswith("Now ") for item in bundle.shipped().requirements.values())


def test_without_a_bundle_the_sources_are_read(packaged: Path) -> None:
    """A checkout has none."""
    (packaged / bundle.NAME).unlink()
    assert same(bundle.shipped(), codemode_spec.load())
    with pytest.raises(SpecificationError, match="No such file"):
        bundle.load_bundle()


@pytest.mark.parametrize("where", [0, 5, 11, 40, 75, 76, 77, 5_000, -2, -1])
def test_one_changed_byte_is_refused(packaged: Path, built: bytes, where: int) -> None:
    """A damaged bundle is an error with its name, never half a specification."""
    data = bytearray(built)
    data[where] ^= 1
    (packaged / bundle.NAME).write_bytes(data)
    for read in (bundle.load_bundle, bundle.shipped):
        with pytest.raises(SpecificationError, match=r"bundle\.json: its digest is wrong; install"):
            read()


@pytest.mark.parametrize("keep", [0, 10, 75, 77, 1_000, -1])
def test_a_cut_bundle_is_refused(packaged: Path, built: bytes, keep: int) -> None:
    """Also an empty one."""
    (packaged / bundle.NAME).write_bytes(built[:keep])
    with pytest.raises(SpecificationError, match="its digest is wrong"):
        bundle.shipped()


def test_another_format_is_refused(packaged: Path, monkeypatch) -> None:
    """A bundle of a later format is not guessed at."""
    monkeypatch.setattr(bundle, "_FORMAT", 2)
    with pytest.raises(SpecificationError, match="its format is not 2"):
        bundle.load_bundle()


def test_every_source_counts(packaged: Path) -> None:
    """The digest changes with each file from which the specification is made."""
    whole = bundle.sources_digest(packaged)
    names = [name for name, _ in bundle._sources(packaged, "")]
    assert {"policy.json", "cases/src.yaml", "schema/case.schema.json", "expansion.py"} <= {*names}
    for name in names:
        path = packaged / name
        data = path.read_bytes()
        path.write_bytes(data + b" ")
        assert bundle.sources_digest(packaged) != whole, name
        path.write_bytes(data)
    assert bundle.sources_digest(packaged) == whole


def test_it_is_read_without_yaml_and_schemas(tmp_path, built: bytes) -> None:
    """A cold process imports neither, and is done soon (measured: about 0.07 s)."""
    (tmp_path / bundle.NAME).write_bytes(built)
    program = (
        "import sys, pathlib; from codemode_spec import load_bundle\n"
        f"assert load_bundle(pathlib.Path({str(tmp_path / bundle.NAME)!r})).cases\n"
        "print(sorted({'yaml', 'jsonschema', 'referencing'} & sys.modules.keys()))"
    )
    started = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
    assert time.monotonic() - started < 5


def test_the_command_compares_a_package_with_its_sources(packaged: Path, capsys) -> None:
    """Equal and fresh is 0; anything else is said, and 1."""
    assert bundle._main() == 0
    assert "equal to its sources, fresh" in capsys.readouterr().out
    path = packaged / "requirements/src.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "# a remark\n", encoding="utf-8")
    assert bundle._main() == 1
    assert "NOT fresh" in capsys.readouterr().out
