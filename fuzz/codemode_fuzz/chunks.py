"""A stream in pieces: cut in every way that matters, and how much of it a decoder keeps."""

from __future__ import annotations

import zlib
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERY_BYTE: Final = 128  # longer inputs are not also fed byte by byte
_MOST_CHUNKS: Final = 256


def held(decoder: object) -> int:
    """The bytes that a decoder keeps, wherever it keeps them."""
    return _bytes_in(vars(decoder))


def chunkings(data: bytes) -> Iterator[list[bytes]]:
    """One read, cuts that follow from the input, and single bytes of a small one."""
    yield [data]
    rng = Random(zlib.crc32(data))
    size = max(rng.choice((3, 16, 128, 4096)), len(data) // _MOST_CHUNKS)
    chunks, start = [], 0
    while start < len(data):
        line_feed = data.find(b"\n", start)
        # Just before and just after the end of a line are the places where decoders go wrong.
        near = line_feed + rng.randint(0, 1) if line_feed >= 0 and rng.random() < 0.2 else 0
        end = near if near > start else start + rng.randint(1, size)
        chunks.append(data[start:end])
        start = end
    yield chunks
    if len(data) <= _EVERY_BYTE:
        yield [data[at : at + 1] for at in range(len(data))]


def _bytes_in(item: Any) -> int:
    if isinstance(item, (bytes, bytearray, str)):
        return len(item)
    if isinstance(item, dict):
        return sum(map(_bytes_in, item.values()))
    if isinstance(item, (list, tuple)):
        return sum(map(_bytes_in, item))
    return 0
