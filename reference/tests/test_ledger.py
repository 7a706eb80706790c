"""The account of the host budgets."""

import pytest
from codemode_reference.ledger import Ledger
from codemode_reference.operations import Cost


@pytest.fixture
def ledger():
    """An account with small limits."""
    return Ledger(
        {
            "host_calls": 3,
            "concurrent_host_calls": 2,
            "pages": 2,
            "snapshots": 1,
            "host_result_bytes": 10,
            "cumulative_host_result_bytes": 15,
        }
    )


def test_ids_rise_by_one(ledger):
    """The first id is 1, the next one 2; gaps and repeats are not expected."""
    assert ledger.expects(1)
    assert not ledger.expects(2)
    ledger.take()
    assert ledger.expects(2)
    assert not ledger.expects(1)


def test_calls_are_used_up_at_the_limit(ledger):
    """Exactly as many calls as the limit says fit."""
    for _ in range(3):
        assert not ledger.calls_used_up
        ledger.take()
    assert ledger.calls_used_up


def test_slots_come_back_and_calls_do_not(ledger):
    """A third call in flight is refused; a slot that is left can be taken again."""
    assert ledger.enter(1, "a") is None
    assert ledger.enter(2, "b") is None
    refused = ledger.enter(3, "c")
    assert refused.to_json() == {
        "code": "host_concurrency_limit",
        "message": "2 host calls are in flight already",
        "operation": "c",
        "limit": 2,
    }
    assert ledger.leave(1) == "a"
    assert ledger.leave(1) is None
    assert ledger.enter(4, "d") is None


def test_a_result_at_the_limit_is_delivered(ledger):
    """Equal is accepted, one more is refused and not charged."""
    assert ledger.deliver("a", 10) is None
    refused = ledger.deliver("a", 11)
    assert dict(refused.fields) == {"operation": "a", "measured": 11, "limit": 10}
    assert ledger.deliver("a", 5) is None
    assert ledger.delivered_bytes == 15


def test_the_sum_is_limited(ledger):
    """A value that would pass the sum is refused and not added."""
    ledger.deliver("a", 10)
    refused = ledger.deliver("a", 6)
    assert refused.code == "cumulative_host_bytes_limit"
    assert dict(refused.fields) == {"operation": "a", "measured": 16, "limit": 15}
    assert ledger.deliver("a", 5) is None


def test_pages_stay_charged_where_the_snapshots_do_not_fit(ledger):
    """Each check takes its own when it has passed, and nothing comes back."""
    both = Cost(pages=1, snapshots=1)
    assert ledger.reserve("a", both) is None
    assert ledger.reserve("a", both).code == "snapshots_limit"
    assert (ledger.pages, ledger.snapshots) == (2, 1)
    assert ledger.reserve("a", both).code == "pages_limit"
