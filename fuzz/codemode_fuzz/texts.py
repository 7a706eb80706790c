"""A second reading of what is blocked in the arguments of calls: by the text that they are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.tables import load_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCKED: Final = load_tables().admission.arguments
_SPACE: Final = re.compile(r"\s+")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def texts_of(value: Any) -> list[str]:
    """Every text of a JSON value, keys too. RecursionError for one that is too deep."""
    return [json.loads(quoted) for quoted in _QUOTED.findall(json.dumps(value))]


def blocked_in(texts: Iterable[str]) -> list[str]:
    """Each pattern that is blocked in one of these texts, in the order of the table."""
    plain = [_SPACE.sub("", text).lower() for text in texts]
    return [name for name, told in _BLOCKED.items() if any(told in text for text in plain)]
