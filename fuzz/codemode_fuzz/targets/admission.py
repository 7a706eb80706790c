"""The reference's reading of programs before they run, against the engine."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.admission.making import admission_seeds, mutate_admission
from codemode_fuzz.admission.oracle import check_admission
from codemode_fuzz.targets import Target

TARGET: Final = Target(
    title="admission: tokens, patterns, the last expression has the engine's own completion value",
    check=check_admission,
    mutate=mutate_admission,
    seeds=admission_seeds,
    max_bytes=2048,
)
