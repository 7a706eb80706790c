"""The parent's accounting of pages, snapshots and grants, against a worker that guards nothing."""

import asyncio

import pytest
from codemode_reference import Operation, Parent, Success
from codemode_reference.actions import Dispatch
from codemode_reference.evidence import CallRecord, Fate
from codemode_reference.operations import Catalogue, Cost

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


async def nothing(arguments):
    """Do nothing."""


def page(**more):
    """An operation that costs a page and wants a name."""
    return Operation("page", nothing, arguments=NAMED, cost=Cost(pages=1), **more)


OPEN = Operation("open", nothing, arguments=NAMED, cost=Cost(snapshots=1))
FREE = Operation("free", nothing)
NO_PAGES = {"code": "pages_limit", "operation": "page", "limit": 8}


def test_seventeen_calls_with_bad_arguments(scripted):
    """Eight use up the pages, eight more find none, the last one is one call too many."""
    worker = scripted([page()])
    bad = {"code": "invalid_arguments", "operation": "page"}
    told = [worker.call("page", {"name": 1}) for _ in range(17)]
    assert told[:8] == [bad] * 8
    assert told[8:16] == [NO_PAGES] * 8
    assert told[16] == {"code": "host_calls_limit", "operation": "page", "limit": 16}


def test_pages_are_not_refunded(scripted):
    """A page is gone whether its call gives a value, fails or is refused for its arguments."""
    worker = scripted([page(), FREE], pages=3)
    assert worker.call("page", {"name": "a"}) is Dispatch
    assert worker.answer(1, {"text": ""}) == {"text": ""}
    assert worker.call("page", {"name": "a"}) is Dispatch
    worker.session.fail(2, 1.0)
    assert worker.call("page", {})["code"] == "invalid_arguments"
    assert worker.call("page", {"name": "a"}) == {**NO_PAGES, "limit": 3}
    assert worker.call("free") is Dispatch


def test_snapshots_are_an_account_of_their_own(scripted):
    """Opening costs a snapshot and no page."""
    worker = scripted([page(), OPEN], pages=1)
    assert worker.call("open", {"name": 1})["code"] == "invalid_arguments"
    assert worker.call("open", {"name": "a"}) is Dispatch
    used_up = {"code": "snapshots_limit", "operation": "open", "limit": 2}
    assert worker.call("open", {"name": "a"}) == used_up
    assert worker.call("page", {"name": "a"}) is Dispatch


def test_a_call_above_the_concurrency_costs_no_page(scripted):
    """It takes a call and an id; the page is still there when a slot is free again."""
    worker = scripted([page()], pages=2, concurrent_host_calls=1)
    assert worker.call("page", {"name": "a"}) is Dispatch
    busy = {"code": "host_concurrency_limit", "operation": "page", "limit": 1}
    assert worker.call("page", {"name": "a"}) == busy
    worker.answer(1, None)
    assert worker.call("page", {"name": "a"}) is Dispatch
    worker.answer(3, None)
    assert worker.call("page", {"name": "a"}) == {**NO_PAGES, "limit": 2}


def test_a_refused_call_frees_its_slot(scripted):
    """Calls that are refused after they took a slot do not keep it."""
    worker = scripted([page(), FREE], pages=1, concurrent_host_calls=1)
    worker.call("page", {})
    assert worker.call("page", {}) == {**NO_PAGES, "limit": 1}
    assert worker.call("free") is Dispatch


def test_uncaught_budget_errors_keep_their_code(scripted):
    """The parent believes a `pages_limit` that it sent, and no other."""
    worker = scripted([page()], pages=1)
    worker.call("page", {})
    error = worker.call("page", {})
    ledger = worker.session._calls.ledger
    assert (ledger.pages, ledger.snapshots) == (1, 0)
    assert error in worker.session._calls.sent
    assert {**error, "limit": 2} not in worker.session._calls.sent


def test_an_operation_that_is_not_granted_ends_it_all(scripted):
    """A frame that names one was not made by a worker that keeps the rules."""
    worker = scripted([page(), FREE], grants=["free"])
    assert worker.call("free") is Dispatch
    assert worker.call("page", {"name": "a"}) == {"code": "capability_denied", "operation": "page"}
    assert worker.session.ended


