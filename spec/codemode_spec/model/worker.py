"""The worker's end of one invocation: its own guards, and the result that it writes.

An honest worker keeps every limit that it is told, so that the parent never has to end it. A
program that gets past these guards meets the parent's, which trust nothing of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.model.checks import Asked, Fields, Procedure, fails, passes, walk
from codemode_spec.model.terms import UNCAUGHT, HostCall, Note, Refusal, Result, Rules

if TYPE_CHECKING:
    from collections.abc import Sequence


class Wish(NamedTuple):
    """A host call that the program asks for.

    `fault`: its arguments are no value; `fits`: into a frame, which would have `size` bytes;
    `valid` and `blocked`: what the parent will find.
    """

    operation: str
    arguments: Any = None
    fault: str | None = None
    fits: bool = True
    size: int | None = None
    valid: bool = True
    blocked: bool = False


class Worker(NamedTuple):
    """What the worker knows.

    `waiting` are calls above the concurrency limit, without an id, where the excess queues; `known`
    are the errors that its bridge made, by identity.
    """

    state: str = "waiting"
    calls: int = 0
    in_flight: tuple[int, ...] = ()
    waiting: tuple[Wish, ...] = ()
    known: frozenset[Refusal] = frozenset()

    def used(self, row: str) -> int | None:
        """What is used of a row so far, or None for a row without an account."""
        accounts = {
            "host_calls": self.calls,
            "concurrent_host_calls": len(self.in_flight),
        }
        return accounts.get(row)


class Asking(NamedTuple):
    """What became of a wish: a frame, an error for the program, or neither (it waits).

    `earlier` are those that had their turn before it on the same reply, all of them refused.
    """

    worker: Worker
    frame: HostCall | None = None
    error: Refusal | None = None
    notes: tuple[Note, ...] = ()
    earlier: tuple[Asking, ...] = ()

    @property
    def turns(self) -> tuple[Asking, ...]:
        """After a reply: every call that had its turn, in order."""
        had = self.frame is not None or self.error is not None
        return (*self.earlier, self._replace(earlier=())) if had else ()


def start(rules: Rules) -> Worker:
    """The worker before its `execute` frame."""
    return Worker(state=rules.tables.endpoints["worker"].initial)


def on_event(rules: Rules, worker: Worker, event: str) -> tuple[Worker, int | None]:
    """What a frame from the parent, or a frame that was sent, does: the state and an exit status.

    KeyError for an event that the protocol table does not have.
    """
    endpoint = rules.tables.endpoints["worker"]
    answer = endpoint.transitions[worker.state][event]
    if answer.exit is not None:
        return worker._replace(state=endpoint.final, waiting=()), answer.exit
    return worker._replace(state=answer.next or worker.state), None


def _known(asked: Asked) -> Fields:
    return fails(when=asked.subject.operation not in asked.rules.operations)


def _may_write(asked: Asked) -> Fields:
    name = asked.subject.operation
    write = asked.rules.operations[name].effect != "read"
    return fails(when=asked.rules.readonly and write, operation=name)


def _is_value(asked: Asked) -> Fields:
    return fails(when=asked.subject.fault is not None, operation=asked.subject.operation)


def _frame_fits(asked: Asked) -> Fields:
    rules, _, wish = asked
    limit = rules.policy["ipc_frame_bytes"]
    return fails(when=not wish.fits, operation=wish.operation, measured=wish.size, limit=limit)


def _calls_left(asked: Asked) -> Fields:
    rules, worker, wish = asked
    # A call that waits has no id and does not count: it is checked again when its turn comes. Were
    # it counted, the worker would name a limit that its parent has not seen reached.
    return fails(when=worker.calls >= rules.policy["host_calls"], operation=wish.operation)


def _full(rules: Rules, worker: Worker) -> bool:
    return len(worker.in_flight) >= rules.policy["concurrent_host_calls"]


def _slot_free(asked: Asked) -> Fields:
    rules, worker, wish = asked
    refuses = rules.alternatives["concurrency_excess"] == "reject"
    return fails(when=_full(rules, worker) and refuses, operation=wish.operation)


def _take(asked: Asked, takes: Sequence[str]) -> Worker:
    rules, worker, wish = asked
    assert set(takes) == {"call", "slot"}
    if _full(rules, worker):
        queued: Worker = worker._replace(waiting=(*worker.waiting, wish))
        return queued
    return _take_id(worker)


def _take_id(worker: Worker) -> Worker:
    number = worker.calls + 1
    return worker._replace(calls=number, in_flight=(*worker.in_flight, number))


CALL: Final = Procedure(
    "worker_host_call",
    {
        "name": _known,
        "read_only": _may_write,
        "arguments_value": _is_value,
        "frame_fits": _frame_fits,
        "host_calls": _calls_left,
        "concurrent_host_calls": _slot_free,
        "take_id": passes,
        "write": passes,
    },
    _take,
)


def ask(rules: Rules, worker: Worker, wish: Wish) -> Asking:
    """The program asks for a host call: a frame to send, an error to throw, or it waits."""
    walked = walk(CALL, Asked(rules, worker, wish))
    after: Worker = walked.state
    if walked.error is not None:
        known = worker._replace(known=worker.known | {walked.error})
        return Asking(known, error=walked.error, notes=walked.notes)
    if after.calls == worker.calls:
        note = Note(
            "worker_host_call", "concurrent_host_calls", True, "the call waits, without an id"
        )
        return Asking(after, notes=(*walked.notes[:-2], note))
    return Asking(after, _frame(after.calls, wish), notes=walked.notes)


def _frame(number: int, wish: Wish) -> HostCall:
    return HostCall(number, wish.operation, wish.arguments, wish.valid, wish.blocked)


def on_reply(rules: Rules, worker: Worker, call_id: int, error: Refusal | None) -> Asking:
    """A reply frees its slot, and calls that waited have their turn until one takes it.

    What became of the last that had its turn, with the `earlier` ones. One that is refused leaves
    the slot to the next, which else would wait for ever where nothing is in flight.
    """
    assert call_id in worker.in_flight, "a reply to no call is `malformed`"
    left = tuple(other for other in worker.in_flight if other != call_id)
    known = worker.known if error is None else worker.known | {error}
    worker = worker._replace(in_flight=left, known=known)
    asking = Asking(worker)
    while asking.worker.waiting and not _full(rules, asking.worker):
        wish, *others = asking.worker.waiting
        turn = ask(rules, asking.worker._replace(waiting=tuple(others)), wish)
        asking = turn._replace(earlier=asking.turns)
        if turn.error is not None and rules.ends(turn.error.code):
            break
    return asking


class Settled(NamedTuple):
    """How the program ended: with a value, without one, or with what it threw.

    A value has a `size`, a `depth` and perhaps a `fault`; `thrown` is an error of the bridge, or
    anything else (UNCAUGHT and the engine's own reasons).
    """

    present: bool = False
    value: Any = None
    size: int = 0
    depth: int = 0
    fault: str | None = None
    thrown: Refusal | None = None


def _returned(asked: Asked) -> Fields:
    thrown = asked.subject.thrown
    return None if thrown is None else thrown.fields()


def _has_value(asked: Asked) -> Fields:
    absent = not asked.subject.present
    refused = asked.rules.alternatives["undefined_result"] == "reject"
    return fails(when=absent and refused, reason="no_value")


def _result_fits(asked: Asked) -> Fields:
    size = asked.subject.size
    return fails(when=size > asked.rules.policy["final_result_bytes"], measured=size)


RESULT: Final = Procedure(
    "worker_final",
    {
        "settle": _returned,
        "undefined": _has_value,
        "types": lambda asked: fails(when=asked.subject.fault is not None, reason="not_json"),
        "depth": lambda asked: fails(
            when=asked.subject.depth > asked.rules.policy["value_depth"], reason="too_deep"
        ),
        "final_result_bytes": _result_fits,
        **dict.fromkeys(("drain", "result"), passes),
    },
    lambda asked, _: asked.state,
)


def finish(rules: Rules, worker: Worker, settled: Settled) -> tuple[Result, tuple[Note, ...]]:
    """The result frame of a program that has settled.

    What it threw keeps its code only if the bridge made that very error in this invocation.
    """
    thrown = settled.thrown
    if thrown is not None and thrown.code != UNCAUGHT.code and thrown not in worker.known:
        settled = settled._replace(thrown=UNCAUGHT)
    walked = walk(RESULT, Asked(rules, worker, settled))
    if walked.failed is not None and walked.failed.check == "settle":
        assert settled.thrown is not None
        told = walked.notes[-1]._replace(error=settled.thrown)
        return Result(error=settled.thrown), (*walked.notes[:-1], told)
    if walked.error is not None:
        return Result(error=walked.error), walked.notes
    return Result(settled.present, settled.size, settled.value), walked.notes
