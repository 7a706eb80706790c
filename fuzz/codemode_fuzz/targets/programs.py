"""Programs from a grammar through the reference's real worker."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.program.making import mutate_program, program_seeds
from codemode_fuzz.program.oracle import check_program
from codemode_fuzz.targets import Target

TARGET: Final = Target(
    title="programs through the real worker: one legal outcome in time, the known value (slow)",
    check=check_program,
    mutate=mutate_program,
    seeds=program_seeds,
    max_bytes=4096,
)
