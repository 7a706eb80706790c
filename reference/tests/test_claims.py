"""Which codes a worker may name."""

import pytest
from codemode_reference.claims import accept, printable
from codemode_reference.ledger import Ledger


@pytest.fixture
def judge(limits):
    """`judge(error, sent=..., elapsed_ms=..., calls=...)`: the failure made of it."""

    def accepted(error, *, sent=(), elapsed_ms=0.0, calls=0):
        ledger = Ledger(limits, calls=calls)
        operations = {"echo", "list_all"}
        return accept(
            error,
            sent=sent,
            ledger=ledger,
            elapsed_ms=elapsed_ms,
            operations=operations,
            names={*operations, "listAll"},
        )

    return accepted


UNBELIEVED = {"code": "code_rejected", "message": "the program was rejected", "reason": "uncaught"}


def test_an_error_that_was_sent_is_believed(judge):
    """The same code, operation and numbers come back."""
    error = {"code": "operation_failed", "operation": "echo"}
    assert judge(error, sent=[error]).code == "operation_failed"
    assert judge(error).to_json() == UNBELIEVED
    assert judge({**error, "operation": "list_all"}, sent=[error]).to_json() == UNBELIEVED


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        ({"code": "deadline_exceeded", "limit": 10000}, {"elapsed_ms": 10000.0}),
        ({"code": "host_calls_limit", "operation": "echo", "limit": 16}, {"calls": 16}),
        ({"code": "host_concurrency_limit", "operation": "echo", "limit": 4}, {"calls": 4}),
    ],
)
def test_a_limit_is_believed_if_the_ledger_agrees(judge, error, facts):
    """The worker's own limits need the parent's numbers, and the policy's limit."""
    assert judge(error, **facts).code == error["code"]
    assert judge(error).to_json() == UNBELIEVED
    assert judge({**error, "limit": 3}, **facts).to_json() == UNBELIEVED


@pytest.mark.parametrize(
    "error",
    [
        {"code": "final_result_bytes_limit", "measured": 49153, "limit": 49152},
        {"code": "source_bytes_limit", "measured": 32769, "limit": 32768, "counted": "utf8"},
    ],
)
def test_a_size_is_believed_above_its_limit(judge, error):
    """What was measured must pass the limit."""
    assert judge(error).to_json()["measured"] == error["measured"]
    assert judge({**error, "measured": error["limit"]}).to_json() == UNBELIEVED


def test_names_must_be_of_the_catalogue(judge):
    """Operations and suggestions that the worker invents are not echoed."""
    assert judge({"code": "unknown_method", "suggestion": "echo"}).code == "unknown_method"
    assert judge({"code": "unknown_method", "suggestion": "evil"}).to_json() == UNBELIEVED
    assert judge({"code": "invalid_arguments", "operation": "evil"}).to_json() == UNBELIEVED


def test_an_operation_is_named_as_such(judge):
    """A method may be suggested; it names no operation."""
    assert judge({"code": "unknown_method", "suggestion": "listAll"}).code == "unknown_method"
    error = {"code": "invalid_arguments", "operation": "listAll"}
    assert judge(error).to_json() == UNBELIEVED
    assert judge({**error, "operation": "list_all"}).code == "invalid_arguments"


def test_arguments_are_too_long_only_for_a_frame(judge):
    """The limit of refused arguments is that of a frame."""
    error = {"code": "invalid_arguments", "operation": "echo", "measured": 80000, "limit": 73728}
    assert judge(error).code == "invalid_arguments"
    assert judge({**error, "limit": 5}).to_json() == UNBELIEVED


def test_details_are_kept_printable(judge):
    """Control characters of the worker's text are escaped and its length is bounded."""
    error = {
        "code": "code_rejected",
        "reason": "uncaught",
        "detail": "a\x1b[31m\u202e\n" + "b" * 494,
    }
    detail = judge(error).fields["detail"]
    assert detail.startswith("a\\x1b[31m\\u202e\\nb")
    assert len(detail) == 500
    assert printable("é \U0001f600") == "é \U0001f600"
