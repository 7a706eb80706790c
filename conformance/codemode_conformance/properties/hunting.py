"""The hunt for a disagreement with Hypothesis: generate, compare, shrink."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky

from codemode_conformance.failures import ConformanceError
from codemode_conformance.properties.agreement import Answer
from codemode_conformance.strategies.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.properties.example import Example
    from codemode_conformance.properties.performing import Performed, Performer

TELL_EVERY: Final = 250
"""After so many programs it is told how far the hunt is."""

_PHASES: Final = (Phase.explicit, Phase.generate, Phase.shrink)


@dataclass
class Hunt:
    """What came of a hunt. `example` is the smallest on which target and model disagree, if any.

    `first_at` is the number of the program that showed it first, `seconds` the time until then or
    until the end; `flaky` says that its smallest form did not show it again.
    """

    programs: int = 0
    agreed: int = 0
    reordered: int = 0
    undecided: int = 0
    seconds: float = 0.0
    first_at: int | None = None
    example: Example | None = None
    performed: Performed | None = None
    flaky: bool = False


class _DisagreementError(Exception):
    """What Hypothesis shrinks."""


@dataclass
class _Stop(BaseException):
    """Not an Exception: Hypothesis would take the trouble for a finding, and shrink it."""

    error: ConformanceError = field()


def hunt(
    performer: Performer, number: int, start: int, tell: Callable[[Hunt], None] = lambda _: None
) -> Hunt:
    """Put so many programs to the target, at most, from this seed; the first finding ends it.

    `tell` is told now and then how far it is. ConformanceError where the target or the
    surroundings fail.
    """
    found = Hunt()
    begun = time.monotonic()

    def one(example: Example) -> None:
        shrinking = found.example is not None
        try:
            performed = performer.perform(example, again=not shrinking)
        except ConformanceError as error:
            raise _Stop(error) from None
        answer = performed.compared.answer
        if not shrinking:
            found.programs += 1
            found.agreed += answer is Answer.AGREES
            found.reordered += answer is Answer.AGREES and performed.compared.orders > 1
            found.undecided += answer is Answer.UNDECIDED
            found.seconds = time.monotonic() - begun
            if found.programs % TELL_EVERY == 0:
                tell(found)
        if answer is Answer.DIFFERS:
            found.first_at = found.first_at or found.programs
            found.example, found.performed = example, performed
            raise _DisagreementError

    test = settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=_PHASES,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )(seed(start)(given(examples(performer.dialect))(one)))
    try:
        test()
    except _Stop as stopped:
        raise stopped.error from None
    except (_DisagreementError, Flaky):
        assert found.example is not None
        performer.restart()
        again = performer.perform(found.example)
        found.flaky = again.compared.answer is not Answer.DIFFERS
        found.performed = found.performed if found.flaky else again
    return found
