"""The state spaces: a parent against any worker, an honest pair, batches, and what servers share.

Each is bounded by a small policy: two or three of everything, and sizes of a few bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.model import parent as parents
from codemode_spec.model.exploration import Move
from codemode_spec.model.terms import (
    UNCAUGHT,
    Answer,
    End,
    HostBatch,
    HostCall,
    Operation,
    Refusal,
    Reply,
    Result,
    Rules,
    Settle,
    rules,
)
from codemode_spec.model.watch import Watch, observe
from codemode_spec.tables import load_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from codemode_spec.model.ledger import Parent, Step

SMALL: Final = {
    "host_calls": 2,
    "concurrent_host_calls": 2,
    "pages": 1,
    "snapshots": 1,
    "host_result_bytes": 2,
    "cumulative_host_result_bytes": 3,
    "final_result_bytes": 2,
    "history_headroom_bytes": 1,
    "batch_history_bytes": 3,
}
"""A policy in which every budget can be used up by two calls."""

OPERATIONS: Final = {
    "read": Operation("read", pages=1),
    "open": Operation("open", snapshots=1),
    "write": Operation("write", effect="write"),
    "secret": Operation("secret", granted=False),
}

_AT_LIMIT: Final = {
    "host_calls": "host_calls_limit",
    "concurrent_host_calls": "host_concurrency_limit",
}
ANSWERS: Final = (
    ("1 byte", {"size": 1}),
    ("2 bytes", {"size": 2}),
    ("3 bytes", {"size": 3}),
    ("a failure", {"fault": "failed"}),
    ("no JSON", {"fault": "not_json"}),
)
"""What an operation may answer."""


@dataclass(frozen=True)
class Boundary:
    """The parent's functions, which a planted fault may replace."""

    on_event: Callable[[Rules, Parent, str, Any], Step] = parents.on_event
    on_answer: Callable[[Rules, Parent, Answer], Step] = parents.on_answer


class Seen(NamedTuple):
    """A parent and the observer's books."""

    parent: Parent
    watch: Watch = Watch()


def covers(
    rules: Rules, before: Parent, event: str, step: Step, frame: Any = None
) -> tuple[str, ...]:
    """The rules that a step exercised: a cell of the protocol table, and each check it made."""
    cells = []
    if event in rules.tables.endpoints["parent"].events:
        cells.append(f"parent {before.state} {event}")
    cells += _more(rules, before, event, step, frame)
    cells += [note.rule for note in step.notes if note.place in rules.tables.places]
    # The same check may end the call or the invocation: both are worth a trace.
    failed = [note.rule for note in step.notes if not note.passed]
    cells += [f"{rule}, {type(a).__name__.lower()}" for rule in failed for a in step.actions]
    return tuple(cells)


def _more(rules: Rules, before: Parent, event: str, step: Step, frame: Any) -> list[str]:
    """What is worth a trace besides cells and checks: ids out of order, and what is believed."""
    said = [note.check for note in step.notes if note.place == "protocol"]
    if said == ["malformed"] and event != "malformed":
        first = frame.calls[0] if isinstance(frame, HostBatch) else frame
        which = "above" if first.call_id > before.calls else "below"
        return [f"{event} in {before.state}, {which} the next id"]
    found = [f"parent {before.state} answer"] if event == "answer" else []
    late = (", late" if before.late else "") + (", spent" if before.spent else "")
    for action in step.actions:
        if isinstance(action, Reply) and action.error is not None:
            found.append(f"{event}: {action.error}")
        elif isinstance(action, Settle | End):
            cancelled = f"{len(action.cancelled)} of {before.calls} calls"
            found.append(f"{type(action).__name__} in {before.state}, {cancelled}{late}")
        if isinstance(action, End) and action.outcome.error is not None:
            kept = f", {before.history} on record" if event == "host_call" else ""
            found.append(f"{event}: {action.outcome.error}{kept}")
    settled = step.parent.settled
    if isinstance(frame, Result) and settled is not None:
        alike = any(frame.error and sent.code == frame.error.code for sent in before.sent)
        how = "sent" if frame.error in before.sent else "like one sent" if alike else "not sent"
        told = "believed" if settled.error == frame.error else "doubted"
        left = "" if before.calls < rules.policy["host_calls"] else ", no call left"
        found.append(f"{frame.error or frame.present} {how}, {told}{late}{left}")
    return found


def small(
    profile: str,
    policy: Mapping[str, int] | None = None,
    alternatives: Mapping[str, str] | None = None,
    *,
    readonly: bool = False,
) -> Rules:
    """The rules of a profile under the small policy; a history holds 5 bytes where one is kept."""
    rows = load_tables().profiles[profile].rows
    numbers = {name: value for name, value in {**SMALL, **(policy or {})}.items() if name in rows}
    chosen = rules(OPERATIONS, profile=profile, policy=numbers, alternatives=alternatives)
    history = 5 if "history_headroom_bytes" in rows else None
    return replace(chosen, readonly=readonly, history_bytes=history)


