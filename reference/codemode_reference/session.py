"""One invocation as the parent sees it, without I/O and without a clock.

Bytes, exits and timers come in as calls; what is to be done comes out as actions. The caller
applies the actions in order and stops at the first `End`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_spec.tables import load_tables

from codemode_reference.actions import Closed, End, Progress, Settled
from codemode_reference.calls import Calls, Surroundings
from codemode_reference.claims import accept
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, Success, failure
from codemode_reference.frames import MALFORMED, parse
from codemode_reference.lines import LineDecoder
from codemode_reference.protocol import Machine
from codemode_reference.records import Keeping
from codemode_reference.values import measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from codemode_spec.tables import Endpoint

    from codemode_reference.actions import Action, Outcome
    from codemode_reference.evidence import CallRecord
    from codemode_reference.frames import Frame, Rules
    from codemode_reference.operations import Catalogue


class Session:
    """The parent's side of one invocation.

    `policy` is valid, `elapsed_ms` is always the time that counts since the `execute` frame was
    handed over, `keeping` says what becomes of the records of calls.
    """

    def __init__(  # noqa: PLR0913, PLR0917  all that one invocation is made of
        self,
        invocation_id: int,
        policy: Mapping[str, int],
        catalogue: Catalogue,
        table: Endpoint,
        rules: Rules,
        keeping: Keeping | None = None,
    ) -> None:
        self.invocation_id = invocation_id
        self._policy = policy
        self._catalogue = catalogue
        self._rules = rules
        self._machine = Machine(table)
        self._lines = LineDecoder(policy["ipc_frame_bytes"])
        terminal = rules["alternatives"]["exhaustion"] == "terminal"
        self._calls = Calls(
            invocation_id,
            Surroundings(policy, catalogue, terminal, keeping or Keeping()),
            self._over,
            self._terminal,
        )
        self._outcome: Outcome | None = None
        self._reports = 0
        self.frames = 0

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The record of each call, in order."""
        return self._calls.records.calls

    @property
    def waiting(self) -> bool:
        """Whether the program waits for an answer of ours."""
        return self._calls.waiting

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

    def used_up(self) -> list[Action]:
        """The worker has used `cpu_time_ms` and the grace, and has not said so itself."""
        if self.ended or self.settled:
            return []
        limit = self._policy["cpu_time_ms"]
        return self._terminal(failure(Code.cpu_time_exceeded, limit=limit))

    def answer(self, call_id: int, value: Any, elapsed_ms: float) -> list[Action]:
        """The value that the operation of `call_id` returned; late ones lead to nothing."""
        return self._calls.answer(call_id, value, elapsed_ms)

    def fail(
        self, call_id: int, elapsed_ms: float, error: Code = Code.operation_failed
    ) -> list[Action]:
        """The operation of `call_id` failed; why stays in the parent.

        What came of one that was cancelled after the end is not known. `error` may be
        `server_host_operations_limit`: its turn did not come in time.
        """
        return self._calls.fail(call_id, elapsed_ms, error)

    def dispatched(self, call_id: int) -> CallRecord:
        """The operation of `call_id` is about to run; what it does goes to the record."""
        return self._calls.dispatched(call_id)

    def _over(self, elapsed_ms: float) -> bool:
        return self.ended or self.settled or self._late(elapsed_ms)

    def _late(self, elapsed_ms: float) -> bool:
        return elapsed_ms > self._policy["wall_time_ms"]

    def _frame(self, kind: str, frame: Frame, elapsed_ms: float) -> list[Action]:
        if frame and frame.get("invocation_id") != self.invocation_id:
            kind = MALFORMED
        if kind in ("host_call", "host_batch") and not self._calls.expects(frame["call_id"]):
            kind = MALFORMED
        actions = self.event(kind)
        if actions or self.ended:
            return actions
        if kind == "progress":
            return self._progress(frame)
        if kind == "host_call":
            call = frame["call_id"], frame["operation"], frame["arguments"]
            return self._calls.call(*call, elapsed_ms)
        if kind == "host_batch":
            entries = [(entry["operation"], entry["arguments"]) for entry in frame["calls"]]
            return self._calls.batch(frame["call_id"], entries, elapsed_ms)
        return self._result(frame, elapsed_ms)

    def _progress(self, frame: Frame) -> list[Action]:
        self._reports += 1
        if self._reports > load_tables().progress.most:
            return self.event(MALFORMED)
        told = ("current", "total", "message")
        return [Progress({name: frame[name] for name in told if name in frame})]

    def _result(self, frame: Frame, elapsed_ms: float) -> list[Action]:
        if not frame["ok"]:
            self._outcome = accept(
                frame["error"],
                sent=self._calls.sent,
                ledger=self._calls.ledger,
                elapsed_ms=elapsed_ms,
                operations=self._catalogue.granted,
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
