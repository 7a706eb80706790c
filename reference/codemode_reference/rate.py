"""How often each client may start a program: a sliding window, in bounded memory.

No clock of its own: every call says what time it is, in milliseconds that never go back.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from math import ceil
from typing import TYPE_CHECKING

from codemode_reference.codes import Code
from codemode_reference.errors import failure

if TYPE_CHECKING:
    from collections.abc import Hashable

    from codemode_spec.tables import Admission

    from codemode_reference.errors import Failure


class Rates:
    """The starts of the last window by client. A start counts while less than a window has passed.

    Of more clients than are remembered, the one whose last start is the oldest is forgotten.
    """

    def __init__(self, admission: Admission) -> None:
        self._window = admission.window_ms
        self._clients = admission.clients
        self._starts: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._starts)

    def refusal(self, client: Hashable, limit: int, now_ms: float) -> Failure | None:
        """Why `client` may not start one more program now; looking changes nothing."""
        starts = self._recent(client, now_ms)
        if len(starts) < limit:
            return None
        # A lower limit than before may have to wait for several of them.
        oldest = starts[len(starts) - limit]
        wait = ceil(oldest + self._window - now_ms)
        return failure(Code.rate_limited, limit=limit, retry_after_ms=max(wait, 1))

    def record(self, client: Hashable, now_ms: float) -> None:
        """A worker was obtained for a program of `client`."""
        starts = self._recent(client, now_ms)
        starts.append(now_ms)
        self._starts[client] = starts
        self._starts.move_to_end(client)
        while len(self._starts) > self._clients:
            self._starts.popitem(last=False)

    def _recent(self, client: Hashable, now_ms: float) -> deque[float]:
        starts = self._starts.get(client, deque())
        while starts and now_ms - starts[0] >= self._window:
            starts.popleft()
        return starts