class AnyWorker:
    """A parent whose worker sends whatever it likes, whenever it likes."""

    def __init__(
        self, name: str, rules: Rules, boundary: Boundary, *, modules: bool = False
    ) -> None:
        self.name = name
        self.rules = rules
        self._boundary = boundary
        frames = ("host_call", "host_batch", "progress", "result")
        events = rules.tables.endpoints["parent"].events
        self._plain = [e for e in events if e not in frames or (modules and e == "progress")]
        self._modules = modules
        self._first = rules.tables.endpoints["parent"].initial

    def initial(self) -> Seen:
        """The worker was just spawned."""
        return Seen(parents.start(self.rules))

    def final(self, state: Seen) -> bool:
        """The invocation has its outcome."""
        return state.parent.outcome is not None

    def moves(self, state: Seen) -> Iterator[Move]:
        """Every frame, every event of the table, every answer of an operation."""
        if state.parent.outcome is not None and state.watch.ends == 1:
            yield from self._after_the_end(state)
            return
        for event in self._plain:
            yield self._event(state, event, None)
        if state.parent.state != self._first:  # else the clock has not started
            yield self._event(state, parents.TIME_UP, None)
            if "cpu_time_ms" in self.rules.policy:
                yield self._event(state, parents.CPU_TIME_UP, None)
        for call in self._calls(state.parent):
            yield self._event(state, "host_call", call)
        for batch in self._batches(state.parent) if self._modules else ():
            yield self._event(state, "host_batch", batch)
        for result in self._results(state.parent):
            yield self._event(state, "result", result)
        for number in state.parent.in_flight:
            for _, what in ANSWERS:
                yield self._answer(state, Answer(number, **what))

    def _after_the_end(self, state: Seen) -> Iterator[Move]:
        """What still comes is ignored, in every cell of the table."""
        call = HostCall(state.parent.calls + 1, "read")
        frames: dict[str, Any] = {"host_call": call, "result": Result(True, 1)}
        if self._modules:
            frames["host_batch"] = HostBatch((call,))
        # The cells of the final state do not depend on what went before; answers do.
        for event in self._plain if len(state.watch.dispatched) <= 1 else ():
            yield self._event(state, event, None)
        for event, frame in frames.items():
            yield self._event(state, event, frame)
        for number in state.watch.dispatched:
            yield self._answer(state, Answer(number, size=1))

    def _calls(self, parent: Parent) -> Iterator[HostCall]:
        number = parent.calls + 1
        for name in (*OPERATIONS, "nowhere"):
            yield HostCall(number, name)
        yield HostCall(number, "read", valid=False)
        yield HostCall(number, "open", valid=False)
        yield HostCall(number, "write", blocked=True)
        if self.rules.history_bytes is not None:
            yield HostCall(number, "read", record=4)
            yield HostCall(number, "read", record=5)
        yield HostCall(number + 1, "write")
        yield HostCall(number - 1, "write")

    def _batches(self, parent: Parent) -> Iterator[HostBatch]:
        number = parent.calls + 1
        for names in (("read",), ("read", "open"), ("write", "open"), ("read", "nowhere")):
            yield HostBatch(tuple(HostCall(number + i, name) for i, name in enumerate(names)))
        yield HostBatch((HostCall(number + 1, "read"), HostCall(number + 2, "read")))
        for record in (3, 5):
            yield HostBatch((HostCall(number, "read", record=record),))
        yield HostBatch((HostCall(number, "read", record=3), HostCall(number + 1, "open")))
        yield HostBatch(tuple(HostCall(number + i, "read", record=2) for i in range(2)))

    def _results(self, parent: Parent) -> Iterator[Result]:
        yield Result(True, 1)
        yield Result(True, 3)
        yield Result()
        for error in sorted(parent.sent, key=repr):
            yield Result(error=error)
        limit = self.rules.policy
        yield Result(error=UNCAUGHT._replace(reason="memory"))
        yield Result(error=Refusal("unknown_operation"))
        for row, code in _AT_LIMIT.items():
            yield Result(error=Refusal(code, "read", limit=limit[row]))
        yield Result(error=Refusal("host_calls_limit", "read", limit=limit["host_calls"] + 1))
        yield Result(error=Refusal("invalid_arguments", "nowhere"))
        yield Result(error=Refusal("operation_failed", "write"))
        yield Result(error=Refusal("deadline_exceeded", limit=limit["wall_time_ms"]))
        allowed = limit.get("cpu_time_ms", 1)
        yield Result(error=Refusal("cpu_time_exceeded", limit=allowed))
        most = limit["final_result_bytes"]
        yield Result(error=Refusal("final_result_bytes_limit", measured=most, limit=most))
        yield Result(error=Refusal("final_result_bytes_limit", measured=most + 1, limit=most))

    def _event(self, state: Seen, event: str, frame: Any) -> Move:
        step = self._boundary.on_event(self.rules, state.parent, event, frame)
        watch, broken = observe(self.rules, state.watch, state.parent, step)
        return Move(
            Told(event, frame),
            Seen(step.parent, watch),
            covers(self.rules, state.parent, event, step, frame),
            broken,
            (event, frame, step),
        )

    def _answer(self, state: Seen, answer: Answer) -> Move:
        step = self._boundary.on_answer(self.rules, state.parent, answer)
        watch, broken = observe(
            self.rules, state.watch, state.parent, step, answered=answer.call_id
        )
        return Move(
            Told("answer", answer),
            Seen(step.parent, watch),
            covers(self.rules, state.parent, "answer", step),
            broken,
            ("answer", answer, step),
        )


class Told(NamedTuple):
    """An event with its frame, put into words only when somebody reads it."""

    event: str
    frame: Any

    def __str__(self) -> str:
        return _told(self.event, self.frame)


def _told(event: str, frame: Any) -> str:
    if frame is None:
        return event
    if isinstance(frame, HostBatch):
        return f"{event} {', '.join(_told('', call).strip() for call in frame.calls)}"
    defaults = type(frame)._field_defaults
    parts = [
        f"{name} {_error(value) if isinstance(value, Refusal) else value}"
        for name, value in frame._asdict().items()
        if name not in defaults or value != defaults[name]
    ]
    return f"{event} {', '.join(parts)}" if parts else f"{event} without a value"


def _error(error: Refusal) -> str:
    return " ".join(str(value) for value in error.fields().values())
