"""Powers of a target: what it declares, what a program was seen to have, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Power:
    """One difference: the name of the power or claim, and what was seen."""

    name: str
    text: str


@dataclass(slots=True)
class Powers:
    """What was found. `probed` names all that was looked for."""

    probed: list[str] = field(default_factory=list)
    undeclared: list[Power] = field(default_factory=list)
    false_claims: list[Power] = field(default_factory=list)
