"""The files of vectors: what is generated follows from the tables, and planted faults are found."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from codemode_spec.tables import load_tables
from codemode_spec.vectors import NAMES, checking, generated, load_vectors, write
from codemode_spec.vectors.lines import line_bytes

SHIPPED = Path(str(files("codemode_spec")))
TABLES = load_tables()
FRAMES = load_vectors("frames")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the vectors, to plant a fault in."""
    shutil.copytree(SHIPPED / "vectors", tmp_path / "vectors")
    return tmp_path


def faults(root: Path) -> str:
    """What is found below a folder."""
    return "\n".join(map(str, checking.problems(root, TABLES)))


def test_the_shipped_vectors_are_right(copy: Path) -> None:
    """Every file is valid, and the generated ones are what the tables give."""
    assert faults(copy) == ""
    assert {"frames", "policy"} == generated().keys()
    assert all(load_vectors(name)["vectors"] for name in NAMES)


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("frames", '"format": 1', '"format": 2', "1 was expected"),
        ("frames", '"event": "execute"}', '"event": "exec"}', "'exec' is not one of"),
        ("frames", '"beside": "execute.legal"', '"beside": "nothing"', "nothing is no legal"),
        ("frames", '"beside": "execute.legal"', '"beside": "execute.without-v"', "is no legal"),
        ("frames", '{"shared": "limits"}', '{"shared": "nothing"}', "a part of its text does not"),
        ("frames", '"invocation_id\\":7', '"invocation_id\\":8', "does not follow from the tables"),
        ("frames", "return 1", "return\\n", "a line holds no LF"),
        ("policy", '"field": "source_bytes"', '"field": "source"', "does not follow from"),
        (
            "policy",
            '"profile": "inline-sync"',
            '"profile": "outline"',
            "there is no profile outline",
        ),
        ("sizes", '"id": "number.ten"', '"id": "number.zero"', "/number.zero: the id stands twice"),
        ("sizes", '"size": 1}', '"size": 0}', "0 is less than the minimum"),
        ("sizes", '"size": 1}', '"refused": "too_deep"}', "'size' is a required property"),
        (
            *("sizes", '"id": "number.zero", "json": "0", "text": "0", "size": 1}'),
            '"id": "number.zero", "json": "0", "text": "0", "size": 2}',
            "/number.zero/size: the size is 1, not 2",
        ),
        (
            *("values", '"accepted": true, "size": 4}', '"accepted": true, "size": 5}'),
            "/accepted.true/size: the size is 4, not 5",
        ),
        (
            *("traces", '"state": "running"', '"state": "ended"'),
            "/digest: the traces are not those that a search has written; run",
        ),
        (
            *("traces", '"rules": "', '"rules": "' + "0" * 64 + '", "_": "'),
            "('_' was unexpected)",
        ),
        ("values", '"places": ["host"]', '"places": ["guest"]', "'guest' is not one of"),
        ("values", '"javascript": "null", ', "", "'javascript' is a required property"),
    ],
)
def test_a_planted_fault_is_found(copy: Path, name, old, new, expected) -> None:
    """The file and the reason are named."""
    path = copy / "vectors" / f"{name}.json"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    found = faults(copy)
    assert f"vectors/{name}.json" in found
    assert expected in found


def test_traces_are_of_these_tables(copy: Path) -> None:
    """After a change of a table the model is searched again."""
    swapped = list(TABLES.places["tool_call"].checks)
    swapped[0], swapped[1] = swapped[1], swapped[0]
    place = replace(TABLES.places["tool_call"], checks=tuple(swapped))
    tables = replace(TABLES, places={**TABLES.places, "tool_call": place})
    assert [str(fault) for fault in checking.problems(copy, tables)] == [
        (
            "vectors/traces.json: /rules: the tables have changed since; "
            "run `cmconf spec explore --write`"
        )
    ]


def test_a_file_that_nobody_reads_is_found(copy: Path) -> None:
    """And one that is to be read and is not there."""
    (copy / "vectors/more.json").write_text("{}", encoding="utf-8")
    (copy / "vectors/README.md").unlink()
    assert faults(copy).splitlines() == [
        "vectors/more.json: nobody reads it; remove it",
        "vectors/README.md: there is no such file",
    ]


def test_a_missing_file_is_found(copy: Path) -> None:
    """No file of vectors is left out silently."""
    (copy / "vectors/values.json").unlink()
    assert faults(copy) == "vectors/values.json: there is no such file"


def test_parts_of_a_line_become_bytes() -> None:
    """Text in UTF-8, repeated text, bytes, shared text."""
    parts = ["\u00e9", {"repeat": "ab", "times": 2}, {"base64": "/w=="}, {"shared": "x"}]
    assert line_bytes(parts, {"x": "!"}) == b"\xc3\xa9abab\xff!"
    assert line_bytes("a", {}) == b"a"
    with pytest.raises(ValueError, match="no part of a line"):
        line_bytes([{"repeat": "a"}], {})


def test_every_kind_field_and_code_has_vectors() -> None:
    """Each frame kind without each of its fields, and each code in each kind of frame."""
    ids = {vector["id"] for vector in FRAMES["vectors"]}
    fields = {
        "execute": "type v invocation_id source limits alternatives operations",
        "host_call": "type invocation_id call_id operation arguments",
        "host_batch": "type invocation_id call_id calls",
        "progress": "type invocation_id current",
        "host_result": "type invocation_id call_id ok value_present value",
        "result": "type invocation_id ok value_present value",
    }
    for kind, names in fields.items():
        assert {f"{kind}.without-{name}" for name in names.split()} <= ids
        assert {f"{kind}.legal", f"{kind}.unknown-field"} <= ids
    for code, entry in TABLES.errors.items():
        for kind in ("host_result", "result"):
            legal = kind in entry.frames
            assert (f"{kind}.{code}" in ids) == legal, code
            assert (f"{kind}.code-{code}" in ids) != legal, code


def test_a_refused_frame_stands_beside_a_legal_one_at_the_same_end() -> None:
    """Beside each fault there is the frame that would be taken."""
    by_id = {vector["id"]: vector for vector in FRAMES["vectors"]}
    for vector in by_id.values():
        if "reason" in vector and vector["reason"] != "direction":
            assert by_id[vector["beside"]]["to"] == vector["to"], vector["id"]


def test_lines_at_the_limit_have_its_length() -> None:
    """The longest line has exactly the bytes of the row, the one beside it one more."""
    limit = TABLES.profiles[FRAMES["profile"]].rows["ipc_frame_bytes"].absolute_maximum
    for vector in FRAMES["vectors"]:
        length = len(line_bytes(vector["line"], FRAMES["shared"]))
        if vector["id"].startswith("length."):
            assert length == limit + (vector["event"] == "oversized"), vector["id"]
        else:
            assert length <= limit, vector["id"]


def test_the_files_keep_a_line_for_each_vector() -> None:
    """A change of one vector shows as one changed line."""
    for name in NAMES:
        text = (SHIPPED / "vectors" / f"{name}.json").read_text(encoding="ascii")
        lines = [line for line in text.splitlines() if line.startswith('    {"id": ')]
        assert [json.loads(line.removesuffix(",")) for line in lines] == json.loads(text)["vectors"]


def test_the_generated_files_are_written(tmp_path: Path) -> None:
    """What is written is what is shipped."""
    paths = write(tmp_path)
    assert [path.name for path in paths] == ["frames.json", "policy.json"]
    for path in paths:
        assert path.read_bytes() == (SHIPPED / "vectors" / path.name).read_bytes()
