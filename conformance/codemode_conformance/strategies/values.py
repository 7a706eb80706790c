"""I-JSON values: any, and those of exactly one size or one depth."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.programs import generate
from codemode_spec.sizes import size_of
from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

LARGEST_SAFE: Final = 2**53 - 1
_QUOTES: Final = 2

_NUMBERS: Final = (
    *(0, 1, -1, 255, LARGEST_SAFE, -LARGEST_SAFE, LARGEST_SAFE + 1),
    *(0.5, -1.5, 0.1, 1e-7, 1e21, 1.5e300, 5e-324, 1.7976931348623157e308),
)
_TEXTS: Final = (
    *("", "a", "\\", '"', "/", "\x7f", "\n\t\b\f\r", "\x00", "\u2028\u2029", "\ufeff"),
    *("é", "名", "\U0001f680", "\ud7ff", "\ue000", "\uffff", "{[", "\\u0061"),
)
_KEYS: Final = ("a", "b", "", "ok", "value", "toString", "__proto__", "constructor", "10", "é")


@cache
def scalars() -> SearchStrategy[Any]:
    """Null, booleans, numbers that a double holds, texts without lone surrogates."""
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-LARGEST_SAFE, LARGEST_SAFE),
        st.sampled_from(_NUMBERS),
        st.sampled_from(_TEXTS),
        st.floats(allow_nan=False, allow_infinity=False).map(_no_minus_zero),
        texts,
    )


def _no_minus_zero(number: float) -> float:
    return number or 0.0


@cache
def json_values(most: int = 12) -> SearchStrategy[Any]:
    """Any value of at most so many leaves; a key may be `__proto__`."""
    keys = st.one_of(st.sampled_from(_KEYS), st.text("abc", max_size=2))
    return st.recursive(
        scalars(),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)
        ),
        max_leaves=most,
    )


@st.composite
def texts_of_size(draw: DrawFn, size: int) -> str:
    """A text whose compact JSON has exactly `size` UTF-8 bytes, two at least."""
    if size < _QUOTES:
        raise ValueError(f"no text has {size} bytes as JSON")
    room = size - _QUOTES
    part = draw(st.sampled_from(("a", "é", "名", "\U0001f680", "\\", "\n", "\x00")))
    each = size_of(part, 1) - _QUOTES
    wide = draw(st.integers(0, room // each)) if each > 1 else 0
    return part * wide + "a" * (room - wide * each)


@st.composite
def values_of_size(draw: DrawFn, size: int) -> Any:
    """A value whose compact JSON has exactly `size` UTF-8 bytes, as ECMAScript writes it."""
    if size == 1:
        return draw(st.integers(0, 9))
    shape = draw(st.sampled_from(("text", "array", "object")))
    if shape == "array" and size >= 2 + _QUOTES:
        return [draw(texts_of_size(size - 2))]
    if shape == "object" and size >= 6 + _QUOTES:  # {"k": }
        return {"k": draw(texts_of_size(size - 6))}
    return draw(texts_of_size(size))


def nested(kind: str, depth: int) -> Any:
    """`depth` arrays or objects (`array`, `object`) in each other; `[]` has depth 1."""
    return generate({"nest": kind, "depth": depth})


def values_of_depth(depth: int) -> SearchStrategy[Any]:
    """A value that nests exactly `depth` levels: a scalar 0, `[]` 1."""
    if depth == 0:
        return scalars()
    return st.sampled_from(("array", "object")).map(lambda kind: nested(kind, depth))
