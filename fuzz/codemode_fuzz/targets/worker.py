"""The reference's worker, as a process, against any parent stream."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.targets import Target
from codemode_fuzz.worker.making import mutate_stream, stream_seeds
from codemode_fuzz.worker.oracle import check_worker

TARGET: Final = Target(
    title="the real worker against a parent's stream: silence or legal frames, its exit (slow)",
    check=check_worker,
    mutate=mutate_stream,
    seeds=stream_seeds,
    max_bytes=16384,
)
