"""The frames that a parent writes."""

import json

import pytest
from codemode_reference import wire
from codemode_reference.codes import Code
from codemode_reference.errors import failure
from codemode_reference.frames import parse
from codemode_reference.rules import frame_rules
from codemode_spec.tables import load_tables


@pytest.fixture
def parts():
    """The bounds of the parts of `execute`."""
    return load_tables().execute_parts


def test_replies_are_legal_frames(profile):
    """What is written parses, with its value or its error."""
    rules = frame_rules(load_tables(), profile)
    kind, frame = parse(wire.host_value(7, 1, b'{"a":null}')[:-1], rules)
    assert (kind, frame["value"], frame["value_present"]) == ("host_result", {"a": None}, True)
    error = failure(Code.operation_failed, operation="é")
    kind, frame = parse(wire.host_error(7, 2, error)[:-1], rules)
    assert (kind, frame["call_id"]) == ("host_result", 2)
    assert frame["error"] == {"code": "operation_failed", "operation": "é"}


def test_execute_is_one_compact_line():
    """The source stands last, as it was encoded."""
    line = wire.execute(wire.execute_head({"v": 1}), 7, b'"return 1"')
    assert line == b'{"type":"execute","v":1,"invocation_id":7,"source":"return 1"}\n'


@pytest.mark.parametrize("source", ["", " \n\t", "\ufeff"[:0]])
def test_an_empty_source_is_refused(source, parts):
    """A source without a character that counts is empty."""
    refused = wire.encode_source(source, 100, parts)
    assert refused.to_json() == {
        "code": "source_empty",
        "message": "the program is empty",
        "measured": len(source),
        "limit": 100,
        "counted": "utf8",
    }


def test_source_bytes_are_utf8_bytes(parts):
    """The limit is exact and counts bytes, not characters."""
    assert json.loads(wire.encode_source("é" * 50, 100, parts)) == "é" * 50
    refused = wire.encode_source("é" * 50 + "x", 100, parts)
    assert (refused.code, refused.fields["measured"]) == ("source_bytes_limit", 101)
    assert refused.fields["counted"] == "utf8"


def test_the_encoded_source_has_its_own_limit(parts):
    """Control characters take six bytes each: their program is too long, not a start failure."""
    refused = wire.encode_source("\x01" * 100, 100, parts)
    assert dict(refused.fields) == {"measured": 602, "limit": 392, "counted": "encoded"}
    assert isinstance(wire.encode_source("\x01" * 65, 100, parts), bytes)


def test_a_source_with_lone_surrogates_is_no_text(parts):
    """It cannot be sent, and it is refused before anything starts."""
    assert wire.encode_source("return '\ud800'", 100, parts).code == "invalid_arguments"
