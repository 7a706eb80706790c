"""Answers of a server made by hand: correct ones for an expectation, and wrong ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.observation import Answer, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codemode_spec.answers import ExpectedAnswer, ExpectedAnswers

    from codemode_conformance.observation import Run

_DOCTORED: Final = "doctored"
_ODD_CODE: Final = -1


def correct(expected: Mapping[str, ExpectedAnswers]) -> dict[str, Any]:
    """The parts of a run in which every request is answered as expected."""
    answers: list[Answer] = []
    asked: dict[str, int] = {}
    for name in _in_order(expected):
        wanted = expected[name]
        number = 1 if wanted.most is None else wanted.most
        asked[name] = max(number, 1)
        answers += [_answer(name, wanted.any_of[n % len(wanted.any_of)]) for n in range(number)]
    reports = {name: one.progress[0] for name, one in expected.items() if one.progress}
    return {"answers": tuple(answers), "asked": asked, "reports": reports}


def wrong(
    run: Run, expected: Sequence[Mapping[str, ExpectedAnswers]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Wrong versions of the answers of a correct run, each with what is wrong with it.

    Only changes that no legal outcome allows are made: one that asks for no answers allows all.
    """
    if not expected or not all(expected):
        return
    for name in sorted(set.intersection(*map(set, expected))):
        yield from _wrong(run, name, [one[name] for one in expected])
    if not any("nobody" in one for one in expected):
        stray = Answer("nobody", "refused", code=_ODD_CODE)
        yield "an answer with the id null", {"answers": (*run.answers, stray)}


def _wrong(
    run: Run, name: str, wanted: list[ExpectedAnswers]
) -> Iterator[tuple[str, dict[str, Any]]]:
    there = [one for one in run.answers if one.request == name]
    others = tuple(one for one in run.answers if one.request != name)
    if there and all(one.least is None or len(there) - 1 < one.least for one in wanted):
        yield f"no answer to {name}", {"answers": (*others, *there[1:])}
    again = Answer(name, "value") if not there else there[-1]
    if all(one.most is None or one.most <= len(there) for one in wanted):
        yield f"another answer to {name}", {"answers": (*run.answers, again)}
    kinds = {legal.kind for one in wanted for legal in one.any_of}
    if there and "any" not in kinds:
        odd = _odd(name, kinds)
        yield f"a wrong answer to {name}", {"answers": (*others, *there[:-1], odd)}
    if there and kinds == {"failure"}:
        untold = replace(there[-1], told=False)
        yield f"a bare failure of {name}", {"answers": (*others, *there[:-1], untold)}
    limits = [one.within_ms for one in wanted]
    if there and all(limit is not None for limit in limits):
        late = replace(there[-1], took_ms=max(filter(None, limits)) + 1.0)
        yield f"{name} late", {"answers": (*others, *there[:-1], late)}
    before = {one.before for one in wanted}
    later = tuple(one for one in run.answers if one.request in before)
    if there and None not in before and later:
        rest = tuple(one for one in others if one not in later)
        yield f"{name} after the other", {"answers": (*rest, *later, *there)}
    counts = [one.progress for one in wanted]
    if all(counts):
        most = max(one[1] for one in counts if one) + 1
        yield f"more progress of {name}", {"reports": {**run.reports, name: most}}
        if all(one and one[0] for one in counts):
            yield f"no progress of {name}", {"reports": {**run.reports, name: 0}}


def _in_order(expected: Mapping[str, ExpectedAnswers]) -> list[str]:
    """The names so that each stands before the one that it must come before."""
    ordered: list[str] = []
    for name, one in expected.items():
        place = ordered.index(one.before) if one.before in ordered else len(ordered)
        ordered.insert(place, name)
    return ordered


def _odd(name: str, kinds: set[str]) -> Answer:
    """An answer of none of these kinds, or of a value that nobody expects."""
    if "refused" not in kinds:
        return Answer(name, "refused", code=_ODD_CODE)
    if "failure" not in kinds:
        return Answer(name, "failure", category="other", code=_DOCTORED, told=True)
    return Answer(name, "value", Value(present=True, value=[_DOCTORED]))


def _answer(name: str, legal: ExpectedAnswer) -> Answer:
    if legal.kind in ("value", "any"):
        return Answer(name, "value", Value(present=True, value=legal.value))
    if legal.kind == "absent":
        return Answer(name, "value")
    if legal.kind == "result":
        return Answer(name, "result", Value(present=True, value=legal.parts))
    if legal.kind == "refused":
        return Answer(name, "refused", code=legal.codes[0] if legal.codes else _ODD_CODE)
    category = legal.categories[0] if legal.categories else "other"
    return Answer(
        name,
        "failure",
        category=category,
        code=legal.code or _DOCTORED,
        limit=legal.limit,
        told=True,
    )
