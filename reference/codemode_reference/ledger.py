"""What one invocation has used. Nothing is ever refunded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from codemode_reference.codes import Code
from codemode_reference.errors import failure
from codemode_reference.strict_json import MAX_SAFE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_reference.errors import Failure
    from codemode_reference.operations import Cost


@dataclass(slots=True)
class Ledger:
    """The parent's account of the host budgets of one invocation; `policy` holds the limits."""

    policy: Mapping[str, int]
    calls: int = 0
    pages: int = 0
    snapshots: int = 0
    in_flight: dict[int, str] = field(default_factory=dict)
    delivered_bytes: int = 0

    @property
    def calls_used_up(self) -> bool:
        """Whether one more host call would pass `host_calls`."""
        return self.calls >= self.policy["host_calls"]

    def expects(self, call_id: int) -> bool:
        """Whether `call_id` is the next one: they start at 1 and rise by exactly 1."""
        return call_id == self.calls + 1

    def take(self) -> None:
        """Charge one call and its id."""
        self.calls += 1

    def enter(self, call_id: int, operation: str) -> Failure | None:
        """Put a call in flight, or say why there is no room. The call stays charged."""
        limit = self.policy["concurrent_host_calls"]
        if len(self.in_flight) >= limit:
            return failure(Code.host_concurrency_limit, operation=operation, limit=limit)
        self.in_flight[call_id] = operation
        return None

    def reserve(self, operation: str, cost: Cost) -> Failure | None:
        """Charge the pages, then the snapshots of a call, or say what there is too little of.

        As `order.json` has it: pages that fit stay charged where the snapshots do not.
        """
        # Some profiles have neither row.
        limit = self.policy.get("pages")
        if limit is not None and self.pages + cost.pages > limit:
            return failure(Code.pages_limit, operation=operation, limit=limit)
        self.pages += cost.pages
        limit = self.policy.get("snapshots")
        if limit is not None and self.snapshots + cost.snapshots > limit:
            return failure(Code.snapshots_limit, operation=operation, limit=limit)
        self.snapshots += cost.snapshots
        return None

    def leave(self, call_id: int) -> str | None:
        """Free the slot of a call and name its operation; None if it is not in flight."""
        return self.in_flight.pop(call_id, None)

    def deliver(self, operation: str, size: int) -> Failure | None:
        """Charge a host value of `size` bytes, or say which limit refuses it, uncharged."""
        limit = self.policy["host_result_bytes"]
        if size > limit:
            # No frame carries a larger number, and shared parts can add up to one.
            measured = min(size, MAX_SAFE)
            return failure(
                Code.host_result_bytes_limit, operation=operation, measured=measured, limit=limit
            )
        limit = self.policy["cumulative_host_result_bytes"]
        total = self.delivered_bytes + size
        if total > limit:
            return failure(
                Code.cumulative_host_bytes_limit, operation=operation, measured=total, limit=limit
            )
        self.delivered_bytes = total
        return None
