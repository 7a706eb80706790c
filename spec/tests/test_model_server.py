"""The model's server: admission, the rate window, and turns at the slots for host operations."""

from __future__ import annotations

from typing import Any

import pytest
from codemode_spec.model import server
from codemode_spec.model.server import Admission, Request, Slots
from codemode_spec.model.terms import Refusal, rules

RULES = rules({}, profile="worker-rpc", policy={"server_host_operations": 2})
LIMITS = RULES.policy
FAULTS: list[dict[str, Any]] = [
    {"unknown_field": True},
    {"option_above": True},
    {"empty": True},
    {"source_bytes": 51_201},
    {"encoded_bytes": 102_593},
    {"blocked": True},
]
CODES = [
    *("invalid_arguments", "invalid_arguments", "source_empty"),
    *("source_bytes_limit", "source_bytes_limit", "pattern_blocked"),
]


def admit(request: Request, admission: Admission | None = None) -> tuple[Admission, Any]:
    """The next state, and the error."""
    admitted = server.admit(RULES, Admission() if admission is None else admission, request)
    return admitted.admission, admitted.error


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_of_several_faults_the_first_check_answers(first: int) -> None:
    """In the order of the table: shape, options, empty, bytes, encoded form, tokens."""
    fields: dict[str, Any] = {}
    for fault in FAULTS[first:]:
        fields |= fault
    _, error = admit(Request(**fields), Admission(16, 10, (("client", 0),) * 60))
    assert error.code == CODES[first]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (
            Request(source_bytes=51_201),
            Refusal("source_bytes_limit", measured=51_201, limit=51_200, counted="utf8"),
        ),
        (
            Request(encoded_bytes=102_593),
            Refusal("source_bytes_limit", measured=102_593, limit=102_592, counted="encoded"),
        ),
        (
            Request(empty=True, source_bytes=3),
            Refusal("source_empty", measured=3, limit=51_200, counted="utf8"),
        ),
    ],
)
def test_a_source_is_refused_with_what_was_counted(request_: Request, error: Refusal) -> None:
    """Its UTF-8 bytes or those of its encoded form."""
    assert admit(request_) == (Admission(), error)


def test_a_program_at_both_limits_is_admitted() -> None:
    """It holds a slot of each kind, and is on record."""
    admission, error = admit(Request(source_bytes=51_200, encoded_bytes=102_592, now=5))
    assert (admission, error) == (Admission(1, 1, (("client", 5),)), None)
    assert server.release(admission) == Admission(0, 0, (("client", 5),))


@pytest.mark.parametrize(
    ("admission", "code"),
    [
        (Admission(16, 10, (("client", 0),) * 60), "rate_limited"),
        (Admission(16, 10), "server_invocations_limit"),
        (Admission(15, 10), "server_workers_limit"),
    ],
)
def test_a_refused_admission_consumes_nothing(admission: Admission, code: str) -> None:
    """Rate, then invocations, then workers; no slot is kept, and no start is recorded."""
    after, error = admit(Request(), admission)
    assert (after, error.code) == (admission, code)


def test_a_start_that_fails_stays_on_record_and_frees_its_slots() -> None:
    """The worker slot was obtained, so that the start counts against the rate."""
    admission, error = admit(Request(spawns=False, now=7))
    assert error == Refusal("worker_start_failed")
    assert admission == Admission(0, 0, (("client", 7),))


@pytest.mark.parametrize(("now", "admitted"), [(59_999, False), (60_000, True)])
def test_a_start_counts_for_less_than_sixty_seconds(now: int, admitted: bool) -> None:  # noqa: FBT001
    """Still at 59.999 s, no more at 60.000 s."""
    starts = (("client", 0), *((("client", 1_000),) * 59))
    _, error = admit(Request(now=now), Admission(starts=starts))
    assert error == (None if admitted else Refusal("rate_limited", limit=60))


def test_the_rate_is_that_of_each_client() -> None:
    """What others start makes no difference."""
    others = (("other", 0),) * 60
    assert admit(Request("client"), Admission(starts=others))[1] is None
    assert server.recent(Admission(starts=others), "other", 59_999) == 60


def test_a_profile_without_a_rate_keeps_no_starts() -> None:
    """Its check is left out, not passed."""
    admitted = server.admit(rules({}), Admission(), Request())
    assert admitted.admission == Admission(1, 1)
    assert "rate_look" not in {note.check for note in admitted.notes}


# Slots for host operations


def arrived(*pairs: tuple[int, int]) -> Slots:
    """The slots after calls (invocation, number) have come in this order."""
    slots = Slots()
    for who, call in pairs:
        slots = server.arrive(RULES, slots, who, call)
    return slots


def test_a_call_runs_at_once_where_a_slot_is_free() -> None:
    """Else it waits behind those of its own invocation."""
    slots = arrived((0, 1), (0, 2), (1, 1), (0, 3), (1, 2))
    assert slots.running == {(0, 1), (0, 2)}
    assert slots.queues == ((1, (1, 2)), (0, (3,)))


def test_invocations_take_turns() -> None:
    """One call each, in the order of each; an invocation with many does not hold up the others."""
    slots = arrived((0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (2, 1))
    served = []
    for done in ((0, 1), (0, 2), (0, 3), (1, 1), (2, 1)):
        after = server.finish(RULES, slots, *done)
        served += sorted(after.running - slots.running)
        slots = after
    assert served == [(0, 3), (1, 1), (2, 1), (0, 4), (1, 2)]
    assert slots.queues == ()


def test_nobody_passes_those_who_wait() -> None:
    """A call that arrives while others wait does not take the slot that has just become free."""
    waiting = arrived((0, 1), (0, 2), (1, 1))
    free = waiting._replace(running=frozenset({(0, 1)}))
    assert server.arrive(RULES, free, 2, 1).queues == ((1, (1,)), (2, (1,)))


def test_a_call_without_time_left_leaves_the_queue() -> None:
    """Those behind it keep their places."""
    slots = server.give_up(arrived((0, 1), (0, 2), (1, 1), (1, 2), (2, 1)), 1, 1)
    assert slots.queues == ((1, (2,)), (2, (1,)))
    assert server.give_up(slots, 2, 1).queues == ((1, (2,)),)


def test_an_invocation_that_ends_leaves_its_slots_and_its_places() -> None:
    """What becomes free goes to those that wait."""
    slots = server.leave(RULES, arrived((0, 1), (0, 2), (0, 3), (1, 1), (2, 1)), 0)
    assert (slots.running, slots.queues) == ({(1, 1), (2, 1)}, ())
