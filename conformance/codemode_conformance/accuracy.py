"""Where limits stop a program, measured and not judged: the claimed number beside the observed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One row of the policy. `observed` is None where the probe found no stop; `note` says more."""

    row: str
    unit: str
    claimed: float | str
    observed: float | None
    note: str = ""
