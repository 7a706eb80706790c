"""Exact comparison of JSON values."""

from __future__ import annotations

import pytest
from codemode_conformance.compare import same_json, show


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (0, 0.0),
        ([1, {"a": None, "b": True}], [1.0, {"b": True, "a": None}]),
        ("é", "\u00e9"),
        (1e21, 10**21),
        (3.723635992004553e16, 37236359920045530),
    ],
)
def test_equal_values_are_the_same(a: object, b: object) -> None:
    """JSON has one number type, and no order of keys."""
    assert same_json(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (0, False),
        (None, 0),
        (0, -0.0),
        ("1", 1),
        ([], {}),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": 1}, {"b": 1}),
        ("e\u0301", "\u00e9"),
        ([[1]], [[2]]),
        (2**53 - 1, 2**53 - 2),
        (10**400, 1.5),
    ],
)
def test_different_values_are_not(a: object, b: object) -> None:
    """Types, the sign of zero and normalization forms are part of a value."""
    assert not same_json(a, b)
    assert not same_json(b, a)


def test_depth_is_no_limit() -> None:
    """A case may nest deeper than Python recurses."""
    a: list[object] = []
    b: list[object] = []
    for _ in range(50_000):
        a, b = [a], [b]
    assert same_json(a, b)
    assert not same_json(a, [b])
    assert show(a) == "<a list nested too deeply to show>"


def test_what_is_shown_is_bounded() -> None:
    """A report stays readable."""
    assert show({"a": [1, "é"]}) == '{"a":[1,"é"]}'
    assert show("x" * 1000, 40) == '"xxxxxxxxxxxxxxxxxxx… (1002 characters)'
