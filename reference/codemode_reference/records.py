"""The records of one invocation: of each call before it is dispatched, and of what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codemode_reference.codes import Code
from codemode_reference.errors import failure
from codemode_reference.evidence import CallRecord
from codemode_reference.history import APPEND_BYTES, NotSavedError, call_record
from codemode_reference.values import NotJSONError, measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_reference.errors import Failure
    from codemode_reference.history import History


@dataclass(slots=True)
class Keeping:
    """What becomes of the records of calls.

    They are added to `records`, and to the `history` if one is kept. `hooks`: something sees each
    call before it runs, so that calls run one at a time.
    """

    records: list[CallRecord] = field(default_factory=list)
    history: History | None = None
    hooks: bool = False


class Records:
    """Keeps the records of an invocation under this policy."""

    def __init__(self, keeping: Keeping, policy: Mapping[str, int]) -> None:
        self.calls = keeping.records
        self._history = keeping.history
        self._policy = policy

    def __getitem__(self, call_id: int) -> CallRecord:
        return self.calls[call_id - 1]

    def add(self, call_id: int, operation: str) -> None:
        """A call has its id: its fate is unknown from here on."""
        self.calls.append(CallRecord(call_id, operation))

    def keep(self, calls: Sequence[tuple[int, str, Any]]) -> Failure | None:
        """Put calls into the history before any is dispatched; why it has no room for them."""
        history = self._history
        if history is None:
            return None
        records = [call_record(*call) for call in calls]
        for record in records:
            self._append(history, record)
        limit = self._policy["history_headroom_bytes"]
        if history.left < limit:
            return failure(Code.history_headroom_limit, measured=history.left, limit=limit)
        limit = self._policy["batch_history_bytes"]
        measured = sum(map(history.bytes_of, records))
        if measured > limit:
            return failure(Code.batch_history_limit, measured=measured, limit=limit)
        return None

    def ended(self, call_id: int, value: Any) -> None:
        """Keep what came of a call, with its result unless that is no value or too large."""
        if self._history is None:
            return
        record = self[call_id]
        ended: dict[str, Any] = {"call_id": call_id, "fate": record.fate.value}
        try:
            measured = measure(value, self._policy["value_depth"])
        except NotJSONError:
            measured = 0
        else:
            if measured <= APPEND_BYTES:
                ended["result"] = value
        if measured > APPEND_BYTES:
            record.warn(
                f"a result of {measured} bytes is not on record: the bound is {APPEND_BYTES}"
            )
        self._append(self._history, ended)

    def _append(self, history: History, record: dict[str, Any]) -> None:
        try:
            history.append(record)
        except NotSavedError as error:
            self[record["call_id"]].warn(f"a record was not saved: {error}")
