"""The reference's frame decoder, in both directions."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.mutators import mutate_frames
from codemode_fuzz.oracles import check_frames
from codemode_fuzz.reading import FRAME_BYTES
from codemode_fuzz.seeds import frame_seeds
from codemode_fuzz.targets import Target

TARGET: Final = Target(
    title="the frame decoder: lines, strict JSON, shapes, direction",
    check=check_frames,
    mutate=mutate_frames,
    seeds=frame_seeds,
    max_bytes=FRAME_BYTES + 8192,
)
