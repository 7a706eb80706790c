"""Replies by script: each is held back until the calls have arrived that the model sees by then.

No reply is sent by time, so that a program and the model see the same order. Only where a program
does not come to the point where the model sees it, everything is let go after a while: that the
program ends matters then, and not how.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from codemode_spec.model.releases import Release

from codemode_conformance.replies import Replies, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codemode_spec.cases import OperationSpec

    from codemode_conformance.canary import Canaries


class ScriptedReplies(Replies):
    """The replies of one run. `patience` is in seconds from the last call or reply.

    `released` is what was sent, in order, with the calls arrived by then; `hurried` says that
    patience ran out.
    """

    def __init__(
        self,
        operations: Iterable[OperationSpec],
        canaries: Canaries,
        script: Sequence[Release],
        patience: float,
    ) -> None:
        super().__init__(operations, canaries)
        self.released: list[Release] = []
        self.hurried = False
        self._script = list(script)
        self._patience = patience
        self._held: dict[int, Reply] = {}
        self._arrived = 0
        self._quiet_since = time.monotonic()

    @property
    def next_at(self) -> float | None:
        """When patience runs out, or now where a reply is due."""
        if not self._held:
            return None
        return self._quiet_since + (0 if self.hurried or self._ready() else self._patience)

    def accept(self, run: int, call: int, name: str, now: float) -> float:
        """One more call has arrived; there is no delay."""
        super().accept(run, call, name, now)
        for reply in super().due(now):
            self._held[reply.call] = reply
        self._arrived += 1
        self._quiet_since = now
        return 0.0

    def due(self, now: float) -> list[Reply]:
        """The replies whose turn it is by the script."""
        found = []
        while (release := self._ready()) is not None:
            del self._script[0]
            found.append(self._held.pop(release.number))
        if not found and self._held and now >= self._quiet_since + self._patience:
            self.hurried = True
        if self.hurried:
            found += [self._held.pop(number) for number in sorted(self._held)]
        if found:
            self._quiet_since = now
            self.released += [Release(self._arrived, reply.call) for reply in found]
        return found

    def drop(self, run: int) -> None:
        """Forget what is held back: the run is being ended."""
        super().drop(run)
        self._held.clear()

    def _ready(self) -> Release | None:
        """The next release of the script, if its time has come."""
        first = self._script[0] if self._script else None
        if first is None or self._arrived < first.after or first.number not in self._held:
            return None
        return first
