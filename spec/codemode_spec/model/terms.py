"""The words of the model: what comes in, what comes out, and the rules both are judged by.

All of them are values without identity: equal inputs give equal answers, and a state can be kept
in a set. Sizes are in bytes; a payload that only its size matters for is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from codemode_spec.tables import DEFAULT_PROFILE, load_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.tables import Check, Profile, Tables


class Operation(NamedTuple):
    """One operation as the boundary sees it: its effect, and the units that a call reserves."""

    name: str
    effect: str = "read"
    pages: int = 0
    snapshots: int = 0
    granted: bool = True


@dataclass(frozen=True)
class Rules:
    """The tables, one policy (every row of the profile with its number) and the alternatives.

    `history_bytes` is what the durable history can hold, or None where none is kept; with `hooks`
    something sees each call before it runs, so that those of a batch run one at a time.
    """

    tables: Tables
    profile: Profile
    policy: Mapping[str, int]
    alternatives: Mapping[str, str | tuple[str, ...]]
    operations: Mapping[str, Operation] = field(default_factory=dict)
    readonly: bool = False
    history_bytes: int | None = None
    hooks: bool = False

    @property
    def terminal(self) -> bool:
        """Whether an exhausted budget ends the invocation even through catch."""
        return self.alternatives["exhaustion"] == "terminal"

    def ends(self, code: str) -> bool:
        """Whether this error ends the invocation rather than only the call."""
        kind = self.tables.errors[code].ends
        return kind == "always" or (kind == "exhaustion" and self.terminal)


def rules(
    operations: Mapping[str, Operation],
    *,
    profile: str = DEFAULT_PROFILE,
    policy: Mapping[str, int] | None = None,
    alternatives: Mapping[str, str | tuple[str, ...]] | None = None,
) -> Rules:
    """The rules of a profile with some rows and alternatives changed. KeyError: no such profile."""
    tables = load_tables()
    chosen = tables.profiles[profile]
    return Rules(
        tables,
        chosen,
        {**chosen.defaults(), **(policy or {})},
        {**chosen.alternatives, **(alternatives or {})},
        operations,
    )


class Refusal(NamedTuple):
    """An error with the fields that the error table gives its code."""

    code: str
    operation: str | None = None
    reason: str | None = None
    measured: int | None = None
    limit: int | None = None
    counted: str | None = None

    def fields(self) -> dict[str, Any]:
        """Code and fields, those that are there."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Outcome(NamedTuple):
    """The one outcome of an invocation: a value, success without one, or an error."""

    present: bool = False
    value: Any = None
    error: Refusal | None = None


class HostCall(NamedTuple):
    """A `host_call` frame. `valid`: by the operation's schema; `blocked`: by the text filter.

    `record` is what its entry takes of the durable history, in bytes, where one is kept.
    """

    call_id: int
    operation: str
    arguments: Any = None
    valid: bool = True
    blocked: bool = False
    record: int = 0


class HostBatch(NamedTuple):
    """A `host_batch` frame: its calls take consecutive ids."""

    calls: tuple[HostCall, ...]


class Answer(NamedTuple):
    """What an operation gave back: a value of `size`, or a `fault` (`failed`, `not_json`)."""

    call_id: int
    size: int = 0
    fault: str | None = None
    value: Any = None


class Result(NamedTuple):
    """A `result` frame: a value of `size`, no value, or the error that the worker names."""

    present: bool = False
    size: int = 0
    value: Any = None
    error: Refusal | None = None


class Dispatch(NamedTuple):
    """The parent runs an operation."""

    call_id: int
    operation: str
    arguments: Any = None


class Reply(NamedTuple):
    """The parent writes a `host_result`: a value of `size` bytes, or an error."""

    call_id: int
    size: int = 0
    value: Any = None
    error: Refusal | None = None


class Settle(NamedTuple):
    """The parent has its result: it cancels these calls and waits for the worker's exit."""

    cancelled: tuple[int, ...] = ()


class End(NamedTuple):
    """The invocation has its outcome; these calls are cancelled, what is left is killed."""

    outcome: Outcome
    cancelled: tuple[int, ...] = ()


Action: TypeAlias = Dispatch | Reply | Settle | End


class Note(NamedTuple):
    """One line of reasoning: the place and check that spoke, what it said, and what followed.

    `used` is what is used of the `limit` of the row that the check concerns.
    """

    place: str
    check: str
    passed: bool
    said: str
    used: int | None = None
    limit: int | None = None
    error: Refusal | None = None

    @property
    def rule(self) -> str:
        """The check, and whether it passed: what a trace may exercise."""
        return f"{self.place} {self.check} {'passed' if self.passed else 'failed'}"

    @property
    def text(self) -> str:
        """The line in words."""
        used = "" if self.used is None else f" ({self.used} of {self.limit} used)"
        if self.error is None:
            return f"{self.said}{used}"
        told = ", ".join(f"{k} {v}" for k, v in self.error.fields().items() if k != "code")
        return f"{self.said}{used}: {self.error.code}" + (f" ({told})" if told else "")


UNCAUGHT: Final = Refusal("code_rejected", reason="uncaught")


def refusal(rules: Rules, check: Check, fields: Mapping[str, Any]) -> Refusal:
    """The error of a check that failed, with the limit of its row if its code shows one."""
    assert check.code is not None, "a check that drops has no error"
    known = rules.tables.errors[check.code].fields
    limit = {"limit": rules.policy[check.row]} if check.row and "limit" in known else {}
    return Refusal(check.code, **{**limit, **{k: v for k, v in fields.items() if k in known}})
