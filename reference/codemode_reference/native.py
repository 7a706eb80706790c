"""Calls into the C library for the worker, through `_ctypes`: `ctypes` takes 4 ms to import."""

from __future__ import annotations

import _ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# No stub names these: they are what `ctypes` itself is made of.
_c: Any = _ctypes


class _Long(_c._SimpleCData):  # type: ignore[misc]  # noqa: SLF001
    _type_ = "l"


class _Byte(_c._SimpleCData):  # type: ignore[misc]  # noqa: SLF001
    _type_ = "c"


_byte: Any = _Byte


class _Function(_c.CFuncPtr):  # type: ignore[misc]
    _flags_ = _c.FUNCFLAG_CDECL | _c.FUNCFLAG_USE_ERRNO
    # Comes back as a Python int.
    _restype_ = _Long


_INT = 0xFFFFFFFF
_program = _c.dlopen(None, 0)


def call(name: str, *arguments: int | bytes) -> int:
    """Call the C function `name`; bytes go in by their address. Raises OSError if it gives -1.

    The result is taken as an int.
    """
    function = _Function(_c.dlsym(_program, name))
    # A bare int would go in as one, with anything in the other half of its register.
    found = function(*[_Long(item) if isinstance(item, int) else item for item in arguments])
    number = int(found) & _INT
    if number == _INT:
        raise OSError(_c.get_errno(), name)
    return number


class Buffer:
    """A copy of `data` in memory that stays where it is, at `address`."""

    def __init__(self, data: bytes) -> None:
        self._kept = (_byte * len(data)).from_buffer_copy(data)
        self.address = int(_c.addressof(self._kept))

    def read(self) -> bytes:
        """What is there now."""
        return bytes(self._kept)
