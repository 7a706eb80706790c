"""The closed shapes of frames: a legal frame, and each single fault beside it."""

import json

import pytest
from codemode_reference.frames import parse
from codemode_reference.rules import frame_rules
from codemode_spec.tables import load_tables

LARGEST = 2**53 - 1
EXECUTE = {
    "type": "execute",
    "v": 1,
    "invocation_id": 1,
    "source": "return 1",
    "limits": {"host_calls": 1},
    "alternatives": {"script_style": "async", "options": []},
    "operations": [{"name": "a", "method": "a", "effect": "read", "arguments": {}}],
}
HOST_CALL = {
    "type": "host_call",
    "invocation_id": 1,
    "call_id": 1,
    "operation": "a",
    "arguments": None,
}
REPLY = {
    "type": "host_result",
    "invocation_id": 1,
    "call_id": 1,
    "ok": True,
    "value_present": True,
    "value": None,
}
FAILED = {"code": "operation_failed", "operation": "a"}
REFUSED = {
    **{name: item for name, item in REPLY.items() if name != "value"},
    "ok": False,
    "value_present": False,
    "error": FAILED,
}
RESULT = {name: item for name, item in REPLY.items() if name != "call_id"} | {"type": "result"}
REJECTED = {
    "type": "result",
    "invocation_id": LARGEST,
    "ok": False,
    "value_present": False,
    "error": {"code": "code_rejected", "reason": "syntax", "line": 1, "column": 1, "detail": "x"},
}
LEGAL = [EXECUTE, HOST_CALL, REPLY, REFUSED, RESULT, REJECTED]


@pytest.fixture
def rules(profile):
    """The rules of the profile."""
    return frame_rules(load_tables(), profile)


def kind_of(frame, rules):
    """What the parser makes of one frame."""
    return parse(json.dumps(frame).encode(), rules)[0]


@pytest.mark.parametrize("frame", LEGAL)
def test_legal_frames_are_recognized(frame, rules):
    """A legal frame comes back whole under its kind."""
    assert parse(json.dumps(frame).encode(), rules) == (frame["type"], frame)


@pytest.mark.parametrize("frame", LEGAL)
def test_every_field_is_required(frame, rules):
    """Without any one of its fields a frame is malformed."""
    for name in frame:
        rest = {key: item for key, item in frame.items() if key != name}
        assert kind_of(rest, rules) == "malformed", name


@pytest.mark.parametrize("frame", LEGAL)
def test_frames_are_closed(frame, rules):
    """A field too many is malformed, in the frame and in its error."""
    assert kind_of({**frame, "extra": 1}, rules) == "malformed"
    if "error" in frame:
        error = {**frame["error"], "extra": 1}
        assert kind_of({**frame, "error": error}, rules) == "malformed"


@pytest.mark.parametrize("wrong", [True, 1.0, "1", 0, -1, None, LARGEST + 1, [1]])
def test_ids_are_positive_integers(wrong, rules):
    """Ids are integers from 1 to 2**53 - 1 and nothing that equals one."""
    for frame in LEGAL:
        for name in {"invocation_id", "call_id"} & frame.keys():
            assert kind_of({**frame, name: wrong}, rules) == "malformed"


