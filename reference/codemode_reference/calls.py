"""The host calls of one invocation at its parent: checked, charged, answered and on record.

Without I/O and without a clock, like the session that it is a part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from codemode_spec.tables import load_tables

from codemode_reference import wire
from codemode_reference.actions import Dispatch, Write
from codemode_reference.batch import Batch
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, failure
from codemode_reference.evidence import CallRecord, Fate
from codemode_reference.ledger import Ledger
from codemode_reference.records import Records
from codemode_reference.values import NotJSONError, encode, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from codemode_reference.actions import Action
    from codemode_reference.operations import Catalogue
    from codemode_reference.records import Keeping


class Surroundings(NamedTuple):
    """What calls take from their parent. `terminal`: a spent budget ends the invocation."""

    policy: Mapping[str, int]
    catalogue: Catalogue
    terminal: bool
    keeping: Keeping


class _Value(NamedTuple):
    """What an operation gave."""

    value: Any


class _Failed(NamedTuple):
    """How an operation failed."""

    error: Failure


_Answer: TypeAlias = _Value | _Failed


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
        self.records = Records(around.keeping, around.policy)

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
        self.records.add(call_id, operation)
        refused = self._enter(call_id, operation, arguments)
        if refused is not None:
            return self._refuse(call_id, refused)
        full = self.records.keep([(call_id, operation, arguments)])
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
            self.records.add(call_id, operation)
        full = self.records.keep(calls)
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
        self.records[call_id].fate = Fate.succeeded
        self.records.ended(call_id, value)
        return self._answered(call_id, _Value(value), elapsed_ms)

    def fail(self, call_id: int, elapsed_ms: float, error: Code) -> list[Action]:
        """The operation of `call_id` failed; why stays in the parent."""
        record = self.records[call_id]
        fields: dict[str, Any] = {"operation": record.operation}
        if error != Code.operation_failed:
            fields["limit"] = self._policy["server_host_operations"]
        if not self._over(elapsed_ms):
            record.fate = Fate.failed
            self.records.ended(call_id, None)
        return self._answered(call_id, _Failed(failure(error, **fields)), elapsed_ms)

    def dispatched(self, call_id: int) -> CallRecord:
        """The operation of `call_id` is about to run; what it does goes to the record."""
        record = self.records[call_id]
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

    # Answers

    def _answered(self, call_id: int, answer: _Answer, elapsed_ms: float) -> list[Action]:
        """Free the slot of a call; one of a batch waits until all before it are answered."""
        if self.ledger.leave(call_id) is None or self._over(0):
            return []
        if self._batch is not None and call_id in self._batch:
            self._batch.hold(call_id - self._batch.first, answer)
            return self._advance(elapsed_ms)
        return self._give(call_id, answer, elapsed_ms)

    def _give(self, call_id: int, answer: _Answer, elapsed_ms: float) -> list[Action]:
        if self._over(elapsed_ms):
            return []
        if isinstance(answer, _Failed):
            return self._refuse(call_id, answer.error)
        return self._deliver(call_id, answer.value)

    def _deliver(self, call_id: int, value: Any) -> list[Action]:
        operation = self.records[call_id].operation
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
        record = self.records[call_id]
        record.code = error.code
        if not record.dispatched:
            record.fate = Fate.failed
        if self._ends(error):
            return self._terminal(error)
        self.sent.append({"code": error.code, **error.fields})
        return [Write(wire.host_error(self._invocation_id, call_id, error))]

    # Batches

    def _advance(self, elapsed_ms: float) -> list[Action]:
        """Give out what is due and run what may run, until nothing is left to do."""
        actions = self._commit(elapsed_ms)
        while self._batch is not None and (index := self._batch.ready()) is not None:
            actions += self._run(self._batch, index, elapsed_ms)
            actions += self._commit(elapsed_ms)
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

    def _commit(self, elapsed_ms: float) -> list[Action]:
        """Write the replies that are due: in the order of the entries, like all charging."""
        actions: list[Action] = []
        batch = self._batch
        if batch is None:
            return actions
        for call_id, held in batch.due():
            if isinstance(held, Failure):
                actions += self._refuse(call_id, held)
            else:
                actions += self._give(call_id, held, elapsed_ms)
            if self._over(0):
                break
        if batch.over or self._over(0):
            self._batch = None
        return actions

    def _ends(self, error: Failure) -> bool:
        return self._around.terminal and load_tables().errors[error.code].ends == "exhaustion"
