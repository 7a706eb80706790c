"""What must hold for every host value: it has one size and one text, or it is refused."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_reference import strict_json, values
from codemode_reference.values import NotJSONError
from codemode_spec.sizes import NotAValueError, size_of

from codemode_fuzz import strict_text
from codemode_fuzz.finding import Finding
from codemode_fuzz.reading import DEPTH
from codemode_fuzz.value.building import build

if TYPE_CHECKING:
    from collections.abc import Callable

_DEPTHS: Final = (DEPTH, 3)
# Shared parts make a size that no memory holds: beyond this no text is made.
_LARGEST_TEXT: Final = 300_000
_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Values:
    """The code under test, as functions that a test can replace by broken ones."""

    encode: Callable[[Any, int], bytes] = values.encode
    measure: Callable[[Any, int], int] = values.measure


REFERENCE: Final = Values()


def check_value(data: bytes, subject: Values = REFERENCE) -> None:
    """Build a value and measure it, with two limits of depth. Raises Finding."""
    value = build(data)
    for depth in _DEPTHS:
        size = _size(value, depth, subject)
        if size is not None and size <= _LARGEST_TEXT:
            _check_text(value, depth, size, subject)


def _size(value: Any, depth: int, subject: Values) -> int | None:
    """The size that both readings give, or None where both refuse."""
    start = time.process_time()
    try:
        size: int | None = subject.measure(value, depth)
    except NotJSONError:
        size = None
    except Exception as error:
        raise Finding("exception", f"measure raised {type(error).__name__}") from error
    if time.process_time() - start > _SECONDS:
        raise Finding("time", f"a value took longer than {_SECONDS} s to measure")
    try:
        expected: int | None = size_of(value, depth)
    except NotAValueError as error:
        if size is not None:
            raise Finding("model", f"measured, where the model says {error.reason}") from error
        return None
    if size is None:
        raise Finding("model", "refused, where the model measures")
    if size != expected:
        raise Finding("size", f"{size} bytes where the model has {expected}")
    return size


def _check_text(value: Any, depth: int, size: int, subject: Values) -> None:
    try:
        text = subject.encode(value, depth)
    except Exception as error:
        raise Finding("exception", f"encode raised {type(error).__name__}") from error
    if len(text) != size:
        raise Finding("size", f"a text of {len(text)} bytes was measured as {size}")
    # Strict JSON, whose value is the value, whoever reads it.
    for read in (strict_text.read, strict_json.read):
        try:
            found = read(text, depth)
        except ValueError as error:
            raise Finding("round-trip", f"the text is refused: {error}") from error
        if found != _exact(value):
            raise Finding("round-trip", "the text has another value")
        if subject.encode(found, depth) != text:
            raise Finding("round-trip", "the value of the text has another text")


def _exact(item: Any) -> Any:
    """The value with every number as a reader has it: small integers exactly, others as doubles.

    Numbers compare by value, so that only integers beyond 2**53 need it; true is not 1.
    """
    if isinstance(item, list):
        return [_exact(element) for element in item]
    if isinstance(item, dict):
        return {key: _exact(element) for key, element in item.items()}
    if type(item) is bool or item is None or type(item) is str:
        return item
    return float(item)