@pytest.mark.parametrize(
    ("frame", "changes"),
    [
        (EXECUTE, {"v": 2}),
        (EXECUTE, {"v": True}),
        (EXECUTE, {"source": None}),
        (EXECUTE, {"limits": [1]}),
        (EXECUTE, {"limits": {"host_calls": True}}),
        (EXECUTE, {"alternatives": []}),
        (EXECUTE, {"alternatives": {"script_style": "sync"}}),
        (EXECUTE, {"alternatives": {"other": "x"}}),
        (EXECUTE, {"operations": {}}),
        (EXECUTE, {"operations": ["a"]}),
        (EXECUTE, {"operations": [{"name": "a", "method": "a", "effect": "both"}]}),
        (EXECUTE, {"operations": [{"name": "a", "method": "a"}]}),
        (EXECUTE, {"operations": [{"name": 1, "method": "a", "effect": "read"}]}),
        (EXECUTE, {"operations": [{**EXECUTE["operations"][0], "arguments": 1}]}),
        (HOST_CALL, {"operation": 1}),
        (REPLY, {"ok": 1}),
        (REPLY, {"value_present": 1}),
        (REPLY, {"value_present": False}),
        (REPLY, {"ok": False}),
        (REPLY, {"error": FAILED}),
        (REFUSED, {"ok": True}),
        (REFUSED, {"value_present": True}),
        (REFUSED, {"value": 1}),
        (REFUSED, {"error": None}),
        (REFUSED, {"error": {}}),
        (REFUSED, {"error": {"code": 1}}),
        (REFUSED, {"error": {"code": "no_such_code"}}),
        (REFUSED, {"error": {"code": "operation_failed"}}),
        (REFUSED, {"error": {**FAILED, "limit": 1}}),
        (REFUSED, {"error": {**FAILED, "message": "x"}}),
        (REFUSED, {"error": {"code": "code_rejected", "reason": "uncaught"}}),
        (REFUSED, {"error": {"code": "host_calls_limit", "operation": "a", "limit": True}}),
        (REFUSED, {"error": {"code": "host_calls_limit", "operation": "a", "limit": -1}}),
        (RESULT, {"value_present": False}),
        (REJECTED, {"error": {"code": "code_rejected"}}),
        (REJECTED, {"error": {"code": "code_rejected", "reason": "other"}}),
        (REJECTED, {"error": {"code": "code_rejected", "reason": 1}}),
        (REJECTED, {"error": {"code": "code_rejected", "reason": "syntax", "line": 0}}),
        (REJECTED, {"error": {"code": "code_rejected", "reason": "syntax", "detail": "x" * 501}}),
        (REJECTED, {"error": {"code": "cancelled"}}),
        (REJECTED, {"error": {"code": "operation_failed", "operation": None}}),
        (
            REJECTED,
            {"error": {"code": "source_bytes_limit", "measured": 2, "limit": 1, "counted": "x"}},
        ),
        (HOST_CALL, {"type": 1}),
    ],
)
def test_one_fault_is_malformed(frame, changes, rules):
    """A legal frame with exactly one fault is no frame."""
    assert kind_of(frame, rules) == frame["type"]
    assert kind_of({**frame, **changes}, rules) == "malformed"


def test_a_success_without_a_value_needs_the_alternative(rules):
    """It is legal for a result where a program may have no value, and nowhere else."""
    absent = {**RESULT, "value_present": False}
    del absent["value"]
    assert kind_of(absent, rules) == "malformed"
    assert kind_of({**absent, "value_present": True}, rules) == "malformed"
    lenient = {**rules, "alternatives": {**rules["alternatives"], "undefined_result": "absent"}}
    assert kind_of(absent, lenient) == "result"
    assert kind_of({**absent, "error": FAILED}, lenient) == "malformed"
    assert kind_of({**absent, "type": "host_result", "call_id": 1}, lenient) == "malformed"


@pytest.mark.parametrize("line", [b"", b"\r", b"[]", b"1", b'"x"', b"{}", b"{bad", b"\xff"])
def test_what_is_no_object_with_a_type_is_malformed(line, rules):
    """A line that is no JSON object with a type is malformed."""
    assert parse(line, rules) == ("malformed", {})


def test_an_unknown_kind_is_told_apart(rules):
    """A kind that nobody knows is its own event."""
    assert parse(b'{"type":"mystery"}', rules) == ("unknown", {})


def test_the_envelope_does_not_count_as_depth(rules):
    """A value may nest 128 levels inside its frame."""
    for depth, kind in ((128, "host_call"), (129, "malformed")):
        line = json.dumps({**HOST_CALL, "arguments": "@"}).replace('"@"', "[" * depth + "]" * depth)
        assert parse(line.encode(), rules)[0] == kind
