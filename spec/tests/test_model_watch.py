"""The observers of the searches: each invariant is told when it is broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from codemode_spec.model import batch as plans
from codemode_spec.model import guards, server, sharing
from codemode_spec.model import parent as parents
from codemode_spec.model import worker as workers
from codemode_spec.model.barriers import Barriers
from codemode_spec.model.exploration import explore
from codemode_spec.model.guards import AnyParent
from codemode_spec.model.ledger import Parent, Step
from codemode_spec.model.pairs import HonestPair, rules_of_pair
from codemode_spec.model.searches import SOUND, SOUND_SERVER, spaces
from codemode_spec.model.sharing import Server
from codemode_spec.model.spaces import AnyWorker, Boundary, small
from codemode_spec.model.terms import (
    Dispatch,
    End,
    HostCall,
    Outcome,
    Refusal,
    Reply,
    Settle,
)
from codemode_spec.model.watch import Watch, observe

RULES = small("process-async")
ONE = Watch(dispatched=(1,), open=frozenset({1}), pages=1)
RUNNING = Parent("running", calls=1, in_flight=(1,), pages=1, operation_of=("read",))
VALUE = Outcome(True, 1)


def broken(watch: Watch, before: Parent, after: Parent, *actions: Any, **more: Any) -> set[str]:
    """The invariants that a step breaks."""
    return set(observe(RULES, watch, before, Step(after, actions), **more)[1])


@pytest.mark.parametrize(
    ("watch", "before", "after", "actions", "told"),
    [
        (
            ONE._replace(ends=1),
            RUNNING,
            RUNNING._replace(calls=2),
            (Reply(1, 1),),
            "something happens after the end",
        ),
        (
            ONE._replace(settled=True),
            RUNNING,
            RUNNING._replace(calls=2, in_flight=(1, 2)),
            (Dispatch(2, "write"),),
            "a call is dispatched after the result",
        ),
        (ONE, RUNNING, RUNNING, (Dispatch(1, "read"),), "a call is dispatched twice"),
        (
            ONE,
            RUNNING,
            RUNNING,
            (Dispatch(2, "write"),),
            "a call is dispatched before it is reserved",
        ),
        (
            ONE._replace(settled=True),
            RUNNING,
            RUNNING,
            (Reply(1, 1),),
            "a reply is written after the result",
        ),
        (
            ONE._replace(answered=frozenset({1})),
            RUNNING,
            RUNNING,
            (Reply(1, 1),),
            "a call is answered twice",
        ),
        (
            ONE,
            RUNNING,
            RUNNING._replace(in_flight=(), delivered=3),
            (Reply(1, 3),),
            "a value above host_result_bytes is delivered",
        ),
        (ONE._replace(settled=True), RUNNING, RUNNING, (Settle(),), "a second result is taken"),
        (
            ONE,
            RUNNING._replace(settled=VALUE),
            RUNNING._replace(outcome=Outcome(True, 2)),
            (End(Outcome(True, 2)),),
            "an outcome is not what was settled",
        ),
        (ONE._replace(ends=1), RUNNING, RUNNING, (End(VALUE),), "a second outcome"),
        (ONE, RUNNING, RUNNING._replace(in_flight=(1, 2)), (), "a slot is lost"),
        (ONE, RUNNING, RUNNING._replace(in_flight=()), (), "a call runs without a slot"),
        (
            ONE,
            RUNNING,
            RUNNING._replace(delivered=1),
            (),
            "what is charged is not what was delivered",
        ),
        (ONE, RUNNING, RUNNING._replace(pages=0), (), "a call runs without its units"),
        (ONE, RUNNING, RUNNING._replace(calls=0), (), "calls goes back: something is refunded"),
        (ONE, RUNNING, RUNNING._replace(pages=0), (), "pages goes back: something is refunded"),
        (
            ONE,
            RUNNING,
            RUNNING._replace(outcome=VALUE),
            (),
            "the end and the outcome do not come together",
        ),
        (
            ONE._replace(dispatched=(1, 2, 3)),
            RUNNING,
            RUNNING._replace(calls=3),
            (),
            "host_calls is exceeded",
        ),
        (ONE._replace(pages=2), RUNNING, RUNNING._replace(pages=2), (), "pages is exceeded"),
        (
            ONE,
            RUNNING,
            RUNNING._replace(calls=2, operation_of=("read", "read")),
            (Reply(2, error=Refusal("invalid_arguments", "read")),),
            "a call refused for its arguments does not pay for its units",
        ),
    ],
)
def test_a_broken_invariant_of_the_parent_is_told(
    watch: Watch, before: Parent, after: Parent, actions: tuple[Any, ...], told: str
) -> None:
    """By what the parent did, whatever it says of itself."""
    assert told in broken(watch, before, after, *actions)


def test_a_sound_step_breaks_nothing() -> None:
    """A call is answered, and its slot is free."""
    after = RUNNING._replace(in_flight=(), delivered=1)
    assert broken(ONE, RUNNING, after, Reply(1, 1), answered=1) == set()
    assert broken(ONE, RUNNING, RUNNING) == set()


def found(space: Any) -> str:
    """The invariants that a search finds broken first."""
    violation = explore(space, most=30_000).violation
    assert violation is not None
    return violation.invariant


def faulty(change: Any) -> Boundary:
    """A boundary whose every step is changed."""
    return Boundary(
        lambda made, parent, event, frame: change(parents.on_event(made, parent, event, frame)),
        lambda made, parent, answer: change(parents.on_answer(made, parent, answer)),
    )


# The observers of the other spaces


def test_a_worker_that_gets_past_its_guards_is_told(monkeypatch) -> None:
    """One id too far, one call too many, one too many at once."""
    space = next(s for s in spaces() if s.name == "any parent, excess reject")
    frames = {
        "an id is not the last one plus 1": lambda sent: HostCall(sent + 2, "read"),
        "more calls than host_calls are sent": lambda sent: HostCall(sent + 1, "read"),
        "more calls than concurrent_host_calls are in flight": lambda sent: HostCall(
            sent + 1, "read"
        ),
    }
    for told, frame in frames.items():
        monkeypatch.setattr(
            workers,
            "ask",
            lambda made, worker, wish, frame=frame: workers.Asking(
                worker._replace(calls=worker.calls + 1), frame(worker.calls)
            ),
        )
        if told.startswith("more calls than host_calls"):
            monkeypatch.setitem(space.rules.policy, "concurrent_host_calls", 99)
        else:
            monkeypatch.setitem(space.rules.policy, "concurrent_host_calls", 2)
        assert told in found(space)


def test_a_worker_that_does_something_after_its_end_is_told(monkeypatch) -> None:
    """It is over."""
    sound = workers.on_event

    def restless(made: Any, worker: Any, event: str) -> Any:
        after, status = sound(made, worker, event)
        return (after._replace(calls=9), status) if worker.state == "ended" else (after, status)

    monkeypatch.setattr(workers, "on_event", restless)
    space = next(s for s in spaces() if s.name == "any parent, excess reject")
    assert found(space) == "a worker that is over does something"


def test_a_worker_that_believes_its_program_is_told(monkeypatch) -> None:
    """A code that no bridge has made."""
    named = Refusal("pages_limit", "read", limit=1)
    monkeypatch.setattr(workers, "finish", lambda *_: (guards.Result(error=named), ()))
    space = next(s for s in spaces() if s.name == "any parent, excess reject")
    assert found(space) == "an error that no bridge has made keeps its code"


def test_a_terminal_refusal_ends_a_guarded_worker() -> None:
    """Its result names the budget, and nothing else comes."""
    made = small("process-async", {"host_calls": 1}, {"exhaustion": "terminal"})
    known = {name: made.operations[name] for name in ("read", "write")}
    searched = explore(AnyParent("terminal", replace(made, operations=known)))
    assert searched.violation is None
    assert searched.finals > 0


@pytest.mark.parametrize(
    "alternatives",
    [{"exhaustion": "terminal"}, {"concurrency_excess": "queue"}],
    ids=["terminal", "queue"],
)
def test_an_honest_pair_ends_as_one(alternatives: dict[str, str]) -> None:
    """The worker's own refusal is believed; a call that waited has its turn or its refusal."""
    limits = {"host_calls": 2, "concurrent_host_calls": 1}
    made = small("process-async", limits, alternatives)
    searched = explore(HonestPair("pair", rules_of_pair(made), SOUND))
    assert searched.violation is None
    assert searched.finals > 0


