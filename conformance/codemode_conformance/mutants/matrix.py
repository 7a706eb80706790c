"""The matrix of mutants, requirements and cases, as it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codemode_conformance.escape import for_terminal
from codemode_conformance.mutants.trial import GREENS, LEAST_PASSING, counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.mutants.mutant import Mutant
    from codemode_conformance.mutants.trial import Result

SHOWN_CASES: Final = 2


class Matrix:
    """Tells `say` a line for each mutant and each layer of each requirement that it breaks."""

    def __init__(self, mutants: list[Mutant], say: Callable[[str], None]) -> None:
        self._say = say
        self._width = max((len(mutant.name) for mutant in mutants), default=0)
        say(
            f"{'mutant':<{self._width}}  {'requirement':<11}  {'layer':<8}  {'cases':>5}  "
            f"{'others':>6}  caught by"
        )

    def row(self, result: Result) -> None:
        """What came of one mutant."""
        others = f"{len(result.passed)}/{len(result.passed) + len(result.others)}"
        name = result.mutant.name
        for requirement, layer in result.mutant.pairs:
            caught = result.catching(requirement, layer)
            more = f" and {len(caught) - SHOWN_CASES} more" if len(caught) > SHOWN_CASES else ""
            told = ", ".join(caught[:SHOWN_CASES]) + more if caught else "nothing"
            self._say(
                f"{name:<{self._width}}  {requirement:<11}  {layer:<8}  {len(caught):>5}  "
                f"{others:>6}  {told}"
            )
            name = others = ""
        for case in result.withdrawn:
            self._say(
                f"  WITHDRAWN {result.mutant.name}: {case} was red, and passed {GREENS} times"
            )
        for problem in result.problems:
            self._say(f"  SURVIVES {result.mutant.name}: {for_terminal(problem)}")

    def end(self, results: list[Result], seconds: float) -> None:
        """The sums."""
        good = [result for result in results if not result.problems]
        pairs = sum(len(result.mutant.pairs) for result in results)
        cases = sum(
            len(result.related) + len(result.passed) + len(result.others) for result in results
        )
        least = min((result.share for result in results if result.fault is None), default=1.0)
        self._say(
            f"\n{len(good)} of {len(results)} mutants caught, in {pairs} layers of their "
            f"requirements, by {len(counted(results))} cases;\n"
            f"unrelated cases that pass: at least {least:.0%} for each ({LEAST_PASSING:.0%} are "
            f"asked for); {cases} verdicts in {seconds:.0f} s"
        )