def test_a_worker_is_told_of_granted_operations_only():
    """What is not granted is neither described nor suggested, and an unknown grant is a mistake."""
    catalogue = Catalogue([page(), FREE]).restricted(["free"])
    assert [entry["name"] for entry in catalogue.described()] == ["free"]
    assert catalogue.suggestions() == {"free"}
    with pytest.raises(ValueError, match="no such operations to grant: other"):
        catalogue.restricted(["other"])


@pytest.mark.parametrize(
    ("permits", "told"),
    [
        (lambda arguments: arguments["name"] == "a", Dispatch),
        (lambda arguments: False, {"code": "capability_denied", "operation": "page"}),
        (lambda arguments: 1, {"code": "capability_denied", "operation": "page"}),
        (lambda arguments: arguments["x"], {"code": "capability_denied", "operation": "page"}),
    ],
)
def test_each_call_is_authorized(scripted, permits, told):
    """What is not permitted, or cannot be told, is refused; the page stays used."""
    worker = scripted([page(permits=permits)], pages=1)
    assert worker.call("page", {"name": "a"}) == told
    assert worker.session._calls.ledger.pages == 1
    assert not worker.session.ended


def test_permission_is_asked_after_the_arguments_are_checked(scripted):
    """It may rely on the schema."""
    worker = scripted([page(permits=lambda arguments: arguments["name"] == "a")])
    assert worker.call("page", {}) == {"code": "invalid_arguments", "operation": "page"}


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ({"cache": {"last_error": "/home/x", "n": 1}}, {"cache": {"last_error": None, "n": 1}}),
        ({"cache": {"n": 1}}, {"cache": {"n": 1}}),
        ({"cache": [1]}, {"cache": [1]}),
        ([], []),
    ],
)
def test_diagnostics_are_null_for_a_program(scripted, value, seen):
    """A field for people is replaced, nothing is added, the operation's own value is untouched."""
    operation = Operation("open", nothing, diagnostics=("/cache/last_error",))
    worker = scripted([operation])
    worker.call("open")
    before = repr(value)
    assert worker.answer(1, value) == seen
    assert repr(value) == before


def test_what_is_charged_is_what_is_sent(scripted):
    """A diagnostic that is not sent takes no bytes."""
    operation = Operation("open", nothing, diagnostics=("/error",))
    worker = scripted([operation], host_result_bytes=14)
    worker.call("open")
    assert worker.answer(1, {"error": "x" * 100}) == {"error": None}
    assert worker.session._calls.ledger.delivered_bytes == len('{"error":null}')


def test_calls_are_on_record(scripted):
    """What became of each call, as the parent saw it; nothing of what was said."""
    worker = scripted([page(), FREE], host_result_bytes=10)
    session = worker.session
    for operation, arguments in [("page", {}), *[("free", None)] * 4]:
        if worker.call(operation, arguments) is Dispatch:
            session.dispatched(worker.calls)
    session.answer(2, 1, 1.0)
    session.answer(3, "x" * 10, 1.0)
    session.fail(4, 1.0)
    session.event("cancel")
    session.fail(5, 1.0)
    assert session.calls == [
        CallRecord(1, "page", Fate.failed, dispatched=False, code="invalid_arguments"),
        CallRecord(2, "free", Fate.succeeded, dispatched=True),
        CallRecord(3, "free", Fate.succeeded, dispatched=True, code="host_result_bytes_limit"),
        CallRecord(4, "free", Fate.failed, dispatched=True, code="operation_failed"),
        CallRecord(5, "free", Fate.unknown, dispatched=True),
    ]


def test_a_program_meets_the_same_account(limits):
    """Seventeen calls of a program: its own worker refuses the last one, which it can catch."""
    source = """
        const codes = [];
        for (let n = 0; n < 17; n++) {
            try { await codemode.page({name: n}); } catch (error) { codes.push(error.code); }
        }
        return codes;
    """

    async def run():
        parent = Parent(limits, [page()])
        try:
            uncaught = await parent.invoke("for (;;) await codemode.page({name: 'a'})")
            return await parent.invoke(source), uncaught
        finally:
            await parent.close()

    outcome, uncaught = asyncio.run(run())
    pages = ["invalid_arguments"] * 8 + ["pages_limit"] * 8
    assert outcome == Success(True, [*pages, "host_calls_limit"])
    assert (uncaught.code, dict(uncaught.fields)) == (
        "pages_limit",
        {"operation": "page", "limit": 8},
    )
