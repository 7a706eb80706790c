"""The reference's parent, without I/O, against any worker, beside the model."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.parent.making import mutate_script
from codemode_fuzz.parent.oracle import check_parent
from codemode_fuzz.parent.seeding import script_seeds
from codemode_fuzz.targets import Target

TARGET: Final = Target(
    title="the parent against a worker's stream, answers and time: budgets, order, one outcome",
    check=check_parent,
    mutate=mutate_script,
    seeds=script_seeds,
    max_bytes=8192,
)
