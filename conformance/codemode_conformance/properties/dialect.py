"""What a target says of itself, as far as it decides which programs it is asked and what is right.

Nothing is asked that the target does not declare; where it leaves an alternative open, every
choice of it is legal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.model.terms import Operation, rules
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

from codemode_conformance.failures import UsageError
from codemode_conformance.identity import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec.model.terms import Rules

    from codemode_conformance.identity import Identity
    from codemode_conformance.properties.example import Example

NEEDED: Final = ("script_style", "exhaustion", "operation_failure", "undefined_result")
"""The alternatives without which no program can be put and nothing be predicted."""

OPEN: Final = (
    *("nested_undefined", "concurrency_excess", "host_wait", "late_calls", "stall"),
    *("memory_error", "values"),
)
"""The other alternatives that change what the model says."""

_UNLIMITED: Final = 1 << 50


@dataclass(frozen=True)
class Dialect:
    """What a target speaks. `rows` are the numbers of its default policy, where it names one."""

    profile: str
    alternatives: Mapping[str, str | tuple[str, ...]]
    rows: Mapping[str, int]
    settable: frozenset[str]
    capabilities: frozenset[str]
    host_values: tuple[str, ...] = ()

    @property
    def style(self) -> str:
        """`async` or `sync`."""
        return str(self.alternatives["script_style"])

    @property
    def contract(self) -> bool:
        """Whether the target claims our codes."""
        return "contract" in self.capabilities

    def has(self, name: str, value: str) -> bool:
        """Whether it declares this choice of an alternative."""
        return self.alternatives.get(name) == value

    def rules(self, example: Example) -> Iterator[Rules]:
        """The rules by which an example is judged: one for each choice that is left open."""
        tables = load_tables()
        chosen = tables.profiles[self.profile]
        limits = {**dict.fromkeys(chosen.rows, _UNLIMITED), **self.rows, **example.policy}
        undeclared = [name for name in OPEN if name not in self.alternatives]
        known = [tables.alternatives[name].values for name in undeclared]
        catalogue = {spec.name: Operation(spec.name, spec.effect) for spec in example.operations}
        for choice in product(*known):
            alternatives = {**self.alternatives, **dict(zip(undeclared, choice, strict=True))}
            if alternatives["host_wait"] == "excluded" and self.style != "sync":
                continue
            policy = {name: limits[name] for name in chosen.rows}
            yield rules(catalogue, profile=self.profile, policy=policy, alternatives=alternatives)


def dialect_of(
    identity: Identity, effective: Mapping[str, Any], profile: str | None = None
) -> Dialect:
    """The dialect of a target; UsageError where it does not declare what is needed."""
    missing = [name for name in NEEDED if name not in identity.alternatives]
    if missing:
        raise UsageError(f"the target does not declare {', '.join(missing)}: nothing is predicted")
    if "javascript" not in identity.languages:
        raise UsageError("the target runs no JavaScript, and programs are written in no other")
    lacking = {"op.value", "op.ledger", "op.many"} - identity.capabilities
    if lacking:
        raise UsageError(f"the target lacks {', '.join(sorted(lacking))}: programs make no calls")
    return Dialect(
        profile or DEFAULT_PROFILE,
        identity.alternatives,
        numbers_of(effective),
        frozenset(identity.settable),
        identity.capabilities,
        identity.host_values,
    )
