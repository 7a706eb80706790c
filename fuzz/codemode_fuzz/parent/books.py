"""An observer's books of one invocation, kept from what the parent does alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from codemode_reference.actions import Dispatch, End, Settled, Write
from codemode_reference.errors import Failure, Success
from codemode_reference.evidence import Fate, evidence_of
from codemode_reference.history import History
from codemode_reference.records import Keeping
from codemode_spec.sizes import size_of
from codemode_spec.tables import load_tables

from codemode_fuzz import reading
from codemode_fuzz.finding import Finding
from codemode_fuzz.parent.catalogue import MODEL
from codemode_fuzz.parent.prophet import INVOCATION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_reference.actions import Action
    from codemode_reference.evidence import CallRecord

    from codemode_fuzz.parent.script import Script

CANARY = "canary-6f1c"
"""What stands in a field for people; no byte to a worker and no outcome may have it."""


class Books:
    """What was dispatched, answered, delivered, kept and ended."""

    def __init__(self, script: Script) -> None:
        self._policy = script.policy
        self._around = script.around
        self._saved: set[int] = set()
        # What became of calls, as far as it was seen; of all others it is unknown.
        self.fates: dict[int, Fate] = {}
        self._names: dict[int, str] = {}
        self._answered: set[int] = set()
        self.open: set[int] = set()
        # Whether an operation also said it where a program may see it.
        self.told_openly = False
        self._delivered = 0
        self._settled = False
        self.outcome: Success | Failure | None = None

    def keeping(self) -> Keeping:
        """Where the records of calls go; what is saved of them is seen here."""
        room = self._around.history
        save = None if self._around.counted else self._save
        history = None if room is None else History(room, save)
        return Keeping(history=history, hooks=self._around.hooks)

    @property
    def _saves(self) -> bool:
        """Whether somebody saves what is on record, or tries to."""
        return self._around.history is not None and not self._around.counted

    def _save(self, line: bytes) -> None:
        if self._around.unsaved:
            raise OSError("no space is left")
        # What is no line of its own is no record of anything.
        if line.find(b"\n") == len(line) - 1:
            self._saved.add(json.loads(line)["call_id"])

    def warned(self, record: CallRecord) -> None:
        """A call is about to run: where it could not be saved, people are told."""
        told = self._around.unsaved and self._saves
        if bool(record.warnings_total) != told:
            raise Finding("record", "a warning that nothing is behind, or none")

    def judge(self, calls: Sequence[CallRecord], charged: int) -> None:
        """Hold the records of calls against what was seen, once nothing more happens."""
        found = evidence_of("succeeded", calls)
        if len(calls) != charged or sum(found.totals.values()) != charged:
            raise Finding("record", "calls that were charged are missing, or others are there")
        for record in calls:
            seen = self.fates.get(record.call_id, Fate.unknown)
            # One that ended it all is no success; that nothing ran need not be told.
            refused = record.call_id not in self._names and self.outcome is not None
            if record.fate != seen and not (refused and record.fate is not Fate.succeeded):
                raise Finding("record", f"{record.fate} where {seen} was seen")
        shown = [entry["fate"] for entry in found.calls]
        if shown != sorted(shown, key="succeeded".__eq__):
            raise Finding("record", "what did not succeed is not shown first")

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
        if self._saves and not self._around.unsaved and action.call_id not in self._saved:
            raise Finding("record", "a call runs before it is on record")
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
        if not frame["ok"] and frame["call_id"] not in self._names:
            self.fates[frame["call_id"]] = Fate.failed
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
