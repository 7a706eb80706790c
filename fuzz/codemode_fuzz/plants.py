"""Three faults of the kinds that boundaries really have, in the reference while a block runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Plant:
    """A fault: the target that is to find it, and what it is."""

    name: str
    target: str
    title: str
    put: Callable[[], Any]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The fault is there in the block, and nowhere else."""
        with self.put():
            yield


def _chunk_boundary() -> Any:
    from codemode_reference.lines import LineDecoder  # noqa: PLC0415

    sound = LineDecoder.feed

    def feed(self: Any, data: bytes) -> list[bytes]:
        # The line ends with the first byte of a read: what came before loses its last one.
        if data[:1] == b"\n" and self._rest[-1:] == b"}":
            del self._rest[-1:]
        return sound(self, data)

    return patch.object(LineDecoder, "feed", feed)


def _id_type() -> Any:
    from codemode_reference import frames  # noqa: PLC0415
    from codemode_reference.strict_json import MAX_SAFE  # noqa: PLC0415

    def count(found: Any, _rules: Any) -> bool:
        # In Python true is 1 and so is 1.0.
        return isinstance(found, int | float) and 0 <= found <= MAX_SAFE and found == int(found)

    return patch.object(frames, "_count", count)


def _size() -> Any:
    from codemode_reference import values  # noqa: PLC0415

    def scalar_size(item: Any, _texts: Any) -> int:
        # Characters, not bytes: right for every text of a program in English.
        return len(values._scalar(item))  # noqa: SLF001

    return patch.object(values, "_scalar_size", scalar_size)


PLANTS: Final = (
    Plant(
        "chunk",
        "frames",
        "a line loses a byte when a read ends just before its end",
        _chunk_boundary,
    ),
    Plant("id-type", "frames", "true and 1.0 are taken for the id 1", _id_type),
    Plant("id-type", "parent", "true and 1.0 are taken for the id 1", _id_type),
    Plant("size", "values", "a size is counted in characters", _size),
    Plant("size", "parent", "a size is counted in characters", _size),
)
