"""Validation of policies: every row of every profile, every kind of wrong value, in order."""

from __future__ import annotations

from collections import Counter

import pytest
from codemode_spec.limits import invalid_field
from codemode_spec.tables import load_tables
from codemode_spec.vectors import load_vectors

PROFILES = load_tables().profiles
VECTORS = load_vectors("policy")["vectors"]
KINDS = (
    "zero",
    "negative",
    "half",
    "true",
    "false",
    "text",
    "null",
    "missing",
    "minimum",
    "below-minimum",
    "maximum",
    "above-maximum",
)


def policy_of(vector) -> dict[str, object]:
    """The policy that a vector describes."""
    values: dict[str, object] = {
        **PROFILES[vector["profile"]].defaults(),
        **vector.get("change", {}),
    }
    return {name: value for name, value in values.items() if name not in vector.get("remove", [])}


@pytest.mark.parametrize("profile", PROFILES)
def test_vectors(profile) -> None:
    """Of each policy the field is named that the vector names, or none."""
    mine = [vector for vector in VECTORS if vector["profile"] == profile]
    found = {v["id"]: invalid_field(policy_of(v), PROFILES[profile]) for v in mine}
    assert found == {vector["id"]: vector["field"] for vector in mine}


def test_the_vectors_are_complete() -> None:
    """Every row of every profile is there with every kind of value, once."""
    ids = Counter(vector["id"] for vector in VECTORS)
    assert {
        f"{profile}.{row}.{kind}"
        for profile, entry in PROFILES.items()
        for row in entry.rows
        for kind in KINDS
    } <= ids.keys()
    assert max(ids.values()) == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_a_fraction_of_a_whole_value_is_no_integer(profile) -> None:
    """`1.0` is a float in Python, and a policy holds integers."""
    defaults = PROFILES[profile].defaults()
    for name, value in defaults.items():
        assert invalid_field({**defaults, name: float(value)}, PROFILES[profile]) == name


@pytest.mark.parametrize("profile", PROFILES)
def test_only_one_row_takes_zero(profile) -> None:
    """Zero never means unlimited: captured diagnostics alone may be none."""
    defaults = PROFILES[profile].defaults()
    valid = [n for n in defaults if invalid_field({**defaults, n: 0}, PROFILES[profile]) is None]
    assert valid == ["log_bytes"]
