"""Host values and their compact JSON."""

import json
import math

import _quickjs
import pytest
from codemode_reference.values import NotJSONError, encode, measure, number
from hypothesis import given
from hypothesis import strategies as st

ENGINE = _quickjs.Context()
STRINGIFY = ENGINE.eval("(text) => escape(JSON.stringify(JSON.parse(unescape(text))))")

texts = st.text(st.characters(exclude_categories=["Cs"]))
# QuickJS writes some powers of two with a digit more than Number::toString has.
doubles = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: math.frexp(abs(number))[0] != 0.5
)
# An engine moves keys that look like array indexes to the front.
keys = texts.map(lambda text: f"k{text}")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | doubles | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0, "0"),
        (0.1, "0.1"),
        (123.456, "123.456"),
        (-1.5e-7, "-1.5e-7"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9007199254740991, "9007199254740991"),
        (2**60, "1152921504606847000"),
        (-(10**21), "-1e+21"),
    ],
)
def test_numbers_are_written_as_ecmascript_does(value, expected):
    """The number formatting is Number::toString, not Python's."""
    assert number(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_survives(value):
    """The text of a double reads back as the same double."""
    assert float(number(value)) == value


@given(json_values)
def test_values_are_written_as_the_engine_writes_them(value):
    """Byte for byte what JSON.stringify gives for the same value."""
    ours = encode(value, 128)
    units = memoryview(ours.decode().encode("utf-16-le")).cast("H")
    escaped = "".join(f"%u{unit:04x}" for unit in units)
    theirs = STRINGIFY(escaped)
    decoded = json.loads('"' + theirs.replace("%u", "\\u").replace("%", "\\u00") + '"')
    assert decoded == ours.decode()


@pytest.mark.parametrize("text", ['"\\\b\t\n\f\r\x00\x1f', "é\u2028\x7f", "\U0001f600"])
def test_only_what_must_be_escaped_is(text):
    """Strings keep their raw UTF-8 but for quotes, backslashes and control characters."""
    assert encode(text, 0) == json.dumps(text, ensure_ascii=False).encode()


def test_items_are_separated_once():
    """Commas stand between items only, also after null and after nested empties."""
    value = [None, [], {}, "[", {"a": None, "b": [None]}, [[]]]
    assert encode(value, 3) == b'[null,[],{},"[",{"a":null,"b":[null]},[[]]]'


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        2**53 + 1,
        -(2**53) - 1,
        10**400,
        b"x",
        {1},
        (1,),
        {1: 2},
        {None: 1},
        "\ud800",
        {"\udfff": 1},
        object(),
        type("Text", (str,), {})("x"),
        type("Truth", (int,), {})(1),
        type("Items", (list,), {})([1]),
        type("Fields", (dict,), {})({"a": 1}),
        [[{"a": {1, 2}}]],
    ],
)
def test_what_is_no_json_is_refused(value):
    """Everything that JSON cannot carry exactly is refused, subclasses included."""
    with pytest.raises(NotJSONError):
        encode(value, 128)
    with pytest.raises(NotJSONError):
        measure(value, 128)


@given(json_values)
def test_the_measure_is_the_length_of_the_text(value):
    """Exactly, also where parts are shared and where a text is measured by pieces."""
    assert measure(value, 128) == len(encode(value, 128))
    shared = [value, {"\u00e9": value}, [value, []], ['"\U0001f600\x00' * 3000] * 2]
    assert measure(shared, 128) == len(encode(shared, 128))


def test_shared_parts_are_measured_once():
    """A value that doubles a hundred times is measured at once and exactly, a long text too."""
    value = [1]
    for _ in range(100):
        value = [value, value]
    assert measure(value, 128) == 6 * 2**100 - 3
    assert measure(["x" * 10**6] * 10**5, 128) == 10**5 * (10**6 + 3) + 1


def test_shared_parts_are_as_deep_as_their_deepest_place():
    """Read on a short way first, refused on the long one."""
    leaf = [[]]
    assert measure([leaf, [leaf]], 4) == len("[[[]],[[[]]]]")
    with pytest.raises(NotJSONError, match="deep"):
        measure([leaf, [leaf]], 3)


@pytest.mark.parametrize("encode", [encode, measure])
def test_the_depth_limit_is_exact_and_needs_no_recursion(encode):
    """128 levels are legal, 129 and a cycle are refused."""
    value = []
    for _ in range(127):
        value = [value]
    assert encode(value, 128) in (256, b"[" * 128 + b"]" * 128)
    with pytest.raises(NotJSONError, match="deep"):
        encode([value], 128)
    cycle = {}
    cycle["again"] = cycle
    with pytest.raises(NotJSONError, match="deep"):
        encode(cycle, 128)
    with pytest.raises(NotJSONError, match="deep"):
        encode([], 0)
