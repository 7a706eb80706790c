"""Texts that a failure carries, and that a program prints: bounded, and told when they are not."""

from __future__ import annotations

from codemode_conformance.evidence import texts
from codemode_conformance.observation import End, Run
from codemode_conformance.verdicts import PASSED, Verdict
from codemode_spec.expectations import Outcome


def test_the_longest_text_of_a_failure_is_bounded() -> None:
    """Each for itself, in bytes of UTF-8, wherever it stands; exactly at the limit it passes."""
    legal = Outcome("failure", longest={"failure": 8})
    fine = {"message": "12345678", "stack": ["1234", {"more": "12345678"}]}
    assert texts(Run("", End.FAILURE, 1.0, native=fine), legal) is PASSED
    for bad in ({"message": "123456789"}, {"stack": [{"x": "\u00e9" * 5}]}, {"123456789": 1}):
        finding = texts(Run("", End.FAILURE, 1.0, native=bad), legal)
        assert finding.verdict is Verdict.FAIL
        assert texts(Run("", End.FAILURE, 1.0, error=bad), legal).verdict is Verdict.FAIL
    assert finding.observed == "one of 9 bytes"


def test_what_was_printed_is_bounded_in_all() -> None:
    """All lines together."""
    legal = Outcome("any", longest={"logs": 8})
    assert texts(Run("", End.VALUE, 1.0, logs=("1234", "5678")), legal) is PASSED
    assert texts(Run("", End.VALUE, 1.0, logs=("1234", "56789")), legal).verdict is Verdict.FAIL
