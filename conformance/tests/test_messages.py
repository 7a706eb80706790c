"""Lines of the adapter are believed only with the key, and only when they keep to the schema."""

import json
from typing import Any

import pytest
from codemode_conformance.failures import HarnessError
from codemode_conformance.messages import BrokenLineError, decode, encode, new_key

KEY = "a-key-of-this-test"


def line(**fields: Any) -> bytes:
    """A line of the adapter."""
    return json.dumps(
        {"m": "outcome", "k": KEY, "r": 1, "ok": True, "present": True, **fields}
    ).encode()


def test_a_message_with_the_key_is_read() -> None:
    """The plain case."""
    assert decode(line(value=[1, "a"]), KEY) == {
        "m": "outcome",
        "k": KEY,
        "r": 1,
        "ok": True,
        "present": True,
        "value": [1, "a"],
    }


@pytest.mark.parametrize(
    "data",
    [
        b"hello",
        b'{"m": "outcome", "r": 1, "ok": true, "present": false}',
        b'{"m": "outcome", "k": "wrongwrong", "r": 1, "ok": true, "present": false}',
        json.dumps({"k": "other", "text": KEY}).encode(),
        json.dumps([KEY]).encode(),
        b"\xff\xfe",
    ],
)
def test_a_line_without_the_key_is_noise(data: bytes) -> None:
    """A program may print anything; the key elsewhere in a line does not count."""
    assert decode(data, KEY) is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (line(value=float("nan")), "NaN is not JSON"),
        (line(value=1).replace(b'"value": 1', b'"value": 1e999'), "too large"),
        (line(value=1).replace(b'"r": 1', b'"r": 1, "r": 2'), "stands twice"),
        (line(value=1)[:-1], "no strict JSON"),
        (line(value="\xff").replace(b"\\u00ff", b"\xff"), "no strict JSON"),
        (line(value=1, extra=2), "extra"),
        (line(), "value"),
        (line(value=1, m="shout"), "no message 'shout'"),
        (line(value=1, m="open"), "no message 'open'"),
        (line(value=1, m=[]), "no message \\[\\]"),
        (line(value=1, m={"m": "call"}), "no message {"),
    ],
)
def test_a_line_with_the_key_must_be_a_message(data: bytes, reason: str) -> None:
    """What carries the key and breaks JSON or schema is a fault of the adapter."""
    with pytest.raises(BrokenLineError, match=reason):
        decode(data, KEY)


def test_the_sign_of_zero_survives() -> None:
    """`-0` is read as a negative zero, `0` as an integer."""
    message = decode(line(value=1).replace(b'"value": 1', b'"value": [-0, 0]'), KEY)
    assert message is not None
    assert repr(message["value"]) == "[-0.0, 0]"


@pytest.mark.parametrize("depth", [128, 5_000, 100_000])
def test_a_value_nested_too_deeply_to_be_read_is_marked(depth: int) -> None:
    """It comes through, cut and marked odd, however deep it is."""
    nested = b"[" * depth + b'"]"' + b"]" * depth
    message = decode(line(value=1).replace(b'"value": 1', b'"value": ' + nested), KEY)
    assert message is not None
    assert ("odd" in message) is (depth > 128)
    assert message.get("odd", [[[], "unknown"]]) == [[[], "unknown"]]


def test_our_own_messages_are_checked() -> None:
    """A message that breaks the schema is a fault of the harness."""
    assert encode({"m": "ping", "n": 1}) == b'{"m":"ping","n":1}\n'
    with pytest.raises(HarnessError, match="/n"):
        encode({"m": "ping", "n": -1})
    with pytest.raises(HarnessError, match="cannot be written"):
        encode({"m": "ping", "n": float("inf")})


def test_keys_are_not_repeated() -> None:
    """Each adapter gets its own."""
    assert len({new_key() for _ in range(100)}) == 100
