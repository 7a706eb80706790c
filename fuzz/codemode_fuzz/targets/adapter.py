"""The suite's reading of what an adapter prints."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.adapter.making import adapter_seeds, mutate_stream
from codemode_fuzz.adapter.oracle import check_adapter
from codemode_fuzz.targets import Target

TARGET: Final = Target(
    title="adapter messages: lines, key, strict JSON, schema, and what the suite makes of them",
    check=check_adapter,
    mutate=mutate_stream,
    seeds=adapter_seeds,
    max_bytes=16384,
)
