"""Scripted operations answer by call number, at their time, in the order asked for."""

from pathlib import Path
from typing import Any

import pytest
from codemode_conformance.canary import Canaries
from codemode_conformance.replies import Replies
from codemode_spec.cases import Behaviour, OperationSpec

CANARIES = Canaries("5e4d", "NAME", Path("/file"), "http://127.0.0.1:1/x")


def replies(*behaviour: Behaviour, release: tuple[int, ...] = ()) -> Replies:
    """One operation `op`."""
    return Replies([OperationSpec("op", "read", {}, behaviour, release)], CANARIES)


def sent(source: Replies, now: float) -> list[tuple[int, Any]]:
    """Call numbers with their values or codes."""
    return [
        (reply.call, reply.message.get("value", reply.message.get("error")))
        for reply in source.due(now)
    ]


def test_the_last_behaviour_repeats_and_each_run_counts_anew() -> None:
    """The n-th call takes the n-th entry."""
    source = replies(Behaviour("value", value="a"), Behaviour("value", value="b"))
    for call in (1, 2, 3):
        source.accept(1, call, "op", 0.0)
    source.accept(2, 1, "op", 0.0)
    assert sent(source, 0.0) == [(1, "a"), (2, "b"), (3, "b"), (1, "a")]


def test_a_delay_is_kept_and_told() -> None:
    """Nothing is due before; the caller learns the delay for its own clock."""
    source = replies(Behaviour("value", value=1, delay_ms=250))
    assert source.accept(1, 1, "op", 10.0) == 0.25
    assert source.next_at == 10.25
    assert sent(source, 10.2) == []
    assert sent(source, 10.25) == [(1, 1)]
    assert source.next_at is None


def test_a_reply_comes_early_once_the_run_that_it_waits_for_has_ended() -> None:
    """Of that run alone; and at once if that has ended before."""
    source = replies(Behaviour("value", value=1, delay_ms=250, until_run=3))
    source.accept(1, 1, "op", 10.0)
    source.ended(2, 10.1)
    assert sent(source, 10.1) == []
    source.ended(3, 10.2)
    assert sent(source, 10.2) == [(1, 1)]
    assert source.accept(1, 2, "op", 10.3) == 0.0
    assert sent(source, 10.3) == [(2, 1)]


def test_replies_are_released_in_the_order_asked_for() -> None:
    """A reply waits for those that come before it in `release`; others pass."""
    source = replies(Behaviour("value", value=0), release=(3, 1, 2))
    for call in (1, 2):
        source.accept(1, call, "op", 0.0)
    assert sent(source, 0.0) == []
    source.accept(1, 4, "op", 0.0)
    assert sent(source, 0.0) == [(4, 0)]
    source.accept(1, 3, "op", 0.0)
    assert sent(source, 0.0) == [(3, 0), (1, 0), (2, 0)]


def test_failures_odd_values_and_secrets() -> None:
    """A failure carries code and message, an odd value its kind, and secrets are filled in."""
    source = replies(
        Behaviour("fail", code="not_found", message="no {{canary.error}}"),
        Behaviour("odd", value="NaN"),
        Behaviour("never"),
    )
    for call in (1, 2, 3):
        source.accept(1, call, "op", 0.0)
    first, second = source.due(1.0)
    assert first.message["error"] == {"code": "not_found", "message": "no canary-5e4d-error"}
    assert second.message == {
        "m": "return",
        "r": 1,
        "c": 2,
        "ok": True,
        "present": True,
        "value": None,
        "odd": [[[], "NaN"]],
    }


def test_an_operation_that_nobody_granted_fails() -> None:
    """It stands in the ledger; the reply says that there is none."""
    source = replies(Behaviour("never"))
    source.accept(1, 1, "other", 0.0)
    assert sent(source, 0.0) == [(1, {"code": "unknown_operation", "message": "no such operation"})]


@pytest.mark.parametrize("release", [(), (2, 1)])
def test_replies_of_an_ended_run_are_dropped(release: tuple[int, ...]) -> None:
    """Those of other runs stay."""
    source = replies(Behaviour("value", value=1, delay_ms=10), release=release)
    source.accept(1, 1, "op", 0.0)
    source.accept(2, 3, "op", 0.0)
    source.drop(1)
    assert sent(source, 1.0) == [(3, 1)]
