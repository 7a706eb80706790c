"""The canonical size: the vectors, JSON.stringify, and what is no value."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from enum import IntEnum

import pytest
import quickjs
from codemode_spec import sizes
from codemode_spec.sizes import NotAValueError, Refusal, number_size, size_of
from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from codemode_spec.vectors import load_vectors
from codemode_spec.vectors.lines import line_bytes
from hypothesis import given
from hypothesis import strategies as st

DOCUMENT = load_vectors("sizes")
DEPTH = load_tables().profiles[DEFAULT_PROFILE].rows["value_depth"].absolute_maximum
STRINGIFY = quickjs.Context().eval("(text) => escape(JSON.stringify(JSON.parse(unescape(text))))")

texts = st.text(st.characters(exclude_categories=["Cs"]))
# QuickJS writes some powers of two with a digit more than Number::toString has.
doubles = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: math.frexp(abs(number))[0] != 0.5
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | doubles | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


class Color(IntEnum):
    """An integer that is more than one."""

    RED = 1


def refusal(value, depth=DEPTH):
    """Why a value is refused."""
    with pytest.raises(NotAValueError) as caught:
        size_of(value, depth)
    assert str(caught.value) == f"no I-JSON value: {caught.value.reason.replace('_', ' ')}"
    return caught.value.reason


@pytest.mark.parametrize("vector", DOCUMENT["vectors"], ids=lambda vector: vector["id"])
def test_vectors(vector) -> None:
    """Each value has the size that the vector says, or is refused for that reason."""
    value = json.loads(line_bytes(vector["json"], {}))
    if "refused" in vector:
        assert refusal(value, DOCUMENT["max_depth"]) == vector["refused"]
    else:
        assert size_of(value, DOCUMENT["max_depth"]) == vector["size"]
        assert len(vector.get("text", "").encode()) in (0, vector["size"])


def test_the_vectors_use_the_depth_of_the_policy() -> None:
    """The one number in the file of vectors is that of the table."""
    assert DOCUMENT["max_depth"] == DEPTH


@given(values)
def test_a_size_is_the_length_that_an_engine_writes(value) -> None:
    """UTF-8 bytes of JSON.stringify, as QuickJS has it."""
    units = json.dumps(value, ensure_ascii=False).encode("utf-16-le")
    escaped = "".join(f"%u{unit:04x}" for unit in memoryview(units).cast("H"))
    written = json.loads('"' + STRINGIFY(escaped).replace("%u", "\\u").replace("%", "\\u00") + '"')
    assert size_of(value, DEPTH) == len(written.encode())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, Refusal.not_finite),
        (-math.inf, Refusal.not_finite),
        (10**400, Refusal.not_finite),
        (2**53 + 1, Refusal.inexact_integer),
        ([-(2**64) + 1], Refusal.inexact_integer),
        ("\ud800", Refusal.lone_surrogate),
        ({"\udfff": 1}, Refusal.lone_surrogate),
        ((1, 2), Refusal.foreign_type),
        (b"bytes", Refusal.foreign_type),
        ({1}, Refusal.foreign_type),
        (Color.RED, Refusal.foreign_type),
        (Decimal(1), Refusal.foreign_type),
        (object(), Refusal.foreign_type),
        ([lambda: 1], Refusal.foreign_type),
        ({1: 2}, Refusal.foreign_key),
        ({None: 2}, Refusal.foreign_key),
        ({("a",): 2}, Refusal.foreign_key),
    ],
)
def test_what_is_no_value_is_refused_by_its_reason(value, reason) -> None:
    """A reason says which rule is broken, and no value is ever guessed."""
    assert refusal(value) is reason
    assert refusal([{"inside": value}]) is reason


def test_cycles_are_found_and_shared_parts_are_fine() -> None:
    """A list inside itself has no size; the same list twice has it twice."""
    loop: list = [1]
    loop.append({"again": loop})
    assert refusal(loop) is Refusal.cycle
    part = [1, {"a": "b"}]
    assert size_of([part, part], DEPTH) == len('[[1,{"a":"b"}],[1,{"a":"b"}]]')


def test_many_shared_parts_take_no_more_time_than_there_are_parts() -> None:
    """A value of 2**100 leaves is measured at once, each part read once."""
    value: list = []
    for _ in range(100):
        value = [value, value]
    # size(n) = 2 * size(n - 1) + brackets and comma
    size = 2
    for _ in range(100):
        size = 2 * size + 3
    assert size_of(value, DEPTH) == size


def test_a_shared_part_counts_at_its_deepest_place() -> None:
    """Read first where it lies high, a part is still too deep where it lies low."""
    part: list = []
    for _ in range(99):
        part = [part]
    low = part
    for _ in range(27):
        low = [low]
    assert size_of([low], DEPTH) == 2 * DEPTH
    assert refusal([part, [low]]) is Refusal.too_deep


def test_depth_counts_lists_and_dicts_only() -> None:
    """A scalar is 0 deep, an empty list is 1."""
    assert size_of(1, 0) == 1
    assert refusal([], 0) is Refusal.too_deep
    assert size_of([1], 1) == 3
    assert refusal([{}], 1) is Refusal.too_deep


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_sign_takes_one_byte_and_zero_has_none(number) -> None:
    """`-0` is written as `0`."""
    assert number_size(-abs(number)) == number_size(abs(number)) + (number != 0)


@given(st.integers(-(10**30), 10**30))
def test_an_exact_integer_is_measured_as_its_double(number) -> None:
    """Beyond 2**53 - 1 an integer has a size only if a double holds it."""
    if float(number) == number:
        assert number_size(number) == number_size(float(number))
    else:
        assert refusal(number) is Refusal.inexact_integer


def test_a_text_that_occurs_often_is_measured_once(monkeypatch):
    """As a value and as a key: a value that shares its parts takes as long as it has parts."""
    measured = []
    of = sizes.text_size
    monkeypatch.setattr(sizes, "text_size", lambda text: measured.append(text) or of(text))
    text = "\u00e9" * 1000
    shared = [text] * 500 + [{text: n} for n in range(10)]
    written = json.dumps(shared, ensure_ascii=False, separators=(",", ":"))
    assert size_of(shared, DEPTH) == len(written.encode())
    assert measured == [text]
