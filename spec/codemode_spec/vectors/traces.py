"""Vectors of traces: few ways through the model that exercise every rule, step by step."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from codemode_spec.digests import digest_of
from codemode_spec.failures import Problem
from codemode_spec.model.barriers import Barriers
from codemode_spec.model.guards import AnyParent, Exit
from codemode_spec.model.spaces import OPERATIONS, AnyWorker
from codemode_spec.model.terms import (
    Dispatch,
    End,
    HostBatch,
    HostCall,
    Outcome,
    Refusal,
    Reply,
    Result,
    Rules,
    Settle,
)
from codemode_spec.model.worker import Settled, Wish
from codemode_spec.tables import load_tables
from codemode_spec.vectors import document_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec.model.exploration import Explored, Space
    from codemode_spec.tables import Tables
    from codemode_spec.vectors.lines import Vector

_PAYLOADS = ("name", "arguments", "value")
"""Fields that no trace needs: the name is the key, and of a payload only the size matters."""


def text(searched: Iterable[tuple[Space, Explored]]) -> str:
    """The text of `traces.json` from the searches of all spaces."""
    found = vectors(searched)
    head = {
        "operations": {name: _said(entry) for name, entry in OPERATIONS.items()},
        "rules": rules_digest(load_tables()),
        "digest": digest_of(found),
    }
    return document_text(head, found)


def rules_digest(tables: Tables) -> str:
    """The digest of what decides a trace: cells, checks, codes, rows, alternatives; no wording."""
    return digest_of(
        {
            "ends": {
                name: {
                    "initial": end.initial,
                    "final": end.final,
                    "cells": {
                        state: {event: list(astuple(entry)) for event, entry in row.items()}
                        for state, row in end.transitions.items()
                    },
                }
                for name, end in tables.endpoints.items()
            },
            "places": {
                name: [
                    [c.check, c.code, c.row, c.answer, c.event, list(c.takes)] for c in place.checks
                ]
                for name, place in tables.places.items()
            },
            "errors": {
                name: [e.category, e.ends, dict(e.fields), dict(e.category_by_reason), e.worker_own]
                for name, e in tables.errors.items()
            },
            "profiles": {
                name: [dict(profile.alternatives), profile.defaults()]
                for name, profile in tables.profiles.items()
            },
        }
    )


def problems(document: Mapping[str, Any], tables: Tables, file: str) -> list[Problem]:
    """Traces that were edited by hand, or found with other tables."""
    advice = "run `cmconf spec explore --write`"
    found = []
    if document["digest"] != digest_of(document["vectors"]):
        reason = f"the traces are not those that a search has written; {advice}"
        found.append(Problem(file, "/digest", reason))
    if document["rules"] != rules_digest(tables):
        found.append(Problem(file, "/rules", f"the tables have changed since; {advice}"))
    return found


def vectors(searched: Iterable[tuple[Space, Explored]]) -> list[Vector]:
    """One vector a trace, of those that replay one end alone; none repeats what others show."""
    found: list[Vector] = []
    shown: set[str] = set()
    for space, explored in searched:
        if not isinstance(space, AnyWorker | AnyParent | Barriers):
            continue
        kept = 0
        for trace in explored.traces:
            covered = {rule for move in trace for rule in move.covers}
            if covered <= shown:
                continue
            shown |= covered
            kept += 1
            name = space.name.replace(",", "").replace(" ", "-")
            steps = [_step(*move.record) for move in trace]
            found.append({"id": f"{name}.{kept}", **_rules(space), "steps": steps})
    return found


def _rules(space: AnyWorker | AnyParent | Barriers) -> dict[str, Any]:
    """Which end it is, and what differs from the defaults of the profile."""
    rules: Rules = space.rules
    profile = rules.profile
    policy = {n: v for n, v in rules.policy.items() if v != profile.rows[n].default}
    under = {n: v for n, v in rules.alternatives.items() if v != profile.alternatives[n]}
    found: dict[str, Any] = {
        "end": "worker" if isinstance(space, AnyParent) else "parent",
        "profile": profile.name,
        "policy": policy,
    }
    found |= {"under": under} if under else {}
    found |= {"readonly": True} if rules.readonly else {}
    found |= {} if rules.history_bytes is None else {"history_bytes": rules.history_bytes}
    if len(rules.operations) < len(OPERATIONS):
        found["catalogue"] = list(rules.operations)
    return found


def _step(event: str, given: Any, after: Any, acts: tuple[Any, ...] | None = None) -> Any:
    """One step: a parent's is a Step, which holds its actions; a worker's come beside it."""
    step: dict[str, Any] = {"event": event}
    if given is not None:
        step["given"] = _given(given)
    if acts is None:
        return step | {
            "actions": [_parents(action, after.parent.settled) for action in after.actions],
            "state": after.parent.state,
        }
    return step | {"actions": [_workers(act) for act in acts], "state": after.worker.state}


def _said(value: Any) -> dict[str, Any]:
    """The fields of a named tuple that are not their defaults."""
    defaults = type(value)._field_defaults
    return {
        name: part.fields() if isinstance(part, Refusal) else part
        for name, part in value._asdict().items()
        if name not in _PAYLOADS and (name not in defaults or part != defaults[name])
    }


def _given(given: Any) -> dict[str, Any]:
    match given:
        case HostBatch():
            calls = [_said(call) for call in given.calls]
            first, *_ = ids = [call.pop("call_id") for call in calls]
            assert ids == list(range(first, first + len(ids))), "the frame names the first id only"
            return {"call_id": first, "calls": calls}
        case Wish(fits=False):
            return {"operation": given.operation, "frame_bytes": given.size}
        case Result(error=None) | Settled(thrown=None):
            return {"present": given.present, **_said(given)}
    return _said(given)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    if outcome.error is not None:
        return {"error": outcome.error.fields()}
    return {"present": outcome.present}


def _parents(action: Any, settled: Outcome | None) -> dict[str, Any]:
    match action:
        case Dispatch():
            return {"do": "dispatch", "call_id": action.call_id, "operation": action.operation}
        case Reply(error=None):
            return {"do": "reply", "call_id": action.call_id, "size": action.size}
        case Reply():
            return {"do": "reply", **_said(action)}
        case Settle():
            assert settled is not None
            cancelled = list(action.cancelled)
            return {"do": "settle", "outcome": _outcome(settled), "cancelled": cancelled}
        case End():
            outcome, cancelled = _outcome(action.outcome), list(action.cancelled)
            return {"do": "end", "outcome": outcome, "cancelled": cancelled}
    raise AssertionError(f"{action} is no action of a parent")


def _workers(act: Any) -> dict[str, Any]:
    match act:
        case HostCall():
            return {"do": "send", "frame": "host_call", **_said(act)}
        case Result():
            return {"do": "send", "frame": "result", **_given(act)}
        case Refusal():
            return {"do": "throw", "error": act.fields()}
        case Exit():
            return {"do": "exit", "status": act.status}
    raise AssertionError(f"{act} is no act of a worker")
