"""Validation of a policy."""

import pytest
from codemode_reference import Parent, PolicyError
from codemode_reference.policy import invalid_field


def test_the_defaults_are_valid(limits, profile):
    """Every default lies within its own bounds."""
    assert invalid_field(limits, profile.rows.values()) is None


def test_each_row_takes_its_bounds(limits, profile):
    """Minimum and absolute maximum themselves are legal."""
    for name, row in profile.rows.items():
        least = row.minimum if isinstance(row.minimum, int) else limits[row.minimum]
        for edge in (least, row.absolute_maximum):
            assert (
                invalid_field({**limits, name: edge, **_dependent(name, edge)}, _rows(profile))
                is None
            )


@pytest.mark.parametrize("wrong", [0, -1, None, True, False, 1.0, "1", [], 2**60])
def test_each_row_refuses_what_is_no_legal_number(limits, profile, wrong):
    """Zero, negative, not an integer, a boolean, above the maximum: the field is named."""
    for name, row in profile.rows.items():
        if wrong == 0 and wrong is not False and row.zero_allowed:
            continue
        assert invalid_field({**limits, name: wrong}, _rows(profile)) == name


def test_each_row_refuses_its_bounds_exceeded(limits, profile):
    """One below the minimum and one above the maximum are refused."""
    for name, row in profile.rows.items():
        least = row.minimum if isinstance(row.minimum, int) else limits[row.minimum]
        assert invalid_field({**limits, name: least - 1}, _rows(profile)) == name
        assert invalid_field({**limits, name: row.absolute_maximum + 1}, _rows(profile)) == name


def test_a_missing_row_is_named(limits, profile):
    """No row has a silent default."""
    for name in profile.rows:
        rest = {row: value for row, value in limits.items() if row != name}
        assert invalid_field(rest, _rows(profile)) == name


def test_unknown_fields_come_first_in_order(limits, profile):
    """Unknown fields, sorted, are named before any row."""
    wrong = {**limits, "wall_time_ms": 0, "zeta": 1, "alpha": 1}
    assert invalid_field(wrong, _rows(profile)) == "alpha"


def test_rows_are_checked_in_table_order(limits, profile):
    """Of two bad rows the first of the table is named."""
    first, second, *_ = profile.rows
    assert invalid_field({**limits, first: 0, second: 0}, _rows(profile)) == first


def test_a_minimum_may_be_another_row(limits, profile):
    """All results together may not be limited below one of them."""
    wrong = {**limits, "host_result_bytes": 100, "cumulative_host_result_bytes": 99}
    assert invalid_field(wrong, _rows(profile)) == "cumulative_host_result_bytes"


def test_a_parent_refuses_an_invalid_policy(limits):
    """The error carries code and field, and its text names the field."""
    with pytest.raises(PolicyError, match="wall_time_ms") as caught:
        Parent({**limits, "wall_time_ms": 0})
    assert (caught.value.code, caught.value.field) == ("invalid_policy", "wall_time_ms")


def _rows(profile):
    return profile.rows.values()


def _dependent(name, edge):
    # What one result may take at most, all results together must take at least.
    return {"cumulative_host_result_bytes": 262144} if name == "host_result_bytes" else {}
