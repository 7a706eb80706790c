"""The suite's reading of target files."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.targetfile.making import file_seeds, mutate_file
from codemode_fuzz.targetfile.oracle import check_target_file
from codemode_fuzz.targets import Target

TARGET: Final = Target(
    title="target files: a target, or an error that says where and what to do",
    check=check_target_file,
    mutate=mutate_file,
    seeds=file_seeds,
    max_bytes=8192,
)
