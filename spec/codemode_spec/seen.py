"""What one process has made of a text, for the next time: the same text makes the same.

Most of a load is to parse and to check, and whoever loads copies with one change each, as tests do,
has the rest unchanged.
"""

from __future__ import annotations

import json
import pickle
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codemode_spec.cases import Case

T = TypeVar("T")

_MADE: Final[dict[bytes, bytes]] = {}


def once(what: str, key: str, make: Callable[[], T]) -> T:
    """What `make` returns, or a copy of what it returned before for this `what` and `key`.

    `key` holds all that the value depends on. What raises is made anew each time.
    """
    name = sha256(f"{what} {key}".encode("utf-8", "surrogatepass")).digest()
    if name in _MADE:
        kept: T = pickle.loads(_MADE[name])  # noqa: S301  written by this process
        return kept
    value = make()
    _MADE[name] = pickle.dumps(value)
    return value


def text_of(case: Case, *, beside: str) -> str:
    """All that what is made of a case depends on, with what it depends on beside the case."""
    own = (
        case.id,
        case.variant,
        case.languages,
        case.effective,
        dict(case.set),
        dict(case.prefer),
        dict(case.alternatives),
        case.data,
    )
    return f"{json.dumps(own)} {beside}"


def text_of_rows(rows: Mapping[str, Any]) -> str:
    """Names and values, in their order, as part of a key."""
    return json.dumps(dict(rows))
