"""How many programs and workers a parent has at once; too many are refused, none waits."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from codemode_reference.codes import Code
from codemode_reference.errors import failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_reference.errors import Failure


class InUse(NamedTuple):
    """What a parent has taken at this moment. When nothing runs, only `started_ahead` is not 0."""

    invocations: int
    workers: int
    started_ahead: int
    operations: int
    waiting: int


class Capacity:
    """The account of `server_invocations` and `server_workers`; `policy` may be replaced.

    A worker that was started ahead is none here until a program has it: those give way.
    """

    def __init__(self, policy: Mapping[str, int]) -> None:
        self.policy = policy
        self.invocations = 0
        self.workers = 0

    def refusal(self) -> Failure | None:
        """Why no program can start now. Invocations are looked at before workers."""
        limit = self.policy["server_invocations"]
        if self.invocations >= limit:
            return failure(Code.server_invocations_limit, limit=limit)
        limit = self.policy["server_workers"]
        if self.workers >= limit:
            return failure(Code.server_workers_limit, limit=limit)
        return None

    @contextmanager
    def invocation(self) -> Iterator[None]:
        """One invocation, from its admission to its answer."""
        self.invocations += 1
        try:
            yield
        finally:
            self.invocations -= 1

    def worker(self) -> Place:
        """The place of one worker, from before its start until it is reaped."""
        self.workers += 1
        return Place(self)


class Place:
    """Given back once, however often it is asked."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity: Capacity | None = capacity

    def release(self) -> None:
        """The worker is reaped, or was never started."""
        if self._capacity is not None:
            self._capacity.workers -= 1
            self._capacity = None
