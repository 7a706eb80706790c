"""How large an object of git's store is, before anything of that size is made of it.

Git writes the size in front of each object. What is read for it is a few hundred bytes; an object
that is a delta is followed to its bases, because they are made first.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, RawObjectID, hex_to_filename, sha_to_hex

if TYPE_CHECKING:
    from dulwich.object_store import BaseObjectStore
    from dulwich.pack import Pack

# Git's own longest chain of deltas.
_LONGEST_CHAIN = 4095
_HEAD = 512
_OFFSET_DELTA, _REFERENCE_DELTA = 6, 7


@dataclass(frozen=True, slots=True)
class _Packed:
    """Where an object stands in a pack."""

    pack: Pack
    offset: int


@dataclass(frozen=True, slots=True)
class _Link:
    """One object of a chain: its size, the largest size named in it, what it is a delta of."""

    size: int
    largest: int
    base: _Packed | ObjectID | None = None


def sizes(store: BaseObjectStore, object_id: bytes) -> tuple[int, int]:
    """The bytes of an object, and of the largest thing that is made to get at it.

    Raises KeyError for one that is not there, ValueError for one that is damaged.
    """
    if not isinstance(store, DiskObjectStore):
        size = len(store.get_raw(ObjectID(object_id))[1])
        return size, size
    try:
        first = link = _link(store, ObjectID(object_id))
        most = first.largest
        for _ in range(_LONGEST_CHAIN):
            if link.base is None:
                return first.size, most
            link = _link(store, link.base)
            most = max(most, link.largest)
    except (IndexError, zlib.error) as error:
        raise ValueError("a damaged object") from error
    raise ValueError("a chain of deltas that does not end")


def _link(store: DiskObjectStore, where: _Packed | ObjectID) -> _Link:
    if isinstance(where, _Packed):
        return _packed(where, store.object_format.oid_length)
    for one in (store, *store.alternates):
        assert isinstance(one, DiskObjectStore)
        for pack in one.packs:
            try:
                found = _Packed(pack, pack.index.object_offset(where))
            except KeyError:
                continue
            return _packed(found, store.object_format.oid_length)
        path = Path(hex_to_filename(str(one.path), where))
        if path.exists():
            return _loose(path)
    raise KeyError(where)


def _loose(path: Path) -> _Link:
    with path.open("rb") as file:
        head = zlib.decompressobj().decompress(file.read(_HEAD), _HEAD)
    size = int(head.split(b"\0", 1)[0].split(b" ", 1)[1])
    return _Link(size, size)


def _packed(where: _Packed, id_length: int) -> _Link:
    with Path(where.pack.data.path).open("rb") as file:
        file.seek(where.offset)
        head = file.read(_HEAD)
    kind, size = head[0] >> 4 & 7, head[0] & 15
    place = 1
    if head[0] & 0x80:
        more, place = _number(head, place)
        size |= more << 4
    base: _Packed | ObjectID
    if kind == _OFFSET_DELTA:
        back, place = _distance(head, place)
        base = _Packed(where.pack, where.offset - back)
    elif kind == _REFERENCE_DELTA:
        base = sha_to_hex(RawObjectID(head[place : place + id_length]))
        place += id_length
    else:
        return _Link(size, size)
    delta = zlib.decompressobj().decompress(head[place:], _HEAD)
    before, place = _number(delta, 0)
    after, _ = _number(delta, place)
    return _Link(after, max(size, before, after), base)


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number in seven bits a byte, the lowest first, and the place after it."""
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 0x7F) << shift
        shift, place = shift + 7, place + 1
        if not byte & 0x80:
            return number, place


def _distance(data: bytes, place: int) -> tuple[int, int]:
    """The distance back to a base, the highest bits first, and the place after it."""
    distance = data[place] & 0x7F
    while data[place] & 0x80:
        place += 1
        distance = (distance + 1 << 7) | data[place] & 0x7F
    return distance, place + 1
