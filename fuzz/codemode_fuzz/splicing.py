"""Changes of bytes that know nothing of what the bytes mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

_MARKS: Final = (b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\\u", b"\r", b"0", b"\n", b"-")


def splice(rng: Random, data: bytes) -> bytes:
    """`data` with a few bytes left out, doubled, moved or replaced."""
    start = rng.randint(0, len(data))
    end = min(len(data), start + rng.choice((0, 0, 1, 2, 8)))
    middle = rng.choice((b"", rng.randbytes(1), data[start:end] * 2, rng.choice(_MARKS)))
    return data[:start] + middle + data[end:]
