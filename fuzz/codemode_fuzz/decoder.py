"""The frame decoder under test, as the few functions that the oracles call.

A test replaces one of them by a broken one and sees the oracle find it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from codemode_reference import frames, strict_json
from codemode_reference.lines import LineDecoder
from codemode_reference.policy import invalid_field
from codemode_reference.rules import frame_rules
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_reference.frames import Frame, Rules


class Lines(Protocol):
    """What cuts a stream into lines; see `codemode_reference.lines`."""

    oversized: bool

    @property
    def pending(self) -> int: ...  # noqa: D102

    def feed(self, data: bytes) -> list[bytes]: ...  # noqa: D102


_TABLES: Final = load_tables()
_PROFILE: Final = _TABLES.profiles[DEFAULT_PROFILE]
_ROWS: Final = [row for row in _PROFILE.rows.values() if row.in_execute]

RULES: Final[Rules] = frame_rules(_TABLES, _PROFILE)
ABSENT_RULES: Final[Rules] = {
    **RULES,
    "alternatives": {**RULES["alternatives"], "undefined_result": "absent"},
}
"""The same, where a program may have no value: both sides of the one rule that depends on it."""
OTHER_RULES: Final[tuple[Rules, ...]] = tuple(
    frame_rules(_TABLES, profile)
    for name, profile in _TABLES.profiles.items()
    if name != DEFAULT_PROFILE
)
"""Those of the other profiles, which have kinds of frames besides."""


def parse(line: bytes, rules: Rules) -> tuple[str, Frame]:
    """One line as both ends read it, with the worker's check of the limits."""
    kind, frame = frames.parse(line, rules)
    if kind == "execute" and invalid_field(frame["limits"], _ROWS) is not None:
        return frames.MALFORMED, {}
    return kind, frame


@dataclass(frozen=True, slots=True)
class Decoder:
    """Lines, strict JSON and shapes, each replaceable."""

    lines: Callable[[int], Lines] = LineDecoder
    read: Callable[[bytes, int], Any] = strict_json.read
    parse: Callable[[bytes, Rules], tuple[str, Frame]] = parse


REFERENCE: Final = Decoder()
