"""What the parent of one invocation knows, and the two ways in which it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from codemode_spec.model.terms import Action, End, Note, Outcome, Refusal, Reply, Rules

if TYPE_CHECKING:
    from codemode_spec.model.batch import Batch
    from codemode_spec.model.terms import Answer, HostCall


class UnderWay(NamedTuple):
    """A batch that runs: its calls, and for each what is to be committed, once it is there."""

    batch: Batch
    calls: tuple[HostCall, ...]
    held: tuple[Answer | Refusal | None, ...]


class Parent(NamedTuple):
    """What the parent knows: everything counts up, and nothing is ever given back but slots.

    `in_flight` are the ids of calls that hold a slot, `sent` the errors handed out, `settled` the
    outcome that a result has decided while the worker is awaited, `outcome` the one outcome,
    `batch` a batch of calls that is under way. `late` says that wall_time_ms has passed, and
    `spent` that cpu_time_ms may be used up: as much wall time has passed.
    """

    state: str = "starting"
    calls: int = 0
    in_flight: tuple[int, ...] = ()
    pages: int = 0
    snapshots: int = 0
    delivered: int = 0
    history: int = 0
    sent: frozenset[Refusal] = frozenset()
    late: bool = False
    spent: bool = False
    operation_of: tuple[str, ...] = ()
    settled: Outcome | None = None
    outcome: Outcome | None = None
    batch: UnderWay | None = None

    def used(self, row: str) -> int | None:
        """What is used of a row so far, or None for a row without an account."""
        accounts = {
            "host_calls": self.calls,
            "concurrent_host_calls": len(self.in_flight),
            "pages": self.pages,
            "snapshots": self.snapshots,
            "cumulative_host_result_bytes": self.delivered,
        }
        return accounts.get(row)


class Step(NamedTuple):
    """The next state, what is to be done, and why."""

    parent: Parent
    actions: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()


def limit_of(rules: Rules, code: str) -> int | None:
    """The limit of the row that a code belongs to, or None where the code shows none."""
    if "limit" not in rules.tables.errors[code].fields:
        return None
    rows = (row.name for row in rules.profile.rows.values() if row.error == code)
    name = next(rows, None)
    return None if name is None else rules.policy[name]


def end(rules: Rules, parent: Parent, error: Refusal, notes: tuple[Note, ...]) -> Step:
    """End the invocation with this error; whatever is in flight is cancelled."""
    outcome = Outcome(error=error)
    final = rules.tables.endpoints["parent"].final
    ended = parent._replace(state=final, in_flight=(), settled=None, outcome=outcome, batch=None)
    return Step(ended, (End(outcome, parent.in_flight),), notes)


def without(parent: Parent, call_id: int) -> Parent:
    """The parent with the slot of this call free, if the call held one."""
    return parent._replace(in_flight=tuple(c for c in parent.in_flight if c != call_id))


def refuse(parent: Parent, call_id: int, error: Refusal, notes: tuple[Note, ...]) -> Step:
    """Reply with an error; the slot, if the call had one, is free before the reply is written."""
    after = without(parent, call_id)._replace(sent=parent.sent | {error})
    return Step(after, (Reply(call_id, error=error),), notes)
