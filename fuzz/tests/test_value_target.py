"""Host values: each oracle can fail, and texts build what they say."""

import math

import pytest
from codemode_fuzz.finding import Finding
from codemode_fuzz.value import oracle
from codemode_fuzz.value.building import ODDS, build
from codemode_fuzz.value.oracle import Values, check_value
from codemode_reference.values import NotJSONError, encode, measure


def characters(value, depth):
    """Counts characters."""
    return len(encode(value, depth).decode())


def lenient(value, depth):
    """Takes what the standard library takes."""
    try:
        return measure(value, depth)
    except NotJSONError:
        return 3


def strict(value, depth):
    """Refuses what is legal."""
    if value == 1.0:
        raise NotJSONError("whole")
    return measure(value, depth)


def careless(value, depth):
    """Lets an exception of its own out."""
    return measure(value, depth) if isinstance(value, str) else value.no_such_thing


def slow(value, depth):
    """Takes a second and more."""
    sum(range(5_000_000))
    return measure(value, depth)


def with_space(value, depth):
    """Is not compact, and measures so."""
    return encode(value, depth) + b" "


def zero(value, depth):
    """Writes another number."""
    return encode(value, depth).replace(b"1", b"0")


def unsorted(value, depth):
    """Writes one value in two ways."""
    text = encode(value, depth)
    return b'"\\u0061"' if text == b'"aaaaaa"' else text


BROKEN = [
    ("characters", Values(measure=characters), '"é"'.encode(), "size"),
    ("lenient", Values(measure=lenient), b"NaN", "model"),
    ("strict", Values(measure=strict), b"1.0", "model"),
    ("careless", Values(measure=careless), b"1", "exception"),
    ("with space", Values(encode=with_space), b"1", "size"),
    ("zero", Values(encode=zero), b"1", "round-trip"),
    ("no text", Values(encode=lambda value, depth: b"}"), b"1", "round-trip"),
    (
        "two texts",
        Values(encode=lambda value, depth: b"1e0" if value else b""),
        b"100",
        "round-trip",
    ),
    ("raising", Values(encode=careless), b"1", "exception"),
]


@pytest.mark.parametrize(
    ("subject", "data", "name"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_broken_values_are_found(subject, data, name):
    """The oracle that the fault breaks names it; the reference passes the same input."""
    check_value(data)
    with pytest.raises(Finding) as caught:
        check_value(data, subject)
    assert caught.value.oracle == name


def test_slow_values_are_found(monkeypatch):
    """Processor time is bounded, whatever a value shares."""
    monkeypatch.setattr(oracle, "_SECONDS", 0.01)
    with pytest.raises(Finding) as caught:
        check_value(b'"x"', Values(measure=slow))
    assert caught.value.oracle == "time"


def test_texts_build_values():
    """JSON, what JSON cannot say, and anything else as text."""
    assert build(b'{"@nest":[3,1,"o"]}') == {"a": {"a": {"a": 1}}}
    assert build(b'{"@nest":[2,1]}') == [[1]]
    shared = build(b'{"@times":[3,[]]}')
    assert shared == [[], [], []]
    assert shared[0] is shared[2]
    assert build(b'{"@text":[3,"ab"]}') == "ababab"
    assert build(b'{"@odd":"no such"}') == {"@odd": "no such"}
    assert math.isnan(build(b"NaN"))
    assert build(b"no json") == "no json"
    assert build(b"\xff") == "\udcff"
    for name in ODDS:
        build(f'{{"@odd":"{name}"}}'.encode())
        check_value(f'[{{"@odd":"{name}"}}]'.encode())
