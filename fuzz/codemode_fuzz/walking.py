"""A walk from the corpus by the mutators alone: the same inputs for the same seed, no atheris."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from codemode_fuzz import triage
from codemode_fuzz.replay import timed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from codemode_fuzz.targets import Target

_FROM_NOTHING: Final = 0.1
_MOST_FINDINGS: Final = 20


@dataclass(slots=True)
class Walked:
    """How many inputs were tried in how many seconds, and the folders of what was found."""

    runs: int = 0
    seconds: float = 0.0
    homes: set[Path] = field(default_factory=set)


def step(target: Target, pool: Sequence[bytes], seed: int, number: int) -> bytes:
    """The input of one step: a pure function of all four."""
    rng = Random(f"{seed} {number}")
    base = b"" if not pool or rng.random() < _FROM_NOTHING else rng.choice(pool)
    return target.mutate(base, target.max_bytes, rng.getrandbits(32))


def walk(  # noqa: PLR0913  what a walk depends on
    name: str,
    target: Target,
    pool: Sequence[bytes],
    findings: Path,
    *,
    runs: int,
    seed: int,
    first: int = 0,
    seconds: float = float("inf"),
) -> Walked:
    """Try the inputs `first` to `first + runs` of a seed, for at most so many seconds.

    Each finding goes to its folder, as in `triage.record`; many different ones end the walk.
    """
    check = timed(target.check)
    done = Walked()
    started = time.monotonic()
    for number in range(first, first + runs):
        if time.monotonic() - started > seconds or len(done.homes) == _MOST_FINDINGS:
            break
        done.runs += 1
        home = triage.record(findings, name, step(target, pool, seed, number), check)
        if home is not None:
            done.homes.add(home)
    done.seconds = time.monotonic() - started
    return done
