"""Judging what a server answered to a scripted client: expectation and answers give a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_spec.answers import NOBODY

from codemode_conformance.compare import same_json, show
from codemode_conformance.layers import within
from codemode_conformance.verdicts import PASSED, Finding, failed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.answers import ExpectedAnswer, ExpectedAnswers

    from codemode_conformance.observation import Answer, Run


def answers(run: Run, expected: Mapping[str, ExpectedAnswers]) -> Finding:
    """Every request that the case names is answered as expected, as often and in that order."""
    for name, wanted in expected.items():
        found = [one for one in run.answers if one.request == name]
        finding = _number(run, name, wanted, len(found))
        if finding is PASSED:
            finding = _each(name, wanted, found)
        if finding is PASSED:
            finding = _order(run, name, wanted)
        if finding is not PASSED:
            return finding
    if NOBODY not in expected and any(one.request == NOBODY for one in run.answers):
        return failed("answers with the id of a request", "an answer with the id null")
    return PASSED


def _number(run: Run, name: str, wanted: ExpectedAnswers, found: int) -> Finding:
    asked = run.asked.get(name, 0)
    least = asked if wanted.least is None else wanted.least
    most = asked if wanted.most is None else wanted.most
    if not least <= found <= most:
        number = f"{least}" if least == most else f"{least} to {most}"
        return failed(f"{number} answers to {name}", f"{found} answers, {asked} requests")
    if wanted.progress is not None:
        low, high = wanted.progress
        seen = run.reports.get(name, 0)
        if not low <= seen <= high:
            return failed(f"{low} to {high} messages of progress for {name}", f"{seen} came")
    return PASSED


def _each(name: str, wanted: ExpectedAnswers, found: list[Answer]) -> Finding:
    for one in found:
        if not any(_fits(one, legal) for legal in wanted.any_of):
            legal = " or ".join(map(_told, wanted.any_of))
            return failed(f"{name}: {legal}", f"{name}: {describe(one)}", "another answer")
        if wanted.within_ms is not None and one.took_ms > wanted.within_ms:
            limit = f"an answer to {name} within {wanted.within_ms} ms"
            return failed(limit, f"{one.took_ms:.0f} ms", "late")
    return PASSED


def _order(run: Run, name: str, wanted: ExpectedAnswers) -> Finding:
    order = [one.request for one in run.answers]
    if wanted.before is None or wanted.before not in order or name not in order:
        return PASSED
    last = max(index for index, one in enumerate(order) if one == name)
    if last < order.index(wanted.before):
        return PASSED
    return failed(f"{name} is answered before {wanted.before}", f"answers to {', '.join(order)}")


def _fits(one: Answer, legal: ExpectedAnswer) -> bool:
    if legal.kind == "any":
        return True
    if legal.kind == "absent":
        return one.kind == "value" and not one.value.present
    if one.kind != legal.kind:
        return False
    if legal.kind == "value":
        if not legal.judged:
            return True
        return one.value.present and not one.value.odd and same_json(legal.value, one.value.value)
    if legal.kind == "result":
        return within(legal.parts, one.value.value)
    if legal.kind == "refused":
        return not legal.codes or one.code in legal.codes
    return (
        one.told
        and (not legal.categories or one.category in legal.categories)
        and (legal.code is None or one.code == legal.code)
        and (legal.limit is None or same_json(legal.limit, one.limit))
    )


def _told(legal: ExpectedAnswer) -> str:
    if legal.kind == "value":
        return f"value {show(legal.value)}" if legal.judged else "a value"
    if legal.kind == "absent":
        return "success without a value"
    if legal.kind == "result":
        return f"a result with {show(legal.parts)}"
    if legal.kind == "refused":
        return f"JSON-RPC error {' or '.join(map(str, legal.codes))}".strip()
    if legal.kind == "any":
        return "any answer"
    parts = [*legal.categories, *([legal.code] if legal.code else [])]
    parts += [] if legal.limit is None else [f"limit {legal.limit}"]
    return " ".join(["a failure with code and message", *(f"({part})" for part in parts)])


def describe(one: Answer) -> str:
    """An answer in one bounded line."""
    if one.kind in ("value", "result"):
        return f"{one.kind} {show(one.value.value)}" if one.value.present else "no value"
    if one.kind == "refused":
        return f"JSON-RPC error {one.code}"
    told = "" if one.told else ", without a code and a message"
    limit = "" if one.limit is None else f", limit {show(one.limit)}"
    return f"failure {one.category}, code {show(one.code)}{limit}{told}"
