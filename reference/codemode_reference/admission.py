"""The limits of a server on programs and workers at once, without I/O and clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_reference.codes import Code
from codemode_reference.errors import failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_reference.errors import Failure


class Admission:
    """Counts the invocations that are not answered yet and the workers that are not reaped yet.

    A worker that was started ahead is no worker here until a program has it: those give way.
    """

    def __init__(self) -> None:
        self.invocations = 0
        self.workers = 0

    def refusal(self, policy: Mapping[str, int]) -> Failure | None:
        """The limit that keeps one more program out, if there is one. Nothing is counted."""
        limit = policy["server_invocations"]
        if self.invocations >= limit:
            return failure(Code.server_invocations_limit, limit=limit)
        limit = policy["server_workers"]
        if self.workers >= limit:
            return failure(Code.server_workers_limit, limit=limit)
        return None


class Slots:
    """The two slots of one admitted program: each is given back once, however often it is asked."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._has_worker = True
        admission.invocations += 1
        admission.workers += 1

    def release_worker(self) -> None:
        """The worker is reaped, or never was."""
        if self._has_worker:
            self._has_worker = False
            self._admission.workers -= 1

    def release_invocation(self) -> None:
        """The program is about to be answered."""
        self._admission.invocations -= 1
