"""Policies: small legal ones, and those with exactly one field that is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_spec.limits import invalid_field
from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec.tables import Row
    from hypothesis.strategies import DrawFn

SMALL: Final[Mapping[str, tuple[int, int]]] = {
    "host_calls": (1, 8),
    "concurrent_host_calls": (1, 4),
    "host_result_bytes": (64, 96),
    "cumulative_host_result_bytes": (96, 160),
    "final_result_bytes": (64, 160),
}
"""Rows whose edge a short program reaches, with a range that is small and within every profile."""


@st.composite
def policies(
    draw: DrawFn, rows: Iterable[str] = tuple(SMALL), profile: str = DEFAULT_PROFILE
) -> dict[str, int]:
    """Numbers for some of these rows; with the defaults of the others they are a legal policy."""
    chosen = load_tables().profiles[profile]
    # In this order: the least of the sum is the limit of one result.
    usable = [name for name in SMALL if name in set(rows) and name in chosen.rows]
    changed: dict[str, int] = {}
    for name in usable:
        if draw(st.sampled_from((False, True, True))):
            least, most = SMALL[name]
            value = draw(st.integers(least, min(most, chosen.rows[name].absolute_maximum)))
            if invalid_field({**chosen.defaults(), **changed, name: value}, chosen) is None:
                changed[name] = value
    return changed


@st.composite
def broken_policies(draw: DrawFn, profile: str = DEFAULT_PROFILE) -> tuple[dict[str, Any], str]:
    """A whole policy in which one field is not legal, and the field."""
    chosen = load_tables().profiles[profile]
    policy: dict[str, Any] = dict(chosen.defaults())
    fault = draw(st.sampled_from(("value", "missing", "unknown")))
    if fault == "unknown":
        name = draw(st.text("abcxyz_", min_size=1).filter(lambda text: text not in policy))
        return {**policy, name: 1}, name
    name = draw(st.sampled_from(sorted(policy)))
    if fault == "missing":
        del policy[name]
    else:
        policy[name] = draw(_wrong(chosen.rows[name]))
    field = invalid_field(policy, chosen)
    assert field is not None
    return policy, field


def _wrong(row: Row) -> st.SearchStrategy[Any]:
    wrong: list[Any] = [-1, True, False, 1.0, "1", None, [], row.absolute_maximum + 1]
    return st.sampled_from(wrong if row.zero_allowed else [0, *wrong])
