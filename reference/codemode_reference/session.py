"""One invocation as the parent sees it, without I/O and without a clock.

Bytes, exits and timers come in as calls; what is to be done comes out as actions. The caller
applies the actions in order and stops at the first `End`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from codemode_reference import wire
from codemode_reference.claims import accept
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, Success, failure
from codemode_reference.evidence import CallRecord, Fate
from codemode_reference.frames import MALFORMED, parse
from codemode_reference.ledger import Ledger
from codemode_reference.lines import LineDecoder
from codemode_reference.protocol import Machine
from codemode_reference.values import NotJSONError, encode, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.tables import Endpoint

    from codemode_reference.frames import Frame, Rules
    from codemode_reference.operations import Catalogue

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
class Settled:
    """A result has arrived: cancel what is in flight and wait for the worker to exit."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The worker closed its output too early: wait a little for its exit status."""


@dataclass(frozen=True, slots=True)
class End:
    """The one outcome. Kill whatever is left of the worker."""

    outcome: Outcome


Action: TypeAlias = Dispatch | Write | Settled | Closed | End


class Session:
    """The parent's side of one invocation.

    `policy` is valid, `elapsed_ms` is always the time since the `execute` frame was handed over.
    """

    def __init__(
        self,
        invocation_id: int,
        policy: Mapping[str, int],
        catalogue: Catalogue,
        table: Endpoint,
        rules: Rules,
    ) -> None:
        self.invocation_id = invocation_id
        self._policy = policy
        self._catalogue = catalogue
        self._rules = rules
        self._machine = Machine(table)
        self._lines = LineDecoder(policy["ipc_frame_bytes"])
        self._ledger = Ledger(policy)
        self._sent: list[dict[str, Any]] = []
        self._outcome: Outcome | None = None
        self.frames = 0
        self.calls: list[CallRecord] = []

    @property
    def settled(self) -> bool:
        """Whether a valid result has arrived."""
        return self._outcome is not None

    @property
    def ended(self) -> bool:
        """Whether the invocation has its outcome."""
        return self._machine.ended

    def receive(self, data: bytes, elapsed_ms: float) -> list[Action]:
        """Bytes from the worker. Bytes after the result break the protocol."""
        actions: list[Action] = []
        for line in self._lines.feed(data):
            if self.ended:
                return actions
            self.frames += 1
            kind, frame = parse(line, self._rules)
            actions += self._frame(kind, frame, elapsed_ms)
        if self._lines.oversized:
            actions += self.event("oversized")
        elif self.settled and self._lines.pending:
            actions += self.event(MALFORMED)
        return actions

    def event(self, name: str) -> list[Action]:
        """Anything but a frame that `protocol.json` names: a timer, an exit, a cancellation."""
        was = self._machine.state
        step = self._machine.on(name)
        if step.error is not None:
            limits = {"limit": self._policy["wall_time_ms"]} if name == "deadline" else {}
            return [End(failure(step.error, **limits))]
        if step.ignore:
            return []
        if self.ended:
            assert self._outcome is not None
            return [End(self._outcome)]
        if self._machine.state != was and name == "stdout_eof":
            return [Closed()]
        return []

    def answer(self, call_id: int, value: Any, elapsed_ms: float) -> list[Action]:
        """The value that the operation of `call_id` returned; late ones lead to nothing."""
        self._record(call_id).fate = Fate.succeeded
        operation = self._release(call_id, elapsed_ms)
        if operation is None:
            return []
        try:
            measured = measure(value, self._policy["value_depth"])
        except NotJSONError:
            return self._refuse(call_id, failure(Code.host_result_invalid, operation=operation))
        seen = self._catalogue.redacted(operation, value)
        if seen is not value:
            value, measured = seen, measure(seen, self._policy["value_depth"])
        refused = self._ledger.deliver(operation, measured)
        if refused is not None:
            return self._refuse(call_id, refused)
        encoded = encode(value, self._policy["value_depth"])
        return [Write(wire.host_value(self.invocation_id, call_id, encoded))]

    def fail(
        self, call_id: int, elapsed_ms: float, error: Code = Code.operation_failed
    ) -> list[Action]:
        """The operation of `call_id` failed; why stays in the parent.

        What came of one that was cancelled after the end is not known. `error` may be
        `server_host_operations_limit`: its turn did not come in time.
        """
        operation = self._release(call_id, elapsed_ms)
        if operation is None:
            return []
        self._record(call_id).fate = Fate.failed
        fields = {"operation": operation}
        if error == Code.operation_failed:
            return self._refuse(call_id, failure(error, **fields))
        limit = self._policy["server_host_operations"]
        return self._refuse(call_id, failure(error, **fields, limit=limit))

    def _release(self, call_id: int, elapsed_ms: float) -> str | None:
        operation = self._ledger.leave(call_id)
        over = self.ended or self.settled or self._late(elapsed_ms)
        return None if over else operation

    def dispatched(self, call_id: int) -> None:
        """The operation of `call_id` is about to run."""
        self._record(call_id).dispatched = True

    def _record(self, call_id: int) -> CallRecord:
        return self.calls[call_id - 1]

    def _refuse(self, call_id: int, error: Failure) -> list[Action]:
        record = self._record(call_id)
        record.code = error.code
        if not record.dispatched:
            record.fate = Fate.failed
        self._sent.append({"code": error.code, **error.fields})
        return [Write(wire.host_error(self.invocation_id, call_id, error))]

    def _late(self, elapsed_ms: float) -> bool:
        return elapsed_ms > self._policy["wall_time_ms"]

    def _frame(self, kind: str, frame: Frame, elapsed_ms: float) -> list[Action]:
        if frame and frame.get("invocation_id") != self.invocation_id:
            kind = MALFORMED
        if kind == "host_call" and not self._ledger.expects(frame["call_id"]):
            kind = MALFORMED
        actions = self.event(kind)
        if actions or self.ended:
            return actions
        return (
            self._call(frame, elapsed_ms)
            if kind == "host_call"
            else self._result(frame, elapsed_ms)
        )

    def _call(self, frame: Frame, elapsed_ms: float) -> list[Action]:
        call_id, operation = frame["call_id"], frame["operation"]
        known = operation in self._catalogue
        if self._ledger.calls_used_up:
            # An unknown name is never echoed.
            named = {"operation": operation} if known else {}
            limit = self._policy["host_calls"]
            return self._terminal(failure(Code.host_calls_limit, **named, limit=limit))
        if not known:
            return self._terminal(failure(Code.unknown_operation))
        if operation not in self._catalogue.granted:
            return self._terminal(failure(Code.capability_denied, operation=operation))
        self._ledger.take()
        self.calls.append(CallRecord(call_id, operation))
        refused = self._ledger.enter(call_id, operation)
        if refused is not None:
            return self._refuse(call_id, refused)
        refused = self._unfit(operation, frame["arguments"])
        if refused is not None:
            self._ledger.leave(call_id)
            return self._refuse(call_id, refused)
        if self._late(elapsed_ms):
            self._ledger.leave(call_id)  # it will have no reply that could free its slot
            return []
        return [Dispatch(call_id, operation, frame["arguments"])]

    def _unfit(self, operation: str, arguments: Any) -> Failure | None:
        """Why a call that has its slot is not dispatched. Its pages and snapshots stay used."""
        refused = self._ledger.reserve(operation, self._catalogue[operation].cost)
        if refused is not None:
            return refused
        if not self._catalogue.accepts(operation, arguments):
            return failure(Code.invalid_arguments, operation=operation)
        if not self._catalogue.permits(operation, arguments):
            return failure(Code.capability_denied, operation=operation)
        return None

    def _result(self, frame: Frame, elapsed_ms: float) -> list[Action]:
        if not frame["ok"]:
            self._outcome = accept(
                frame["error"],
                sent=self._sent,
                ledger=self._ledger,
                elapsed_ms=elapsed_ms,
                names=self._catalogue.suggestions(),
            )
        elif self._late(elapsed_ms):
            limit = self._policy["wall_time_ms"]
            self._outcome = failure(Code.deadline_exceeded, limit=limit)
        else:
            self._outcome = self._value(frame)
        return [Settled()]

    def _value(self, frame: Frame) -> Outcome:
        if not frame["value_present"]:
            return Success(value_present=False)
        value = frame["value"]
        measured = measure(value, self._policy["value_depth"])
        limit = self._policy["final_result_bytes"]
        if measured > limit:
            return failure(Code.final_result_bytes_limit, measured=measured, limit=limit)
        return Success(value_present=True, value=value)

    def _terminal(self, outcome: Failure) -> list[Action]:
        self._machine.end()
        return [End(outcome)]
