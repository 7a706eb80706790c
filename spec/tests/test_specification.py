"""The shipped specification is valid, and each planted fault is found and named."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import codemode_spec
import pytest
from codemode_spec.schemas import problems, schema, schema_names, validator
from jsonschema import Draft202012Validator

SHIPPED = Path(str(files("codemode_spec")))


@pytest.fixture(scope="module")
def specification() -> codemode_spec.Specification:
    """The shipped specification."""
    return codemode_spec.load()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the shipped data, to plant a fault in."""
    root = tmp_path / "spec"
    shutil.copytree(SHIPPED, root, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return root


def edit(path: Path, old: str, new: str) -> None:
    """Replace exactly one place of a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_every_schema_is_valid_and_closed() -> None:
    """Schemas follow 2020-12, and can be found by their name."""
    assert {"case", "frame", "policy", "report", "target", "adapter"} <= set(schema_names())
    for name in schema_names():
        Draft202012Validator.check_schema(schema(name))
        assert schema(name)["$id"].endswith(f"/{name}.schema.json")


def test_the_shipped_specification_loads(specification) -> None:
    """No fault, and cases of every kind of boundary."""
    assert list(specification.cases) == sorted(specification.cases)
    areas = {case.area for case in specification.cases.values()}
    assert {"SRC", "ISO", "TIM", "MEM", "CAL", "DAT", "VAL", "RET", "ERR"} <= areas
    for area in areas:
        entries = [c for c in specification.cases.values() if c.area == area]
        assert len({c.id.split(".")[1] for c in entries}) >= 2, area


PLANTED = [
    ("policy.json", '"default": 32768', '"default": 32769', "/rows/source_bytes: minimum <="),
    ("policy.json", '"default": 32768', '"default": true', "/rows/0/default: True is not of type"),
    ("policy.json", '"fixed": false', '"fixed": true', "a fixed row has one value"),
    ("policy.json", '"zero_allowed": false', '"zero_allowed": true', "a minimum of 0 go together"),
    (
        "policy.json",
        '"error": "source_bytes_limit"',
        '"error": "nope"',
        "nope is not in errors.json",
    ),
    ("policy.json", '"minimum": "host_result_bytes"', '"minimum": "nope"', "nope, which is no row"),
    ("errors.json", '"category": "by_reason"', '"category": "script"', "by_reason and category"),
    ("errors.json", "{measured} bytes; the limit", "{pages} bytes; the limit", "uses pages, no"),
    ("errors.json", '"code": "cancelled"', '"kode": "cancelled"', "'kode' was unexpected"),
    ("protocol.json", '"next": "running"', '"next": "nowhere"', "nowhere is no state"),
    ("protocol.json", '"error": "worker_exited"', '"error": "nope"', "nope is not in errors.json"),
    ("protocol.json", '"exit_wait_over": {', '"exit_wait_ovr": {', "there is no answer"),
    ("protocol.json", '"exit_wait_over": {', '"exit_wait_ovr": {', "no such state or event"),
    ("alternatives.json", '"stall"', '"stahl"', "stahl is not chosen"),
    ("profiles/process-async.json", '"async"', '"fast"', "'fast' is not one of: async, sync"),
    ("profiles/process-async.json", '"rows": {}', '"rows": {"x": {}}', "no such row for it"),
    ("requirements/src.yaml", "CM-SRC-002", "CM-SRC-001", "/CM-SRC-001: the id stands in"),
    ("requirements/src.yaml", "CM-SRC-001", "CM-ISO-099", "does not belong to area SRC"),
    ("requirements/src.yaml", "class: budgets", "class: nice", "'nice' is not one of"),
    ("cases/src.yaml", "id: src.edge", "id: src.over", "/src.over: the id stands in"),
    ("cases/src.yaml", "id: src.edge", "id: iso.edge", "does not belong to area SRC"),
    (
        "cases/src.yaml",
        "CM-SRC-001, value",
        "CM-SRC-777, value",
        "there is no requirement CM-SRC-777",
    ),
    ("cases/src.yaml", "value: 1", "value: 1\n    within: 1", "'within' was unexpected"),
    ("cases/src.yaml", "effective: [source_bytes]", "effective: [bytes]", "bytes is no row"),
    ("cases/src.yaml", "@{source_bytes - w", "@{sauce - w", "a template uses sauce"),
    ("cases/src.yaml", "@{source_bytes - w", "@{source_bytes / w", "may use integers"),
    (
        "cases/src.yaml",
        "outcome: value\n    value: 1",
        "outcome: value",
        "value: nothing is expected",
    ),
    ("cases/tim.yaml", "code: deadline_exceeded", "code: deadline", "there is no code deadline"),
    ("cases/tim.yaml", "stall: [at_once]", "stall: [later]", "'later' is not one of"),
    ("cases/cal.yaml", "exhaustion: terminal", "exhaustion: catchable", "2 blocks of the expect"),
    ("cases/cal.yaml", "op: echo, count", "op: echo, kount", "'kount' was unexpected"),
    ("revision.json", "1-draft.1", "one", "'one' does not match"),
]


@pytest.mark.parametrize(("file", "old", "new", "reason"), PLANTED)
def test_a_planted_fault_is_refused_with_file_path_and_reason(
    copy: Path, file: str, old: str, new: str, reason: str
) -> None:
    """An invalid specification does not load, and the message says where it is wrong."""
    edit(copy / file, old, new)
    with pytest.raises(codemode_spec.SpecificationError) as caught:
        codemode_spec.load(copy)
    told = [str(problem) for problem in caught.value.problems]
    assert any(reason in line for line in told), told
    assert any(line.startswith((file, "profiles/")) for line in told), told


def test_several_faults_are_told_at_once(copy: Path) -> None:
    """One run shows all of them."""
    edit(copy / "policy.json", '"unit": "bytes"', '"unit": "bites"')
    edit(copy / "cases/src.yaml", "format: 1", "format: 2")
    (copy / "cases/iso.yaml").write_text("a: [\n", encoding="utf-8")
    with pytest.raises(codemode_spec.SpecificationError) as caught:
        codemode_spec.load(copy)
    assert {problem.file for problem in caught.value.problems} == {
        *("policy.json", "cases/src.yaml", "cases/iso.yaml"),
    }


def test_a_missing_folder_is_told(copy: Path) -> None:
    """The layout is part of the format."""
    shutil.rmtree(copy / "cases")
    with pytest.raises(codemode_spec.SpecificationError, match="cases: there is no such folder"):
        codemode_spec.load(copy)


def test_cases_of_another_file_are_checked_alike(tmp_path: Path, specification) -> None:
    """A user's own cases load against the shipped requirements."""
    file = tmp_path / "mine.yaml"
    text = (SHIPPED / "cases/src.yaml").read_text(encoding="utf-8")
    file.write_text(text.split("- id: src.over\n")[0], encoding="utf-8")
    assert list(codemode_spec.load_cases(file, "mine.yaml", specification)) == ["src.edge"]
    edit(file, "CM-SRC-001", "CM-SRC-555")
    with pytest.raises(codemode_spec.SpecificationError, match=r"mine.yaml: /src.edge/requirem"):
        codemode_spec.load_cases(file, "mine.yaml", specification)


LEGAL_FRAMES = [
    {"type": "host_call", "invocation_id": 1, "call_id": 1, "operation": "x", "arguments": {}},
    {"type": "result", "invocation_id": 1, "ok": True, "value_present": True, "value": None},
    {"type": "result", "invocation_id": 1, "ok": True, "value_present": False},
    {
        "type": "host_result",
        "invocation_id": 1,
        "call_id": 1,
        "ok": False,
        "value_present": False,
        "error": {"code": "operation_failed", "operation": "x"},
    },
]
FAULTS = [
    (1, {"value_present": False}),
    (1, {"error": {"code": "x"}}),
    (1, {"invocation_id": 0}),
    (1, {"invocation_id": 2**53}),
    (1, {"extra": 1}),
    (2, {"value": 1}),
    (3, {"value": 1}),
    (3, {"ok": True}),
    (0, {"call_id": "1"}),
    (0, {"type": "progress"}),
]


@pytest.mark.parametrize("frame", LEGAL_FRAMES, ids=lambda frame: frame["type"])
def test_legal_frames_fit_the_schema(frame: dict[str, object]) -> None:
    """The frame schema accepts what decisions allow."""
    assert problems("frame", frame, "frame") == []


@pytest.mark.parametrize(("number", "fault"), FAULTS)
def test_a_frame_with_one_fault_does_not_fit(number: int, fault: dict[str, object]) -> None:
    """Presence, closedness and bounds are in the schema."""
    assert not validator("frame").is_valid({**LEGAL_FRAMES[number], **fault})


def test_digests_do_not_depend_on_yaml_text(copy: Path, specification) -> None:
    """Another notation of the same case has the same digest; another value has not."""
    edit(copy / "cases/src.yaml", "effective: [source_bytes]", "effective:\n  - source_bytes")
    same = codemode_spec.load(copy)
    assert same.cases_digest == specification.cases_digest
    edit(copy / "cases/src.yaml", "value: 42", "value: 43")
    other = codemode_spec.load(copy)
    assert {n for n in other.digests if other.digests[n] != specification.digests[n]} == {
        "src.trailing-comment"
    }
    assert other.cases_digest != specification.cases_digest


def test_the_tables_agree_with_their_files() -> None:
    """`load_tables` gives what stands in the data."""
    tables = codemode_spec.load_tables()
    policy = json.loads((SHIPPED / "policy.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in policy["rows"]] == list(tables.rows)
    profile = tables.profiles["process-async"]
    assert profile.defaults()["host_calls"] == tables.rows["host_calls"].default
    assert "operation_time_ms" not in profile.rows
    rejected = tables.errors["code_rejected"]
    assert rejected.category_of("memory") == "memory"
    assert tables.errors["host_calls_limit"].text({"limit": 3, "operation": "x"}) == (
        "the program made 3 host calls already"
    )


def test_a_code_that_a_program_sees_can_stand_in_its_result() -> None:
    """Uncaught, it reaches the client unchanged, so the worker must be able to send it."""
    errors = codemode_spec.load_tables().errors.values()
    seen = {error.code for error in errors if "script" in error.seen_by}
    assert "pattern_blocked" in seen
    assert {error.code for error in errors if "result" in error.frames} >= seen
    assert all("client" in error.seen_by for error in errors if error.code in seen)
