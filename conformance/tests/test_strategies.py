"""What the strategies promise: legal is legal, broken has its fault, an edge is at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from codemode_conformance.properties.rendering import render
from codemode_conformance.strategies import (
    broken_frames,
    broken_lines,
    broken_policies,
    frames,
    json_values,
    policies,
    values_of_depth,
    values_of_size,
)
from codemode_spec.limits import invalid_field
from codemode_spec.model.expressions import depth_of
from codemode_spec.schemas import problems
from codemode_spec.sizes import size_of
from codemode_spec.tables import load_tables
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from codemode_conformance.strategies.frames import Broken

SHORT = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
CALL = "const call = async (name, args) => host.call(name, args);"
PROFILES = load_tables().profiles


@SHORT
@given(frames())
def test_a_legal_frame_fits_the_schema(frame: dict[str, Any]) -> None:
    """Of every kind."""
    assert problems("frame", frame, "a frame") == []


@SHORT
@given(st.one_of(broken_frames(), broken_lines()))
def test_a_broken_line_is_made_of_a_legal_frame(broken: Broken) -> None:
    """It says what is wrong with it, and ends with the only LF."""
    assert problems("frame", broken.legal, "a frame") == []
    assert broken.fault
    assert broken.line.endswith(b"\n")
    assert broken.line.count(b"\n") == 1


@SHORT
@given(json_values())
def test_a_value_has_a_size(value: Any) -> None:
    """Nothing is drawn that the specification has no size for."""
    assert size_of(value, 128) >= 1


@SHORT
@given(st.integers(1, 80).flatmap(lambda size: st.tuples(st.just(size), values_of_size(size))))
def test_a_value_of_a_size_has_it(drawn: tuple[int, Any]) -> None:
    """To the byte."""
    size, value = drawn
    assert size_of(value, 128) == size


@pytest.mark.parametrize("depth", [1, 2, 127, 128, 129])
def test_a_value_of_a_depth_has_it(depth: int) -> None:
    """To the level."""

    @SHORT
    @given(values_of_depth(depth))
    def check(value: Any) -> None:
        assert depth_of(value) == depth

    check()


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_policies_are_legal_or_have_one_fault(profile: str) -> None:
    """By the table of each profile."""
    chosen = PROFILES[profile]

    @SHORT
    @given(policies(profile=profile), broken_policies(profile))
    def check(legal: dict[str, int], broken: tuple[dict[str, Any], str]) -> None:
        assert invalid_field({**chosen.defaults(), **legal}, chosen) is None
        assert invalid_field(*broken[:1], chosen) == broken[1]

    check()


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("sync", 'let r0 = 0;\nr0 = host.call("get", { ["__proto__"]: 1 });\nreturn [r0, 1n];'),
        (
            "async",
            CALL + '\nlet r0 = 0;\nr0 = await call("get", { ["__proto__"]: 1 });\nreturn [r0, 1n];',
        ),
    ],
)
def test_steps_are_written_in_the_style_of_the_target(style: str, text: str) -> None:
    """With the names of the program, and no more than it uses."""
    steps = [
        {"call": "get", "arguments": {"__proto__": 1}, "as": "r0"},
        {"return": [{"$": "r0"}, {"$odd": "bigint"}]},
    ]
    assert render(steps, style=style) == text
