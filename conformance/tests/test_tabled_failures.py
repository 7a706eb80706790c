"""Failures beside the table of codes: fields, messages, and paths of the host in what is told."""

from __future__ import annotations

import pytest
from codemode_conformance import layers
from codemode_conformance.leaks import HOST_PATH, leaks_of
from codemode_conformance.observation import CanaryHit, End, Run
from codemode_conformance.verdicts import PASSED, Verdict


def test_an_optional_field_may_be_there_or_not() -> None:
    """CM-ERR-016: what the table lists as optional is legal both ways."""
    assert layers.fields({"code": "invalid_arguments"}) is PASSED
    assert layers.fields({"code": "invalid_arguments", "operation": "take"}) is PASSED


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            {"code": "operation_failed", "operation": "a", "suggestion": "/etc/passwd"},
            "operation_failed must not have suggestion",
        ),
        ({"code": "operation_failed"}, "operation_failed lacks operation"),
        ({"code": "cancelled", "limit": 1}, "cancelled must not have limit"),
        ({"code": "no_such_code"}, "no such code"),
        ({}, "no such code"),
    ],
)
def test_a_field_too_many_or_too_few_is_a_fail(error: dict[str, object], reason: str) -> None:
    """CM-ERR-016: a failure has the fields of its code and no others."""
    finding = layers.fields(error)
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, reason)


def test_a_message_is_the_text_with_its_numbers_and_the_advice() -> None:
    """CM-ERR-017: the text of the table, exactly."""
    error = {"code": "final_result_bytes_limit", "measured": 202, "limit": 100}
    text = (
        "the returned value takes 202 bytes; the limit is 100; "
        "return fewer fields or a more compact form"
    )
    assert layers.message(error, {"message": text}) is PASSED
    for wrong in (f"/home/secret/path.js:1 {text}", text.replace("202", "203"), ""):
        assert layers.message(error, {"message": wrong}).verdict is Verdict.FAIL


def test_a_message_that_is_not_handed_over_cannot_be_judged() -> None:
    """An adapter without a message gives neither a PASS nor a FAIL."""
    assert layers.message({"code": "cancelled"}, {}).verdict is Verdict.UNTESTABLE


@pytest.mark.parametrize(
    "message",
    [
        "/home/secret/path.js:1: failed",
        "at file:///srv/a.js",
        "in 'C:\\app\\x.js'",
        "node:internal/vm:3",
    ],
)
def test_a_file_of_the_host_in_a_message_is_found(message: str) -> None:
    """CM-ERR-018: the client is told no path."""
    run = Run("", End.FAILURE, 1.0, category="script", native={"message": message})
    assert CanaryHit(HOST_PATH, "raw", "run 1 message") in leaks_of([run], "run", lambda _: [])


@pytest.mark.parametrize(
    ("native", "error"),
    [
        ({"message": "unexpected token '/' at 3/home", "stack": "at /srv/app/host.js:1"}, {}),
        ({"message": "GET https://example.org/home/x failed"}, {"detail": "1/2 of /x"}),
    ],
)
def test_no_path_is_found_where_there_is_none(
    native: dict[str, str], error: dict[str, str]
) -> None:
    """The stack of an error in the host's own process is told to nobody; a URL is no file."""
    run = Run("", End.FAILURE, 1.0, category="script", native=native, error=error)
    assert leaks_of([run], "run", lambda _: []) == []
