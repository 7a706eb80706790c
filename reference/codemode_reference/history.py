"""The durable history that records of calls go to, shared by whatever runs inside of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.tables import load_tables

from codemode_reference.values import encode, measure

if TYPE_CHECKING:
    from collections.abc import Callable

# No number of the specification: it asks for a bound and says what happens beyond it (CM-EVD-012),
# and each history has the bound of what keeps it.
APPEND_BYTES: Final = 65_536
"""A result that takes more is not kept in its record, which says so."""

# A record is an object around arguments or a result, and one more around both.
_DEPTH: Final = load_tables().rows["value_depth"].absolute_maximum + 2


class NotSavedError(Exception):
    """A record could not be saved; the message is for people."""


@dataclass(slots=True)
class History:
    """Space for `capacity` bytes of records. `save` gets each of them as a line, and may fail.

    What was used stays used: compacting is what its owner does, by a new history.
    """

    capacity: int
    save: Callable[[bytes], None] | None = None
    used: int = 0

    @property
    def left(self) -> int:
        """The bytes that are left, never fewer than none."""
        return max(self.capacity - self.used, 0)

    def bytes_of(self, record: dict[str, Any]) -> int:
        """What a record takes, as a line."""
        return measure(record, _DEPTH) + 1

    def append(self, record: dict[str, Any]) -> None:
        """Keep a record; NotSavedError if it counts but could not be saved."""
        self.used += self.bytes_of(record)
        if self.save is None:
            return
        try:
            self.save(encode(record, _DEPTH) + b"\n")
        except Exception as error:
            raise NotSavedError(type(error).__name__) from error


def call_record(call_id: int, operation: str, arguments: Any) -> dict[str, Any]:
    """What is on record of a call before it is dispatched."""
    return {"call_id": call_id, "operation": operation, "arguments": arguments}
