"""The reference's host values: which are I-JSON, their size, their text."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.targets import Target
from codemode_fuzz.value.making import mutate_value, value_seeds
from codemode_fuzz.value.oracle import check_value

TARGET: Final = Target(
    title="host values: which are JSON, their exact size, their text",
    check=check_value,
    mutate=mutate_value,
    seeds=value_seeds,
    max_bytes=8192,
)
