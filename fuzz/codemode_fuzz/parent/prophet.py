"""What the model says to the steps of a script: its own lines, its own reading, its own books."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from codemode_spec.model import ledger, parent, terms
from codemode_spec.model.values import HEARING
from codemode_spec.sizes import NotAValueError, size_of

from codemode_fuzz import reading
from codemode_fuzz.parent.catalogue import MODEL, accepts, permits, redacted
from codemode_fuzz.texts import blocked_in, texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_fuzz.parent.script import Script

INVOCATION: Final = 1
METHODS: Final = {"read": "read", "open": "open", "list_all": "listAll", "write": "write"}
"""The method of each granted operation: what else an error may suggest to a program."""
_REFUSAL_FIELDS: Final = ("operation", "reason", "measured", "limit", "counted")
_BLOCKED: Final = "pattern_blocked"
_HISTORY: Final = ("history_headroom_limit", "batch_history_limit")
_CLOCKS: Final = {"wall_time_ms": parent.TIME_UP, "cpu_time_ms": parent.CPU_TIME_UP}
_PROTOCOL: Final = ("malformed", "unknown", "oversized")


class Reported(NamedTuple):
    """The parent hands on a message about progress."""

    fields: dict[str, Any]


Said: TypeAlias = terms.Action | Reported
_KEPT_BYTES: Final = 65_536
_KEPT_DEPTH: Final = 130


class Blocked(terms.Refusal):
    """A refusal with a pattern, which the model has no word for: it stands in `reason`."""

    def fields(self) -> dict[str, Any]:
        """Code and pattern."""
        return {"code": self.code, "pattern": self.reason}


class Prophet:
    """The model of a parent, which hears bytes, answers and events as the reference does.

    Each method gives the model's actions; `late` says whether wall_time_ms has passed.
    """

    def __init__(self, script: Script) -> None:
        around = script.around
        chosen = {
            "undefined_result": "absent" if around.absent else "reject",
            "exhaustion": "terminal" if around.terminal else "catchable",
        }
        self.rules = replace(
            terms.rules(MODEL, profile=script.profile, policy=script.policy, alternatives=chosen),
            readonly=around.readonly,
            hooks=around.hooks,
            history_bytes=around.history,
        )
        self._around = around
        # Why calls are refused that the model takes for blocked, by their ids.
        self._refused: dict[int, terms.Refusal] = {}
        self.charged_last = 0
        self._frame_bytes = self.rules.policy["ipc_frame_bytes"]
        self._reports = 0
        self.parent = parent.start(self.rules)
        self.elapsed_ms = 0.0
        self._held = b""
        self._oversized = False

    @property
    def settled(self) -> bool:
        """Whether a result was taken and the worker is awaited."""
        return self.parent.settled is not None

    @property
    def ended(self) -> bool:
        """Whether the invocation has its outcome."""
        return self.parent.outcome is not None

    @property
    def waiting(self) -> bool:
        """Whether an answer is due to the worker."""
        return bool(self.parent.in_flight) or self.parent.batch is not None

    @property
    def charged(self) -> int:
        """How many calls were charged and are on record."""
        return self.parent.calls + self.charged_last

    def passes(self, milliseconds: int) -> None:
        """Time passes.

        The model knows the time before a limit and after it, and no moment between them: one that
        would be exactly at a limit is taken for a little later, by both.
        """
        before, self.elapsed_ms = self.elapsed_ms, self.elapsed_ms + milliseconds
        if self.elapsed_ms in {self.rules.policy.get(row) for row in _CLOCKS}:
            self.elapsed_ms += 0.5
        for row, event in _CLOCKS.items():
            limit = self.rules.policy.get(row)
            if limit is not None and before <= limit < self.elapsed_ms:
                self._take(event)

    def hears(self, data: bytes) -> Sequence[Said]:
        """Bytes of the worker."""
        actions: list[Said] = []
        lines, oversized, _ = reading.lines(self._held + data, self._frame_bytes)
        if self._oversized:
            return actions
        self._oversized = oversized
        self._held = (self._held + data).rpartition(b"\n")[2]
        for line in lines:
            if self.ended:
                return actions
            actions += self._line(line)
        if oversized:
            actions += self._take("oversized")
        elif self.settled and self._held:
            actions += self._take("malformed")
        return actions

    def event(self, name: str) -> list[terms.Action]:
        """An event that is no frame."""
        return self._take(name)

    def answers(self, call_id: int, value: Any) -> list[terms.Action]:
        """An operation returned a value; the reply carries what a program may see of it."""
        name = self.parent.operation_of[call_id - 1]
        depth = self.rules.policy["value_depth"]
        self._keeps(call_id, "succeeded", value)
        try:
            size_of(value, depth)
        except NotAValueError:
            return self._answer(terms.Answer(call_id, fault="not_json"))
        seen = redacted(name, value)
        return self._answer(terms.Answer(call_id, size_of(seen, depth), value=seen))

    def fails(self, call_id: int) -> list[terms.Action]:
        """An operation failed."""
        self._fails(call_id)
        return self._answer(terms.Answer(call_id, fault="failed"))

    def no_turn(self, call_id: int) -> list[terms.Action]:
        """A call waited for a slot of the server until it was too late."""
        self._fails(call_id)
        if call_id not in self.parent.in_flight:
            return []
        if self.parent.state not in HEARING or self.parent.late:
            self.parent = ledger.without(self.parent, call_id)
            return []
        name = self.parent.operation_of[call_id - 1]
        limit = self.rules.policy["server_host_operations"]
        error = terms.Refusal("server_host_operations_limit", operation=name, limit=limit)
        return self._step(ledger.refuse(self.parent, call_id, error, ()))

    def used_up(self) -> list[terms.Action]:
        """The worker has used up its processor time."""
        if self.settled or self.ended:
            return []
        error = terms.Refusal("cpu_time_exceeded", limit=self.rules.policy["cpu_time_ms"])
        return self._step(ledger.end(self.rules, self.parent, error, ()))

    def in_batch(self, call_id: int) -> bool:
        """Whether a call is one of a batch that is under way."""
        under = self.parent.batch
        return under is not None and call_id in {call.call_id for call in under.calls}

    def _line(self, line: bytes) -> Sequence[Said]:
        kind, frame = reading.frame(line, self.rules.profile.name)[self._around.absent]
        if frame and frame["invocation_id"] != INVOCATION:
            kind = "malformed"
        if kind == "host_call":
            return self._take(kind, self._call(frame["call_id"], frame))
        if kind == "host_batch":
            return self._batch(frame)
        if kind == "progress":
            return self._progress(frame)
        if kind == "result":
            return self._take(kind, self._result(frame))
        return self._take(kind)

    def _call(self, call_id: int, entry: Mapping[str, Any]) -> terms.HostCall:
        """A call as the model knows it. Without a permission it is like a blocked one."""
        name, arguments = entry["operation"], entry["arguments"]
        patterns = blocked_in(texts_of(arguments)) if self._around.filtered else []
        if patterns:
            self._refused[call_id] = Blocked(_BLOCKED, reason=patterns[0])
        elif not permits(name, arguments):
            self._refused[call_id] = terms.Refusal("capability_denied", operation=name)
        else:
            self._refused.pop(call_id, None)
        record = {"call_id": call_id, "operation": name, "arguments": arguments}
        blocked = call_id in self._refused
        valid = accepts(name, arguments)
        return terms.HostCall(call_id, name, arguments, valid, blocked, _line_bytes(record))

    def _batch(self, frame: Mapping[str, Any]) -> Sequence[Said]:
        calls = enumerate(frame["calls"], frame["call_id"])
        batch = terms.HostBatch(tuple(self._call(*call) for call in calls))
        actions = self._take("host_batch", batch)
        error = None if self.parent.outcome is None else self.parent.outcome.error
        if error is not None and error.code in _HISTORY:
            # The history is looked at when all of it is on record, where the model has ended.
            self.charged_last = len(batch.calls)
        return actions

    def _fails(self, call_id: int) -> None:
        """What failed when all was over is not known, so that nothing is on record."""
        if not (self.settled or self.ended or self.parent.late):
            self._keeps(call_id, "failed", None)

    def _keeps(self, call_id: int, fate: str, value: Any) -> None:
        """What came of a call goes to the history, with its result if that is one and fits."""
        if self.rules.history_bytes is None:
            return
        record: dict[str, Any] = {"call_id": call_id, "fate": fate}
        try:
            if size_of(value, self.rules.policy["value_depth"]) <= _KEPT_BYTES:
                record["result"] = value
        except NotAValueError:
            pass
        used = self.parent.history + _line_bytes(record)
        self.parent = self.parent._replace(history=used)

    def _progress(self, frame: Mapping[str, Any]) -> Sequence[Said]:
        """The model knows where such a message may come; how many is counted here."""
        self._reports += 1
        too_many = self._reports > self.rules.tables.progress.most
        actions: list[Said] = [*self._take("malformed" if too_many else "progress")]
        if not self.ended:
            told = ("current", "total", "message")
            actions.append(Reported({name: frame[name] for name in told if name in frame}))
        return actions

    def _result(self, frame: Mapping[str, Any]) -> terms.Result:
        if not frame["ok"]:
            return terms.Result(error=_refusal(frame["error"]))
        if not frame["value_present"]:
            return terms.Result()
        value = frame["value"]
        return terms.Result(True, size_of(value, self.rules.policy["value_depth"]), value)

    def _take(self, name: str, frame: Any = None) -> list[terms.Action]:
        return self._step(parent.on_event(self.rules, self.parent, name, frame))

    def _answer(self, answer: terms.Answer) -> list[terms.Action]:
        return self._step(parent.on_answer(self.rules, self.parent, answer))

    def _step(self, step: ledger.Step) -> list[terms.Action]:
        actions = [self._named(action) for action in step.actions]
        errors = {one.error for one in actions if isinstance(one, terms.Reply) and one.error}
        self.parent = step.parent._replace(sent=self.parent.sent | errors)
        return actions

    def _named(self, action: terms.Action) -> terms.Action:
        """The action with the reason why a call was refused that the model took for blocked."""
        if not isinstance(action, terms.Reply) or action.error is None:
            return action
        if action.error.code != _BLOCKED:
            return action
        return action._replace(error=self._refused[action.call_id])


def _line_bytes(record: Mapping[str, Any]) -> int:
    return size_of(record, _KEPT_DEPTH) + 1


def _refusal(error: Mapping[str, Any]) -> terms.Refusal:
    """The claim of a worker. A name that this catalogue does not grant is never believed."""
    names = {*METHODS, *METHODS.values()}
    if any(name in error and error[name] not in names for name in ("operation", "suggestion")):
        return terms.UNCAUGHT
    if "pattern" in error:
        return Blocked(error["code"], reason=error["pattern"])
    fields = {name: error[name] for name in _REFUSAL_FIELDS if name in error}
    return terms.Refusal(error["code"], **fields)
