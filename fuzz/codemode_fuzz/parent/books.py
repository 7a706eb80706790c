"""An observer's books of one invocation, kept from what the parent does alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode_reference.actions import Dispatch, End, Settled, Write
from codemode_reference.errors import Failure, Success
from codemode_spec.sizes import size_of
from codemode_spec.tables import load_tables

from codemode_fuzz import reading
from codemode_fuzz.finding import Finding
from codemode_fuzz.parent.catalogue import MODEL
from codemode_fuzz.parent.prophet import INVOCATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_reference.actions import Action

CANARY = "canary-6f1c"
"""What stands in a field for people; no byte to a worker and no outcome may have it."""


class Books:
    """What was dispatched, answered, delivered and ended. `policy` is the policy of the run."""

    def __init__(self, policy: Mapping[str, int]) -> None:
        self._policy = policy
        self._names: dict[int, str] = {}
        self._answered: set[int] = set()
        self.open: set[int] = set()
        # Whether an operation also said it where a program may see it.
        self.told_openly = False
        self._delivered = 0
        self._settled = False
        self.outcome: Success | Failure | None = None

    def note(self, actions: list[Action]) -> None:
        """Enter some actions. Raises Finding for the first that no parent may do."""
        for action in actions:
            if self.outcome is not None:
                raise Finding("outcome", f"{type(action).__name__} after the end")
            match action:
                case Dispatch():
                    self._dispatch(action)
                case Write():
                    self._write(action.data)
                case Settled():
                    self._settled = True
                case End():
                    self.outcome = action.outcome
                    self._end(action.outcome)

    def _dispatch(self, action: Dispatch) -> None:
        if self._settled:
            raise Finding("dispatch", "after the result")
        if action.operation not in MODEL or not MODEL[action.operation].granted:
            raise Finding("dispatch", "an operation that is not granted")
        if action.call_id in self._names:
            raise Finding("dispatch", "a call twice")
        self._names[action.call_id] = action.operation
        self.open.add(action.call_id)
        costs = [MODEL[name] for name in self._names.values()]
        self._within("host_calls", len(self._names))
        self._within("concurrent_host_calls", len(self.open))
        self._within("pages", sum(cost.pages for cost in costs))
        self._within("snapshots", sum(cost.snapshots for cost in costs))

    def _write(self, data: bytes) -> None:
        if self._settled:
            raise Finding("reply", "after the result")
        if not data.endswith(b"\n") or data.count(b"\n") != 1:
            raise Finding("reply", "not one line")
        if len(data) - 1 > self._policy["ipc_frame_bytes"]:
            raise Finding("reply", "a line above ipc_frame_bytes")
        (kind, frame), _ = reading.frame(data[:-1])
        if kind != "host_result" or frame["invocation_id"] != INVOCATION:
            raise Finding("reply", f"a {kind} frame, or one of another invocation")
        if frame["call_id"] in self._answered:
            raise Finding("reply", "a call is answered twice")
        if CANARY.encode() in data and not self.told_openly:
            raise Finding("canary", "in a reply")
        self._answered.add(frame["call_id"])
        if frame["ok"]:
            size = size_of(frame["value"], self._policy["value_depth"])
            self._delivered += size
            self._within("host_result_bytes", size)
            self._within("cumulative_host_result_bytes", self._delivered)

    def _within(self, row: str, used: int) -> None:
        if used > self._policy.get(row, used):
            raise Finding("budget", f"{row} is passed")

    def _end(self, outcome: Success | Failure) -> None:
        if isinstance(outcome, Success):
            if outcome.value_present:
                size = size_of(outcome.value, self._policy["value_depth"])
                self._within("final_result_bytes", size)
            return
        check_failure(outcome.to_json())


def check_failure(told: Mapping[str, Any]) -> None:
    """What a client is told is a code of the table with its fields and its message."""
    entry = load_tables().errors.get(told["code"])
    if entry is None or entry.code == "internal_error":
        raise Finding("verdict", f"ends with {told['code']}")
    fields = set(told) - {"code", "message"}
    required = {name for name, presence in entry.fields.items() if presence == "required"}
    if fields - set(entry.fields) or required - fields:
        raise Finding("verdict", f"{entry.code} with other fields than its own")
    if told["message"] != entry.text(told):
        raise Finding("verdict", f"{entry.code} with another message")
    if not str(told.get("detail", "")).isprintable():
        raise Finding("verdict", f"{entry.code} with a detail that is not printable")
