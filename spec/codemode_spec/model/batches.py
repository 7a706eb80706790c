"""A batch at the parent: charged whole, dispatched by its plan, committed in input order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codemode_spec.model import batch as plan
from codemode_spec.model.calls import CALL, batch_fits, checked, headroom
from codemode_spec.model.checks import Asked, Fields, Procedure, fails, passes
from codemode_spec.model.ledger import Parent, Step, UnderWay, end, refuse, without
from codemode_spec.model.terms import (
    Action,
    Answer,
    Dispatch,
    HostBatch,
    Note,
    Refusal,
    Rules,
    refusal,
)
from codemode_spec.model.values import deliver

if TYPE_CHECKING:
    from collections.abc import Iterator

# The calls of a batch were charged together, and the plan keeps them within the concurrency.
ENTRY: Final = Procedure(
    CALL.place,
    {
        **CALL.tests,
        **dict.fromkeys(("host_calls", "operation_known", "operation_granted"), passes),
        **dict.fromkeys(("history_headroom", "batch_history"), passes),
    },
    lambda asked, takes: CALL.take(asked, [w for w in takes if w not in ("call", "record")]),
)


def on_batch(rules: Rules, parent: Parent, frame: HostBatch) -> Step:
    """What a batch with the expected ids does: all or nothing against host_calls."""
    for name, fields in _whole(rules, parent, frame):
        if fields is not None:
            check = next(c for c in rules.tables.places[CALL.place].checks if c.check == name)
            error = refusal(rules, check, fields)
            note = Note(CALL.place, name, False, check.text, error=error)
            return end(rules, parent, error, (note,))
    entries = tuple(
        plan.Entry(call.operation, rules.operations[call.operation].effect) for call in frame.calls
    )
    limit = rules.policy["concurrent_host_calls"]
    recorded = plan.record(plan.Batch(entries, limit, sequential=rules.hooks))
    kept = 0 if rules.history_bytes is None else _record(frame)
    parent = parent._replace(
        history=parent.history + kept,
        calls=parent.calls + len(frame.calls),
        operation_of=(*parent.operation_of, *(call.operation for call in frame.calls)),
        batch=UnderWay(recorded, frame.calls, (None,) * len(frame.calls)),
    )
    note = Note("parent_host_call", "record", True, f"{len(entries)} entries are on record")
    return _advance(rules, Step(parent, (), (note,)))


def _record(frame: HostBatch) -> int:
    return sum(call.record for call in frame.calls)


def _whole(rules: Rules, parent: Parent, frame: HostBatch) -> Iterator[tuple[str, Fields]]:
    """The checks of a batch as a whole, in the order of the table: each of them is terminal."""
    fits = plan.admitted(parent.calls, rules.policy["host_calls"], len(frame.calls))
    yield "host_calls", fails(when=not fits)
    for call in frame.calls:
        for name in ("operation_known", "operation_granted"):
            yield name, CALL.tests[name](Asked(rules, parent, call))
    yield "history_headroom", headroom(rules, parent.history + _record(frame))
    yield "batch_history", batch_fits(rules, _record(frame))


def on_answer(rules: Rules, parent: Parent, answer: Answer) -> Step:
    """An answer to a call of the batch: it is held until all before it are committed."""
    assert parent.batch is not None
    index = answer.call_id - parent.batch.calls[0].call_id
    return _advance(rules, _hold(Step(without(parent, answer.call_id)), index, answer))


def _hold(step: Step, index: int, what: Answer | Refusal) -> Step:
    under = step.parent.batch
    assert under is not None
    held = (*under.held[:index], what, *under.held[index + 1 :])
    done = plan.complete(under.batch, index)
    return step._replace(parent=step.parent._replace(batch=UnderWay(done, under.calls, held)))


def _advance(rules: Rules, step: Step) -> Step:
    """Dispatch what the plan allows, and commit what is complete, until nothing is left to do."""
    step = _commit(rules, step)
    while step.parent.batch is not None and (ready := plan.ready(step.parent.batch.batch)):
        step = _commit(rules, _run(rules, step, ready[0]))
    return step


def _run(rules: Rules, step: Step, index: int) -> Step:
    under = step.parent.batch
    assert under is not None
    running = under._replace(batch=plan.dispatch(under.batch, index))
    call = under.calls[index]
    walked = checked(rules, step.parent._replace(batch=running), call, ENTRY)
    notes = (*step.notes, *walked.notes)
    if walked.failed is None:
        dispatch = Dispatch(call.call_id, call.operation, call.arguments)
        return Step(walked.state, (*step.actions, dispatch), notes)
    state = without(walked.state, call.call_id)
    if walked.error is None:  # too late: nothing is dispatched any more
        stopped = running._replace(batch=plan.stop(running.batch, index))
        return Step(state._replace(batch=stopped), step.actions, notes)
    if rules.ends(walked.error.code):
        ended = end(rules, state, walked.error, notes)
        return ended._replace(actions=(*step.actions, *ended.actions))
    return _hold(Step(state, step.actions, notes), index, walked.error)


def _commit(rules: Rules, step: Step) -> Step:
    """Write the replies that are due, in input order: sizes are charged in that order, too."""
    under = step.parent.batch
    if under is None:
        return step
    parent, actions, notes = step.parent, list[Action](step.actions), list(step.notes)
    for index in range(under.batch.committed):
        held = under.held[index]
        if held is None:
            continue
        under = under._replace(held=(*under.held[:index], None, *under.held[index + 1 :]))
        parent = parent._replace(batch=under)
        done = (
            refuse(parent, under.calls[index].call_id, held, ())
            if isinstance(held, Refusal)
            else deliver(rules, parent, held)
        )
        parent = done.parent
        actions += done.actions
        notes += done.notes
        if parent.outcome is not None:
            break
    if parent.batch is not None and parent.batch.batch.committed == len(parent.batch.calls):
        parent = parent._replace(batch=None)
    return Step(parent, tuple(actions), tuple(notes))
