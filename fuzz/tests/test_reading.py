"""The second reading: what the specification says, without the reference's code."""

import json

import pytest
from codemode_fuzz import reading
from codemode_fuzz.strict_text import Refused, read
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(VALUES, st.booleans())
def test_it_reads_what_json_writes(value, ascii_only):
    """Any value that a strict writer can write comes back."""
    assert read(json.dumps(value, ensure_ascii=ascii_only).encode(), 128) == value


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"\r", b"nul", b"{", b"[1", b"[1,]", b"[,1]", b"{1:2}", b'{"a"}', b'{"a":}', b"1 2"),
        *(b"01", b"1.", b".5", b"+1", b"NaN", b"-Infinity", b"1e999", b"9" * 309, b"9" * 5000),
        *(b"\xef\xbb\xbf1", b"\xff", b'"\xed\xa0\x80"', b'"\xc0\x80"', rb'"\ud800"', rb'"\x41"'),
        *(b'"\x1f"', b'"', rb'"\u12"', rb'{"a":1,"\u0061":2}', b'{"a":1,}', b"\xc2\xa01"),
    ],
)
def test_it_refuses_what_is_not_strict(text):
    """Grammar, UTF-8, duplicate keys, surrogates and numbers beyond a double."""
    with pytest.raises(Refused):
        read(text, 128)


def test_its_depth_is_exact_and_no_text_is_too_deep_for_it():
    """A text as deep as the limit is read; a much deeper one is refused at the limit."""
    assert read(b"[" * 128 + b"]" * 128, 128)
    for text in (b"[" * 129 + b"]" * 129, b"[" * 100_000):
        with pytest.raises(Refused, match="depth"):
            read(text, 128)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"9007199254740993", 9007199254740992.0),
        (b"-0", 0),
        (b"1e-999", 0.0),
        (rb'"\ud83d\ude00\/\n"', "\U0001f600/\n"),
        (b" [ 1 , { } ]\r", [1, {}]),
    ],
)  # fmt: skip
def test_legal_spellings_have_their_value(text, value):
    """Integers that a double cannot hold become the nearest one."""
    found = read(text, 128)
    assert (found, type(found)) == (value, type(value))


def test_lines_end_at_the_first_that_is_too_long():
    """Lines of a whole stream, by a single split."""
    assert reading.lines(b"ab\n\ncde", 3) == ([b"ab", b""], False, 3)
    assert reading.lines(b"ab\nabcd\nx\n", 3) == ([b"ab"], True, 0)
    assert reading.lines(b"ab\nabcd", 3) == ([b"ab"], True, 4)


@pytest.mark.parametrize(
    ("end", "kinds", "stops"),
    [
        ("parent", ["host_call", "host_call", "result"], (3, None)),
        ("parent", ["result", "host_call"], (1, "worker_protocol_error")),
        ("parent", ["execute"], (0, "worker_protocol_error")),
        ("parent", ["host_call", "oversized"], (1, "worker_protocol_error")),
        ("worker", ["execute", "host_result"], (2, None)),
        ("worker", ["host_result"], (0, 3)),
        ("worker", ["execute", "execute"], (1, 3)),
        ("worker", ["execute", "unknown"], (1, 3)),
    ],
)
def test_each_end_has_its_direction(end, kinds, stops):
    """The parent takes calls and one result, the worker one `execute` and replies."""
    assert reading.taken(end, kinds) == stops