def test_a_call_that_waits_beside_a_free_slot_is_told(monkeypatch) -> None:
    """A worker that lets nobody in when a reply frees a slot: alone, and in a pair."""

    def forgetful(made: Any, worker: Any, call_id: int, error: Any) -> Any:
        left = tuple(other for other in worker.in_flight if other != call_id)
        return workers.Asking(worker._replace(in_flight=left))

    monkeypatch.setattr(workers, "on_reply", forgetful)
    names = ("any parent, excess queue", "honest pair, waiting calls")
    for space in (s for s in spaces() if s.name in names):
        assert found(space) == "a call waits beside a free slot"


def test_an_honest_worker_that_is_ended_is_told() -> None:
    """A parent that allows one call less than it says."""

    def strict(made: Any, parent: Parent, event: str, frame: Any) -> Step:
        less = replace(made, policy={**made.policy, "host_calls": 1})
        return parents.on_event(less, parent, event, frame)

    space = HonestPair("pair", rules_of_pair(RULES), Boundary(on_event=strict))
    assert found(space) == "an honest worker is ended with host_calls_limit"


def test_a_batch_that_is_dispatched_out_of_order_is_told() -> None:
    """The last of what may start comes first."""

    def turned(step: Step) -> Step:
        return step._replace(actions=step.actions[::-1])

    plan = next(s for s in spaces(faulty(turned)) if s.name == "batches")
    assert "entries are dispatched out of order" in found(plan)


