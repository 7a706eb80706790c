"""Validation of a policy against its rows. The worker runs this too: it imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Protocol

    class Limit(Protocol):
        """What is read of a row of the policy table."""

        @property
        def name(self) -> str: ...  # noqa: D102
        @property
        def minimum(self) -> int | str: ...  # noqa: D102
        @property
        def absolute_maximum(self) -> int: ...  # noqa: D102


def invalid_field(values: Mapping[str, object], rows: Iterable[Limit]) -> str | None:
    """The field that makes `values` invalid, or None.

    Unknown fields come first, sorted; then the rows in table order: a missing value, one that is
    no integer (a boolean is none), one below the minimum or above the absolute maximum. Zero
    never means unlimited: only a row whose minimum is zero takes it.
    """
    table = {row.name: row for row in rows}
    unknown = sorted(str(name) for name in values if name not in table)
    if unknown:
        return unknown[0]
    for name, row in table.items():
        value = values.get(name)
        if type(value) is not int or value > row.absolute_maximum:
            return name
        minimum = row.minimum
        # The minimum may be the value of a row above, which is valid by now.
        least = minimum if isinstance(minimum, int) else values[minimum]
        assert isinstance(least, int)
        if value < least:
            return name
    return None
