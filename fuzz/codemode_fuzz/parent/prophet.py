"""What the model says to the steps of a script: its own lines, its own reading, its own books."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from codemode_spec.model import ledger, parent, terms
from codemode_spec.model.values import HEARING
from codemode_spec.sizes import NotAValueError, size_of

from codemode_fuzz import reading
from codemode_fuzz.parent.catalogue import MODEL, accepts, redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INVOCATION: Final = 1
METHODS: Final = {"read": "read", "open": "open", "list_all": "listAll", "write": "write"}
"""The method of each granted operation: what else an error may suggest to a program."""
_REFUSAL_FIELDS: Final = ("operation", "reason", "measured", "limit", "counted")
_CLOCKS: Final = {"wall_time_ms": parent.TIME_UP, "cpu_time_ms": parent.CPU_TIME_UP}
_PROTOCOL: Final = ("malformed", "unknown", "oversized")


class Reported(NamedTuple):
    """The parent hands on a message about progress."""

    fields: dict[str, Any]


Said: TypeAlias = terms.Action | Reported


class Prophet:
    """The model of a parent, which hears bytes, answers and events as the reference does.

    Each method gives the model's actions; `late` says whether wall_time_ms has passed.
    """

    def __init__(
        self, profile: str, policy: Mapping[str, int], *, absent: bool, readonly: bool = False
    ) -> None:
        chosen = {"undefined_result": "absent" if absent else "reject"}
        made = terms.rules(MODEL, profile=profile, policy=policy, alternatives=chosen)
        self.rules = replace(made, readonly=readonly)
        self._absent = absent
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

    def passes(self, milliseconds: int) -> None:
        """Time passes."""
        before, self.elapsed_ms = self.elapsed_ms, self.elapsed_ms + milliseconds
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
        try:
            size_of(value, depth)
        except NotAValueError:
            return self._answer(terms.Answer(call_id, fault="not_json"))
        seen = redacted(name, value)
        return self._answer(terms.Answer(call_id, size_of(seen, depth), value=seen))

    def fails(self, call_id: int) -> list[terms.Action]:
        """An operation failed."""
        return self._answer(terms.Answer(call_id, fault="failed"))

    def no_turn(self, call_id: int) -> list[terms.Action]:
        """A call waited for a slot of the server until it was too late."""
        if call_id not in self.parent.in_flight:
            return []
        if self.parent.state not in HEARING or self.parent.late:
            self.parent = ledger.without(self.parent, call_id)
            return []
        name = self.parent.operation_of[call_id - 1]
        limit = self.rules.policy["server_host_operations"]
        error = terms.Refusal("server_host_operations_limit", operation=name, limit=limit)
        return self._step(ledger.refuse(self.parent, call_id, error, ()))

    def in_batch(self, call_id: int) -> bool:
        """Whether a call is one of a batch that is under way."""
        under = self.parent.batch
        return under is not None and call_id in {call.call_id for call in under.calls}

    def _line(self, line: bytes) -> Sequence[Said]:
        kind, frame = reading.frame(line, self.rules.profile.name)[self._absent]
        if frame and frame["invocation_id"] != INVOCATION:
            kind = "malformed"
        if kind == "host_call":
            valid = accepts(frame["operation"], frame["arguments"])
            call = (frame["call_id"], frame["operation"], frame["arguments"], valid)
            return self._take(kind, terms.HostCall(*call))
        if kind == "host_batch":
            return self._take(kind, _batch(frame))
        if kind == "progress":
            return self._progress(frame)
        if kind == "result":
            return self._take(kind, self._result(frame))
        return self._take(kind)

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
        self.parent = step.parent
        return list(step.actions)


def _batch(frame: Mapping[str, Any]) -> terms.HostBatch:
    calls = []
    for number, entry in enumerate(frame["calls"], frame["call_id"]):
        name, arguments = entry["operation"], entry["arguments"]
        calls.append(terms.HostCall(number, name, arguments, accepts(name, arguments)))
    return terms.HostBatch(tuple(calls))


def _refusal(error: Mapping[str, Any]) -> terms.Refusal:
    """The claim of a worker. A name that this catalogue does not grant is never believed."""
    names = {*METHODS, *METHODS.values()}
    if any(name in error and error[name] not in names for name in ("operation", "suggestion")):
        return terms.UNCAUGHT
    fields = {name: error[name] for name in _REFUSAL_FIELDS if name in error}
    return terms.Refusal(error["code"], **fields)
