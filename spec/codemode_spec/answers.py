"""What a case expects of a server's answers to the requests of a scripted client."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NOBODY: Final = "nobody"
"""The name under which answers with the id null are expected."""


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """One legal answer.

    `kind` is value (`value`, if `judged`), absent, failure, result (its `parts`), refused (one of
    the `codes` of JSON-RPC, any if there are none) or any. Of a failure `categories`, `code` and
    `limit` are judged where they are not empty or None.
    """

    kind: str
    value: Any = None
    judged: bool = False
    parts: Mapping[str, Any] | None = None
    codes: tuple[int, ...] = ()
    categories: tuple[str, ...] = ()
    code: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ExpectedAnswers:
    """What is expected of the answers to all requests of one name: each is one of `any_of`.

    At least `least` and at most `most` requests are answered, none twice; None: all of them.
    `within_ms` is the longest time from a request to its answer; the last one comes before the
    first answer to the requests named `before`. `progress` bounds the messages for them.
    """

    any_of: tuple[ExpectedAnswer, ...]
    least: int | None = None
    most: int | None = None
    within_ms: int | None = None
    before: str | None = None
    progress: tuple[int, int] | None = None


def expected_answers(entries: Mapping[str, Mapping[str, Any]]) -> Mapping[str, ExpectedAnswers]:
    """The expectations of an `answers` entry, by the names of the requests."""
    return MappingProxyType({name: _answers(entry) for name, entry in entries.items()})


def _answers(entry: Mapping[str, Any]) -> ExpectedAnswers:
    least, most = entry.get("times", (None, None))
    return ExpectedAnswers(
        any_of=tuple(_answer({**entry, **one}) for one in entry.get("any_of", [{}])),
        least=least,
        most=most,
        within_ms=entry.get("within_ms"),
        before=entry.get("before"),
        progress=(entry["progress"][0], entry["progress"][1]) if "progress" in entry else None,
    )


def _answer(entry: Mapping[str, Any]) -> ExpectedAnswer:
    if "value" in entry:
        if entry["value"] == {"absent": True}:
            return ExpectedAnswer("absent")
        return ExpectedAnswer("value", value=entry["value"], judged=True)
    if "success" in entry:
        return ExpectedAnswer("value")
    if "result" in entry:
        return ExpectedAnswer("result", parts=entry["result"])
    if "refused" in entry:
        return ExpectedAnswer("refused", codes=tuple(entry["refused"]))
    if "failure" in entry:
        return ExpectedAnswer(
            "failure",
            categories=tuple(entry.get("category", ())),
            code=entry.get("code"),
            limit=entry.get("limit"),
        )
    return ExpectedAnswer("any")
