"""Whether the kit finds what is planted, from the shipped corpus, with a seed, in time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from codemode_fuzz.plants import PLANTS
from codemode_fuzz.replay import corpus, files
from codemode_fuzz.targets import load
from codemode_fuzz.triage import failure
from codemode_fuzz.walking import step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_fuzz.plants import Plant

SECONDS: Final = 60.0
"""Of processor time for each plant: on a busy machine a minute by the clock is little work."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One plant: the inputs of the corpus that show it, and what mutation needed to find it.

    `runs` is None where mutation found nothing in time; `clean` is False where the same inputs
    find something without the plant.
    """

    plant: Plant
    inputs: int
    shown_by: int
    runs: int | None
    seconds: float
    finding: str
    clean: bool

    @property
    def holds(self) -> bool:
        """Found in time, and only where it was planted."""
        return self.runs is not None and self.clean


def prove(seed: int) -> Iterator[Proof]:
    """Each plant in its turn."""
    for plant in PLANTS:
        yield _proof(plant, seed)


def _proof(plant: Plant, seed: int) -> Proof:
    target = load(plant.target)
    pool = [path.read_bytes() for path in files([corpus(plant.target)])]
    with plant.planted():
        showing = {data for data in pool if failure(data, target.check) is not None}
        # Only from inputs that do not show it: what mutation finds, mutation has made.
        others = [data for data in pool if data not in showing]
        started = time.process_time()
        runs, data, found = 0, b"", None
        while found is None and time.process_time() - started < SECONDS:
            data = step(target, others, seed, runs)
            found = failure(data, target.check)
            runs += 1
        seconds = time.process_time() - started
    return Proof(
        plant,
        len(pool),
        len(showing),
        None if found is None else runs,
        seconds,
        str(found or ""),
        failure(data, target.check) is None,
    )
