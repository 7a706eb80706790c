"""What an accepted frame must be, also where both readings were to make the same mistake."""

import pytest
from codemode_fuzz import oracles, reading
from codemode_fuzz.decoder import RULES, Decoder
from codemode_fuzz.oracles import Finding

CALL = {
    "type": "host_call",
    "invocation_id": 1,
    "call_id": 1,
    "operation": "a",
    "arguments": None,
}
DEEP = []
for _ in range(128):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("changes", "oracle"),
    [
        ({"call_id": True}, "id"),
        ({"call_id": 1.0}, "id"),
        ({"call_id": 2**53}, "id"),
        ({"invocation_id": 0}, "id"),
        ({"arguments": float("nan")}, "value"),
        ({"arguments": [float("inf")]}, "value"),
        ({"arguments": {"\ud800": 1}}, "value"),
        ({"arguments": ["\udfff"]}, "value"),
        ({"arguments": b""}, "value"),
        ({"arguments": DEEP}, "depth"),
        ({"extra": 1}, "schema"),
        ({"type": "result"}, "outcome"),
    ],
)
def test_a_wrong_frame_is_found(changes, oracle, monkeypatch):
    """Ids, values, depth and the schema are looked at without the second reading."""
    frame = CALL | changes
    decoder = Decoder(parse=lambda line, rules: ("host_call", frame))
    monkeypatch.setattr(reading, "frame", lambda line: (("host_call", frame),) * 2)
    with pytest.raises(Finding) as caught:
        oracles.check_frames(b"{}\n", decoder)
    assert caught.value.oracle == oracle


def test_a_frame_that_does_not_come_back_is_found(monkeypatch):
    """An accepted frame is the same after encoding and decoding."""
    answers = iter([("host_call", CALL), ("malformed", {})])
    decoder = Decoder(parse=lambda line, rules: next(answers))
    monkeypatch.setattr(reading, "frame", lambda line: (("host_call", CALL),) * 2)
    with pytest.raises(Finding) as caught:
        oracles.check_frames(b"{}\n", decoder)
    assert caught.value.oracle == "round-trip"


def test_an_end_that_stops_elsewhere_is_found(monkeypatch):
    """The transition table and the second reading agree on every stream."""
    assert RULES["version"] == 1
    monkeypatch.setattr(reading, "taken", lambda end, kinds: (len(kinds), None))
    with pytest.raises(Finding) as caught:
        oracles.check_frames(b"{}\n")
    assert caught.value.oracle == "ends"
