"""What a session asks for. The caller does it in order and stops at the first `End`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from codemode_reference.errors import Failure, Success

Outcome: TypeAlias = Success | Failure


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Run an operation for the call `call_id`; its answer goes to `Session.answer`."""

    call_id: int
    operation: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Write:
    """Write these bytes to the worker."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """Tell the client of `report`: `current`, and perhaps `total` and `message`."""

    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settled:
    """A result has arrived: cancel what is in flight and wait for the worker to exit."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The worker closed its output too early: wait a little for its exit status."""


@dataclass(frozen=True, slots=True)
class End:
    """The one outcome. Kill whatever is left of the worker."""

    outcome: Outcome


Action: TypeAlias = Dispatch | Write | Progress | Settled | Closed | End
