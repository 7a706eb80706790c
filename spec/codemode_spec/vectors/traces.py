"""Vectors of traces: few ways through the model that exercise every rule, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode_spec.model.guards import AnyParent
from codemode_spec.model.spaces import OPERATIONS, AnyWorker
from codemode_spec.model.terms import (
    Action,
    Dispatch,
    End,
    HostBatch,
    Outcome,
    Refusal,
    Reply,
    Rules,
    Settle,
)
from codemode_spec.vectors import document_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemode_spec.model.exploration import Explored, Space
    from codemode_spec.model.ledger import Step
    from codemode_spec.vectors.lines import Vector


def text(searched: Iterable[tuple[Space, Explored]]) -> str:
    """The text of `traces.json` from the searches of all spaces."""
    head = {"operations": {name: _plain(entry) for name, entry in OPERATIONS.items()}}
    return document_text(head, vectors(searched))


def vectors(searched: Iterable[tuple[Space, Explored]]) -> list[Vector]:
    """One vector a trace, of those that replay one end alone; none repeats what others show."""
    found: list[Vector] = []
    shown: set[str] = set()
    for space, explored in searched:
        if not isinstance(space, AnyWorker | AnyParent):
            continue
        kept = 0
        for trace in explored.traces:
            covered = {rule for move in trace for rule in move.covers}
            if covered <= shown:
                continue
            shown |= covered
            kept += 1
            name = space.name.replace(",", "").replace(" ", "-")
            steps = [_step(move.record) for move in trace]
            found.append({"id": f"{name}.{kept}", **_rules(space), "steps": steps})
    return found


def _rules(space: AnyWorker | AnyParent) -> dict[str, Any]:
    """Which end it is, and what differs from the defaults of the profile."""
    rules: Rules = space.rules
    profile = rules.profile
    policy = {n: v for n, v in rules.policy.items() if v != profile.rows[n].default}
    under = {n: v for n, v in rules.alternatives.items() if v != profile.alternatives[n]}
    found: dict[str, Any] = {
        "end": "parent" if isinstance(space, AnyWorker) else "worker",
        "profile": profile.name,
        "policy": policy,
    }
    found |= {"under": under} if under else {}
    found |= {"readonly": True} if rules.readonly else {}
    found |= {} if rules.history_bytes is None else {"history_bytes": rules.history_bytes}
    if len(rules.operations) < len(OPERATIONS):
        found["known"] = list(rules.operations)
    return found


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a named tuple that are not their defaults."""
    defaults = type(value)._field_defaults
    return {
        name: _plain(part) if isinstance(part, tuple) and hasattr(part, "_fields") else part
        for name, part in value._asdict().items()
        if name not in defaults or part != defaults[name]
    }


def _frame(frame: Any) -> dict[str, Any]:
    if isinstance(frame, HostBatch):
        return {"calls": [_plain(call) for call in frame.calls]}
    if isinstance(frame, tuple) and not hasattr(frame, "_fields"):  # a reply: its call and error
        number, error = frame
        return {"call_id": number, **({"error": error.fields()} if error else {})}
    return {
        name: part.fields() if isinstance(part, Refusal) else part
        for name, part in frame._asdict().items()
        if name not in type(frame)._field_defaults or part != type(frame)._field_defaults[name]
    }


def _step(record: Any) -> dict[str, Any]:
    event, frame, *rest = record
    step: dict[str, Any] = {"event": event}
    if frame is not None:
        step["frame"] = _frame(frame)
    return step | (_parent_did(rest[0]) if len(rest) == 1 else _worker_did(*rest))


def _parent_did(step: Step) -> dict[str, Any]:
    done = [_action(action) for action in step.actions]
    return {"actions": done, "state": step.parent.state}


def _worker_did(after: Any, made: Any) -> dict[str, Any]:
    sent, error = made or (None, None)
    found: dict[str, Any] = {"state": after.worker.state}
    if sent is not None:
        found["sends"] = {"frame": "result" if hasattr(sent, "present") else "host_call"}
        found["sends"] |= _frame(sent)
    if error is not None:
        found["throws"] = error.fields()
    if after.status is not None:
        found["status"] = after.status
    return found


def _outcome(outcome: Outcome) -> dict[str, Any]:
    if outcome.error is not None:
        return {"error": outcome.error.fields()}
    return {"present": outcome.present}


def _action(action: Action) -> dict[str, Any]:
    match action:
        case Dispatch():
            return {"dispatch": action.call_id, "operation": action.operation}
        case Reply(error=None):
            return {"reply": action.call_id, "size": action.size}
        case Reply():
            assert action.error is not None
            return {"reply": action.call_id, "error": action.error.fields()}
        case Settle():
            return {"settle": True, "cancelled": list(action.cancelled)}
        case End():
            return {"end": _outcome(action.outcome), "cancelled": list(action.cancelled)}
