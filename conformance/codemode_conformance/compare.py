"""Exact comparison of JSON values, and their bounded rendering for people."""

from __future__ import annotations

import json
import math
from typing import Any, Final

SHOWN: Final = 160


def same_json(expected: Any, observed: Any) -> bool:
    """Whether two JSON values are equal: types, the sign of zero, and all but the order of keys.

    Walks with its own stack, since values may be nested as deep as a case asks for.
    """
    stack = [(expected, observed)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, dict):
            if not isinstance(b, dict) or a.keys() != b.keys():
                return False
            stack += [(a[key], b[key]) for key in a]
        elif isinstance(a, list):
            if not isinstance(b, list) or len(a) != len(b):
                return False
            stack += zip(a, b, strict=True)
        elif not _same_scalar(a, b):
            return False
    return True


def _same_scalar(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return _same_double(a, b) and (a != 0 or math.copysign(1, a) == math.copysign(1, b))
    return type(a) is type(b) and bool(a == b)


def _same_double(a: float, b: float) -> bool:
    """Whether both are the same double: ECMAScript writes a large one with fewer digits.

    What is an integer in one text may then be another integer in Python, of the same double.
    """
    try:
        return a == b or float(a) == float(b)
    except OverflowError:  # an integer above every double
        return False


def show(value: Any, limit: int = SHOWN) -> str:
    """A JSON value as bounded compact text."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, ValueError, TypeError):
        text = f"<a {type(value).__name__} nested too deeply to show>"
    return text if len(text) <= limit else f"{text[: limit - 20]}… ({len(text)} characters)"
