"""Scripted operations: which reply a host call gets, and when. No I/O; the caller has the clock."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codemode_spec.cases import Behaviour, OperationSpec

    from codemode_conformance.canary import Canaries


@dataclass(frozen=True, slots=True)
class Reply:
    """A `return` message that is due."""

    run: int
    call: int
    message: dict[str, Any]


@dataclass(slots=True)
class _Row:
    """What one operation did in one run so far."""

    calls: int = 0
    order: list[int] = field(default_factory=list)
    ready: dict[int, Reply] = field(default_factory=dict)


class Replies:
    """The replies of one case. Each run counts its calls anew; times are in seconds.

    `assemble` makes the source of a program that an operation runs.
    """

    def __init__(
        self,
        operations: Iterable[OperationSpec],
        canaries: Canaries,
        assemble: Callable[[str], str] = str,
    ) -> None:
        self._operations = {operation.name: operation for operation in operations}
        self._canaries = canaries
        self._assemble = assemble
        self._rows: dict[tuple[int, str], _Row] = {}
        self._due: list[tuple[float, int, Reply, str]] = []
        self._count = 0
        # What waits for the end of a run rather than for its time, by the number in the queue.
        self._awaits: dict[int, int] = {}
        self._ended: set[int] = set()

    @property
    def next_at(self) -> float | None:
        """When the next reply may be due."""
        return self._due[0][0] if self._due else None

    def accept(self, run: int, call: int, name: str, now: float) -> float:
        """Schedule the reply of one host call; returns its scripted delay in seconds."""
        operation = self._operations.get(name)
        if operation is None:
            # The target let a call through that nobody granted; the ledger shows it.
            self._schedule(now, failure(run, call, "unknown_operation", "no such operation"), name)
            return 0.0
        row = self._rows.setdefault((run, name), _Row(order=list(operation.release)))
        behaviour = operation.behaviour[min(row.calls, len(operation.behaviour) - 1)]
        row.calls += 1
        delay: float = behaviour.delay_ms / 1_000
        if behaviour.until_run in self._ended:
            delay = 0.0
        if behaviour.kind != "never":
            self._schedule(now + delay, self._reply(run, call, behaviour), name)
            self._awaits[self._count] = behaviour.until_run
        return delay

    def ended(self, number: int, now: float) -> None:
        """The run of the case with this number has ended: what waits for that is due."""
        self._ended.add(number)
        self._due = [
            (min(at, now) if self._awaits.get(count) == number else at, count, reply, name)
            for at, count, reply, name in self._due
        ]
        heapq.heapify(self._due)

    def due(self, now: float) -> list[Reply]:
        """The replies to send now, in order."""
        replies: list[Reply] = []
        while self._due and self._due[0][0] <= now:
            _, _, reply, name = heapq.heappop(self._due)
            row = self._rows.get((reply.run, name))
            if row is None or reply.call not in row.order:
                replies.append(reply)
                continue
            row.ready[reply.call] = reply
            while row.order and row.order[0] in row.ready:
                replies.append(row.ready.pop(row.order.pop(0)))
        return replies

    def drop(self, run: int) -> None:
        """Forget the replies of a run that is being ended."""
        self._due = [entry for entry in self._due if entry[2].run != run]
        heapq.heapify(self._due)
        for (owner, _), row in self._rows.items():
            if owner == run:
                row.ready.clear()
                row.order.clear()

    def _schedule(self, at: float, reply: Reply, name: str) -> None:
        self._count += 1
        heapq.heappush(self._due, (at, self._count, reply, name))

    def _reply(self, run: int, call: int, behaviour: Behaviour) -> Reply:
        told = {"changed": list(behaviour.changed), "warnings": list(behaviour.warnings)}
        effects = {name: texts for name, texts in told.items() if texts}
        if behaviour.kind == "fail":
            texts = map(self._canaries.fill, (behaviour.code, behaviour.message))
            reply = failure(run, call, *texts)
            return Reply(run, call, reply.message | ({"effects": effects} if effects else {}))
        message: dict[str, Any] = {"m": "return", "r": run, "c": call, "ok": True, "present": True}
        if behaviour.kind == "odd":
            message |= {"value": None, "odd": [[[], behaviour.value]]}
        elif behaviour.kind == "absent":
            message["present"] = False
        elif behaviour.kind == "nested":
            message |= {"present": False, "nested": self._assemble(behaviour.value)}
        else:
            message["value"] = self._canaries.fill(behaviour.value)
        if effects:
            message["effects"] = effects
        return Reply(run, call, message)


def failure(run: int, call: int, code: str, message: str) -> Reply:
    """The reply of an operation that fails."""
    error = {"code": code, "message": message}
    return Reply(run, call, {"m": "return", "r": run, "c": call, "ok": False, "error": error})
