"""The host calls of one invocation at its parent: checked, charged, answered and on record.

Without I/O and without a clock, like the session that it is a part of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from codemode_spec.tables import load_tables

from codemode_reference import wire
from codemode_reference.actions import Dispatch, Write
from codemode_reference.batch import Batch
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, failure
from codemode_reference.evidence import CallRecord, Fate
from codemode_reference.history import APPEND_BYTES, NotSavedError, call_record, record_bytes
from codemode_reference.ledger import Ledger
from codemode_reference.values import NotJSONError, encode, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from codemode_reference.actions import Action
    from codemode_reference.history import History
    from codemode_reference.operations import Catalogue


@dataclass(slots=True)
class Keeping:
    """What becomes of the records of calls.

    They are added to `records`, and to the `history` if one is kept. `hooks`: something sees each
    call before it runs, so that calls run one at a time.
    """

    records: list[CallRecord] = field(default_factory=list)
    history: History | None = None
    hooks: bool = False


class Surroundings(NamedTuple):
    """What calls take from their parent. `terminal`: a spent budget ends the invocation."""

    policy: Mapping[str, int]
    catalogue: Catalogue
    terminal: bool
    keeping: Keeping


class _Value(NamedTuple):
    """A value that waits for its turn in a batch."""

    value: Any


class Calls:
    """All calls of one invocation.

    `over` says whether it has its outcome or its time has passed, `terminal` ends it.
    """

    def __init__(
        self,
        invocation_id: int,
        around: Surroundings,
        over: Callable[[float], bool],
        terminal: Callable[[Failure], list[Action]],
    ) -> None:
        self._invocation_id = invocation_id
        self._around = around
        self._policy = around.policy
        self._catalogue = around.catalogue
        self._over = over
        self._terminal = terminal
        self._batch: Batch | None = None
        self.ledger = Ledger(around.policy)
        self.sent: list[dict[str, Any]] = []
        self.records = around.keeping.records

    @property
    def waiting(self) -> bool:
        """Whether an answer is due to the worker."""
        return self._batch is not None or bool(self.ledger.in_flight)

    def expects(self, call_id: int) -> bool:
        """Whether a call, or a batch that begins, may have this id now."""
        return self._batch is None and self.ledger.expects(call_id)

    def call(self, call_id: int, operation: str, arguments: Any, elapsed_ms: float) -> list[Action]:
        """One host call with the id that is expected."""
        refused = self._unknown(operation, named=True)
        if refused is not None:
            return self._terminal(refused)
        self.ledger.take()
        self.records.append(CallRecord(call_id, operation))
        refused = self._enter(call_id, operation, arguments)
        if refused is not None:
            return self._refuse(call_id, refused)
        full = self._recorded([(call_id, operation, arguments)])
        if full is not None:
            return self._terminal(full)
        if self._over(elapsed_ms):
            self.ledger.leave(call_id)  # it will have no reply that could free its slot
            return []
        return [Dispatch(call_id, operation, arguments)]

    def batch(
        self, first: int, entries: Sequence[tuple[str, Any]], elapsed_ms: float
    ) -> list[Action]:
        """A batch whose first call has the id that is expected: all of it or nothing."""
        limit = self._policy["host_calls"]
        if self.ledger.calls + len(entries) > limit:
            return self._terminal(failure(Code.host_calls_limit, limit=limit))
        for operation, _ in entries:
            refused = self._unknown(operation, named=False)
            if refused is not None:
                return self._terminal(refused)
        calls = [(first + index, *entry) for index, entry in enumerate(entries)]
        for call_id, operation, _ in calls:
            self.ledger.take()
            self.records.append(CallRecord(call_id, operation))
        full = self._recorded(calls, whole=True)
        if full is not None:
            return self._terminal(full)
        alone = [
            self._around.keeping.hooks or self._catalogue[operation].effect != "read"
            for operation, _ in entries
        ]
        self._batch = Batch(first, entries, alone, self._policy["concurrent_host_calls"])
        return self._advance(elapsed_ms)

    def answer(self, call_id: int, value: Any, elapsed_ms: float) -> list[Action]:
        """The value that the operation of `call_id` returned; late ones lead to nothing."""
        self._record(call_id).fate = Fate.succeeded
        operation = self._release(call_id, elapsed_ms)
        self._outcome(call_id, value)
        if operation is None:
            return []
        if self._batch is not None and call_id in self._batch:
            return self._hold(call_id, _Value(value), elapsed_ms)
        return self._deliver(call_id, value)

    def fail(self, call_id: int, elapsed_ms: float, error: Code) -> list[Action]:
        """The operation of `call_id` failed; why stays in the parent."""
        operation = self._release(call_id, elapsed_ms)
        if operation is None:
            return []
        self._record(call_id).fate = Fate.failed
        self._outcome(call_id, None)
        fields: dict[str, Any] = {"operation": operation}
        if error != Code.operation_failed:
            fields["limit"] = self._policy["server_host_operations"]
        refused = failure(error, **fields)
        if self._batch is not None and call_id in self._batch:
            return self._hold(call_id, refused, elapsed_ms)
        return self._refuse(call_id, refused)

    def dispatched(self, call_id: int) -> CallRecord:
        """The operation of `call_id` is about to run; what it does goes to the record."""
        record = self._record(call_id)
        record.dispatched = True
        return record

    # Checks

    def _unknown(self, operation: str, *, named: bool) -> Failure | None:
        """Why a frame that names `operation` ends the invocation."""
        known = operation in self._catalogue
        if self.ledger.calls_used_up and named:
            # An unknown name is never echoed.
            fields = {"operation": operation} if known else {}
            limit = self._policy["host_calls"]
            return failure(Code.host_calls_limit, **fields, limit=limit)
        if not known:
            return failure(Code.unknown_operation)
        if operation not in self._catalogue.granted:
            return failure(Code.capability_denied, operation=operation)
        return None

    def _enter(self, call_id: int, operation: str, arguments: Any) -> Failure | None:
        """Give a call its slot, or say why it is not dispatched. It stays charged."""
        refused = self.ledger.enter(call_id, operation)
        if refused is not None:
            return refused
        refused = self._unfit(operation, arguments)
        if refused is not None:
            self.ledger.leave(call_id)
        return refused

    def _unfit(self, operation: str, arguments: Any) -> Failure | None:
        """Why a call that has its slot is not dispatched. Its pages and snapshots stay used."""
        if self._catalogue.forbids(operation):
            return failure(Code.read_only_violation, operation=operation)
        refused = self.ledger.reserve(operation, self._catalogue[operation].cost)
        if refused is not None:
            return refused
        if not self._catalogue.accepts(operation, arguments):
            return failure(Code.invalid_arguments, operation=operation)
        blocked = self._catalogue.blocked(arguments)
        if blocked is not None:
            return failure(Code.pattern_blocked, pattern=blocked)
        if not self._catalogue.permits(operation, arguments):
            return failure(Code.capability_denied, operation=operation)
        return None

    def _recorded(
        self, calls: Sequence[tuple[int, str, Any]], *, whole: bool = False
    ) -> Failure | None:
        """Put calls on record before any is dispatched; why the history has no room for them."""
        history = self._around.keeping.history
        if history is None:
            return None
        records = [call_record(*call) for call in calls]
        for record in records:
            self._append(record["call_id"], record)
        limit = self._policy["history_headroom_bytes"]
        if history.left < limit:
            return failure(Code.history_headroom_limit, measured=history.left, limit=limit)
        limit = self._policy["batch_history_bytes"]
        measured = sum(map(record_bytes, records)) if whole else 0
        if measured > limit:
            return failure(Code.batch_history_limit, measured=measured, limit=limit)
        return None

    # Answers

    def _deliver(self, call_id: int, value: Any) -> list[Action]:
        operation = self._record(call_id).operation
        depth = self._policy["value_depth"]
        try:
            measured = measure(value, depth)
        except NotJSONError:
            return self._refuse(call_id, failure(Code.host_result_invalid, operation=operation))
        seen = self._catalogue.redacted(operation, value)
        if seen is not value:
            value, measured = seen, measure(seen, depth)
        refused = self.ledger.deliver(operation, measured)
        if refused is not None:
            return self._refuse(call_id, refused)
        return [Write(wire.host_value(self._invocation_id, call_id, encode(value, depth)))]

    def _refuse(self, call_id: int, error: Failure) -> list[Action]:
        record = self._record(call_id)
        record.code = error.code
        if not record.dispatched:
            record.fate = Fate.failed
        if self._ends(error):
            return self._terminal(error)
        self.sent.append({"code": error.code, **error.fields})
        return [Write(wire.host_error(self._invocation_id, call_id, error))]

    def _release(self, call_id: int, elapsed_ms: float) -> str | None:
        operation = self.ledger.leave(call_id)
        return None if self._over(elapsed_ms) else operation

    # Batches

    def _hold(self, call_id: int, result: _Value | Failure, elapsed_ms: float) -> list[Action]:
        assert self._batch is not None
        self._batch.hold(call_id - self._batch.first, result)
        return self._advance(elapsed_ms)

    def _advance(self, elapsed_ms: float) -> list[Action]:
        """Give out what is due and run what may run, until nothing is left to do."""
        actions = self._commit()
        while self._batch is not None and (index := self._batch.ready()) is not None:
            actions += self._run(self._batch, index, elapsed_ms)
            actions += self._commit()
        return actions

    def _run(self, batch: Batch, index: int, elapsed_ms: float) -> list[Action]:
        call_id, (operation, arguments) = batch.first + index, batch.entries[index]
        refused = self._enter(call_id, operation, arguments)
        if refused is not None and self._ends(refused):
            return self._refuse(call_id, refused)
        if refused is not None:
            batch.hold(index, refused)
            return []
        if self._over(elapsed_ms):
            self.ledger.leave(call_id)
            batch.stop(index)
            return []
        return [Dispatch(call_id, operation, arguments)]

    def _commit(self) -> list[Action]:
        """Write the replies that are due: in the order of the entries, like all charging."""
        actions: list[Action] = []
        batch = self._batch
        if batch is None:
            return actions
        for call_id, held in batch.due():
            if isinstance(held, Failure):
                actions += self._refuse(call_id, held)
            else:
                actions += self._deliver(call_id, held.value)
            if self._over(0):
                break
        if batch.over or self._over(0):
            self._batch = None
        return actions

    def _ends(self, error: Failure) -> bool:
        return self._around.terminal and load_tables().errors[error.code].ends == "exhaustion"

    # Records

    def _record(self, call_id: int) -> CallRecord:
        return self.records[call_id - 1]

    def _append(self, call_id: int, record: dict[str, Any]) -> None:
        assert self._around.keeping.history is not None
        try:
            self._around.keeping.history.append(record)
        except NotSavedError as error:
            self._record(call_id).warn(f"a record was not saved: {error}")

    def _outcome(self, call_id: int, value: Any) -> None:
        """Keep what came of a call, with its result unless that is no value or too large."""
        if self._around.keeping.history is None:
            return
        record = self._record(call_id)
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
                f"a result of {measured} bytes is not in its record: {APPEND_BYTES} are kept"
            )
        self._append(call_id, ended)
