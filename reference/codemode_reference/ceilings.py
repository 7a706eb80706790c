"""What was granted once of a tool that others can change: it may become less, never more."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The saved fingerprint of a tool, and the effect that was granted with it."""

    fingerprint: str
    effect: Literal["read", "write"] = "read"

    def allows(self, found: str, effect: str) -> bool:
        """Whether a tool that has this fingerprint and effect now is still what was granted."""
        return found == self.fingerprint and not (self.effect == "read" and effect != "read")


def fingerprint(name: str, schema: Mapping[str, Any], annotations: Mapping[str, Any]) -> str:
    """The fingerprint of a tool: a hash of its name, its schema and its annotations."""
    text = json.dumps([name, dict(schema), dict(annotations)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
