"""The model's worker: the guards of an honest one, and the result that it writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from codemode_spec.model import worker as workers
from codemode_spec.model.terms import UNCAUGHT, HostCall, Operation, Refusal, Result, rules
from codemode_spec.model.worker import Settled, Wish

OPERATIONS = {"read": Operation("read"), "write": Operation("write", effect="write")}


def boundary(*, readonly: bool = False, **changes: Any) -> Any:
    """The rules of the default profile with rows and alternatives changed."""
    names = ("undefined_result", "exhaustion", "concurrency_excess")
    alternatives = {name: changes.pop(name) for name in names if name in changes}
    return replace(rules(OPERATIONS, policy=changes, alternatives=alternatives), readonly=readonly)


def started(made: Any) -> workers.Worker:
    """A worker that has read its `execute` frame."""
    worker, status = workers.on_event(made, workers.start(made), "execute")
    assert status is None
    return worker


FULL = Wish("read", fits=False, size=80_000)


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        (Wish("nowhere", fault="not_json"), Refusal("unknown_operation")),
        (Wish("write", fault="not_json"), Refusal("read_only_violation", "write")),
        (FULL._replace(fault="not_json"), Refusal("invalid_arguments", "read")),
        (FULL, Refusal("invalid_arguments", "read", measured=80_000, limit=73_728)),
        (Wish("read"), Refusal("host_calls_limit", "read", limit=1)),
    ],
)
def test_the_first_guard_that_fails_answers(wish: Wish, error: Refusal) -> None:
    """Name, read-only, value, frame, total: none of them takes an id."""
    made = boundary(readonly=True, host_calls=1, concurrent_host_calls=1)
    worker = workers.ask(made, started(made), Wish("read")).worker
    asking = workers.ask(made, worker, wish)
    assert (asking.frame, asking.error) == (None, error)
    assert asking.worker == worker._replace(known=frozenset({error}))


def test_a_call_above_the_concurrency_is_refused_without_an_id() -> None:
    """The next id is that of the next call that is sent."""
    made = boundary(concurrent_host_calls=1)
    first = workers.ask(made, started(made), Wish("read", 7))
    assert first.frame == HostCall(1, "read", 7)
    second = workers.ask(made, first.worker, Wish("write"))
    assert second.error == Refusal("host_concurrency_limit", "write", limit=1)
    freed = workers.on_reply(made, second.worker, 1, None)
    assert (freed.frame, freed.worker.in_flight) == (None, ())
    assert workers.ask(made, freed.worker, Wish("write")).frame == HostCall(2, "write")


def test_a_call_that_queues_has_no_id_and_costs_nothing_until_its_turn() -> None:
    """It is sent by the reply that frees a slot, in the order in which calls were asked for."""
    made = boundary(concurrent_host_calls=1, concurrency_excess="queue")
    worker = workers.ask(made, started(made), Wish("read", 1)).worker
    for number in (2, 3):
        waiting = workers.ask(made, worker, Wish("read", number))
        assert (waiting.frame, waiting.error) == (None, None)
        assert waiting.notes[-1].said == "the call waits, without an id"
        worker = waiting.worker
    assert (worker.calls, len(worker.waiting)) == (1, 2)
    sent = workers.on_reply(made, worker, 1, None)
    assert sent.frame == HostCall(2, "read", 2)
    assert [wish.arguments for wish in sent.worker.waiting] == [3]


def test_a_call_that_waited_is_checked_again_when_its_turn_comes() -> None:
    """By then the total may be used up."""
    made = boundary(host_calls=1, concurrent_host_calls=1, concurrency_excess="queue")
    worker = workers.ask(made, started(made), Wish("read")).worker
    # The total is used up, but the call that would wait is checked for that first.
    assert workers.ask(made, worker, Wish("read")).error == Refusal(
        "host_calls_limit", "read", limit=1
    )
    more = boundary(host_calls=2, concurrent_host_calls=1, concurrency_excess="queue")
    for _ in range(2):
        worker = workers.ask(more, worker, Wish("write")).worker
    second = workers.on_reply(more, worker, 1, None)
    assert second.frame == HostCall(2, "write")
    third = workers.on_reply(more, second.worker, 2, None)
    assert (third.frame, third.error) == (None, Refusal("host_calls_limit", "write", limit=2))


@pytest.mark.parametrize("event", ["malformed", "unknown", "oversized", "result", "host_call"])
@pytest.mark.parametrize("running", [True, False])
def test_a_bad_frame_of_the_parent_ends_the_worker_with_status_3(
    event: str,
    running: bool,  # noqa: FBT001
) -> None:
    """It writes nothing; what waited is forgotten."""
    made = boundary()
    worker = started(made) if running else workers.start(made)
    ended, status = workers.on_event(made, worker, event)
    assert (ended.state, status) == ("ended", 3)


def test_the_end_of_input_ends_the_worker_at_once_with_status_0() -> None:
    """Its parent is gone."""
    made = boundary()
    assert workers.on_event(made, started(made), "stdin_eof")[1] == 0
    with pytest.raises(KeyError, match="rain"):
        workers.on_event(made, started(made), "rain")


# The result


@pytest.mark.parametrize(
    ("settled", "result"),
    [
        (Settled(True, [], size=2), Result(True, 2, [])),
        (Settled(), Result(error=Refusal("code_rejected", reason="no_value"))),
        (
            Settled(True, fault="not_json", depth=129, size=50_000),
            Result(error=Refusal("code_rejected", reason="not_json")),
        ),
        (
            Settled(True, depth=129, size=50_000),
            Result(error=Refusal("code_rejected", reason="too_deep")),
        ),
        (Settled(True, depth=128, size=49_152), Result(True, 49_152)),
        (
            Settled(True, size=49_153),
            Result(error=Refusal("final_result_bytes_limit", measured=49_153, limit=49_152)),
        ),
        (Settled(thrown=UNCAUGHT), Result(error=UNCAUGHT)),
        (
            Settled(thrown=UNCAUGHT._replace(reason="memory")),
            Result(error=Refusal("code_rejected", reason="memory")),
        ),
        (Settled(thrown=Refusal("pages_limit", "read", limit=8)), Result(error=UNCAUGHT)),
    ],
)
def test_structure_comes_before_depth_and_depth_before_size(
    settled: Settled, result: Result
) -> None:
    """An error that no bridge has made is one of the program's own."""
    made = boundary()
    assert workers.finish(made, started(made), settled)[0] == result


def test_success_without_a_value_where_the_alternative_allows_it() -> None:
    """Presence is said, never guessed."""
    made = boundary(undefined_result="absent")
    assert workers.finish(made, started(made), Settled())[0] == Result()


def test_an_error_of_the_bridge_keeps_its_code_when_it_is_thrown() -> None:
    """Whether the guard made it or a reply brought it."""
    made = boundary()
    asking = workers.ask(made, started(made), Wish("nowhere"))
    result, notes = workers.finish(made, asking.worker, Settled(thrown=asking.error))
    assert result == Result(error=Refusal("unknown_operation"))
    assert notes[-1].error == asking.error
    sent = workers.ask(made, started(made), Wish("read")).worker
    failed = Refusal("operation_failed", "read")
    worker = workers.on_reply(made, sent, 1, failed).worker
    assert workers.finish(made, worker, Settled(thrown=failed))[0] == Result(error=failed)