def test_a_batch_whose_barrier_does_not_hold_is_told(monkeypatch) -> None:
    """A write runs beside a read, and replies come as they are."""
    monkeypatch.setattr(
        plans, "plan", lambda entries, *, sequential=False: (tuple(range(len(entries))),)
    )
    plan = next(s for s in spaces() if s.name == "batches")
    assert isinstance(plan, Barriers)
    assert "something runs beside a barrier" in found(plan)


def test_a_batch_that_is_not_committed_in_order_is_told(monkeypatch) -> None:
    """Whatever is done is committed."""
    sound = plans.complete

    def eager(batch: Any, index: int) -> Any:
        return sound(batch, index)._replace(committed=len(batch.entries))

    monkeypatch.setattr(plans, "complete", eager)
    plan = next(s for s in spaces() if s.name == "batches")
    assert "results are not committed in input order" in found(plan)


# What servers share


def shared(monkeypatch: Any, name: str | None = None, change: Any = None, **functions: Any) -> str:
    """What is found of a server with other functions."""
    if name is not None:
        monkeypatch.setattr(server, name, change)
    made = Server(**functions) if functions else SOUND_SERVER
    space = next(s for s in spaces(SOUND, made) if s.name == "shared slots, few invocations")
    return found(space)


def test_a_server_without_faults_holds() -> None:
    """All of its states."""
    space = next(s for s in spaces() if s.name == "shared slots, few invocations")
    assert explore(space).violation is None


def test_a_server_that_looks_away_from_the_rate_is_told(monkeypatch) -> None:
    """One start more than executions_per_minute."""
    sound = server.admit
    forgetful = lambda made, admission, request: sound(  # noqa: E731
        made, admission._replace(starts=()), request
    )
    assert "executions_per_minute is exceeded" in shared(monkeypatch, "admit", forgetful)


def test_a_server_that_forgets_starts_is_told(monkeypatch) -> None:
    """With the next start."""
    sound = server.admit

    def forget(made: Any, admission: Any, request: Any) -> Any:
        admitted = sound(made, admission, request)
        return admitted._replace(admission=admitted.admission._replace(starts=()))

    first = sharing.State(admission=server.Admission(starts=(("9", 0),)))
    monkeypatch.setattr(sharing.Sharing, "initial", lambda _: first)
    assert "a recorded start is forgotten" in shared(monkeypatch, "admit", forget)


def test_a_server_that_admits_too_many_is_told(monkeypatch) -> None:
    """Above server_invocations."""

    def generous(made: Any, admission: Any, request: Any) -> Any:
        more = admission._replace(
            invocations=admission.invocations + 1,
            workers=admission.workers + 1,
            starts=(*admission.starts, (request.client, request.now)),
        )
        return server.Admitted(more, None, ())

    assert "server_invocations is exceeded" in shared(monkeypatch, "admit", generous)


def test_calls_that_run_out_of_order_are_told(monkeypatch) -> None:
    """The second of an invocation before its first."""

    def reversed_(made: Any, slots: Any, who: int, call: int) -> Any:
        return slots._replace(running=slots.running | {(who, 3 - call)})

    told = shared(monkeypatch, "arrive", reversed_)
    assert "calls of one invocation run out of order" in told


def test_an_invocation_that_is_served_twice_in_anothers_turn_is_told() -> None:
    """Two slots at once, while one that waited before goes without."""
    before = sharing.State(slots=server.Slots(queues=((0, (1, 2)), (1, (1,)))))
    after = server.Slots(frozenset({(0, 1), (0, 2)}), ((1, (1,)),))
    assert sharing.Sharing._turns(before, after, [0, 0]) == [
        "one invocation is served twice in another's turn"
    ]


def test_every_event_of_a_parent_with_batches_is_tried() -> None:
    """After the end, too; with one call the space is small."""
    space = AnyWorker("tiny", small("inline-sync", {"host_calls": 1}), SOUND, modules=True)
    searched = explore(space)
    assert searched.violation is None
    assert {"parent running host_batch", "parent ended host_batch", "parent ended progress"} <= (
        searched.covered
    )
