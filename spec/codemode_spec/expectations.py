"""What a case expects of one run, after the target's alternatives have chosen the block."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.answers import ExpectedAnswers, expected_answers
from codemode_spec.failures import NotApplicable
from codemode_spec.programs import generate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Unset:
    """The type of `UNSET`: the expectation says nothing about the value."""


UNSET: Final = Unset()


Odd = tuple[tuple[tuple[str | int, ...], str], ...]


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One dispatched call; `args` may be UNSET, `odd` lists what JSON would lose of them."""

    op: str
    args: Any = UNSET
    odd: Odd = ()


@dataclass(frozen=True, slots=True)
class ExpectedCalls:
    """The dispatched calls: each in order, or only how many of one operation."""

    listed: tuple[ExpectedCall, ...] | None = None
    op: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One legal outcome; a part that is None or UNSET is not judged.

    `value_absent` asks for success without a value; `odd` lists what JSON would lose of `value`.
    `error_table` names what of a failure must be as the table says for its code (`fields`,
    `message`), `error_has` texts that it has, whatever they say. `canaries` are secrets that must
    not be emitted, `limited` rows of which one must have a limit, `record` parts of the target's
    record of the calls. `progress` is what reached the host in order, or how many messages did.
    `cancelled` is how many calls the host was told to give up.
    `status` is how the worker exits;
    `frames` names what holds of every frame of the target, `processes` what holds of its workers,
    `messages` what holds of all that a server wrote; `answers` are those to the requests by name.
    `longest` are UTF-8 bytes at most: of each text of a `failure`, of all `logs` together.
    """

    outcome: str  # value | failure | any | exit
    value: Any = UNSET
    value_absent: bool = False
    odd: Odd = ()
    want: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    error: Mapping[str, Any] | None = None
    error_table: tuple[str, ...] = ()
    error_has: tuple[str, ...] = ()
    within_ms: int | None = None
    not_before_ms: int | None = None
    calls: ExpectedCalls | None = None
    overlap: int | None = None
    cancelled: int | None = None
    progress: tuple[Mapping[str, Any], ...] | int | None = None
    canaries: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()
    record: Mapping[str, Any] | None = None
    status: int | None = None
    frames: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    longest: Mapping[str, int] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    answers: Mapping[str, ExpectedAnswers] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Expectation:
    """The legal outcomes of one run; any of them will do."""

    any_of: tuple[Outcome, ...]


def choose_block(
    blocks: Sequence[Mapping[str, Any]], alternatives: Mapping[str, Any], variant: str | None
) -> Mapping[str, Any]:
    """The one block whose `when` matches; NotApplicable when an alternative is not declared."""
    facts = {**alternatives, "variant": variant or ""}
    undeclared = {name for block in blocks for name in block.get("when", {})} - set(facts)
    if undeclared:
        raise NotApplicable(f"{' and '.join(sorted(undeclared))} is not declared")
    matching = [block for block in blocks if _matches(block.get("when", {}), facts)]
    if len(matching) != 1:
        blocks_fit = (
            "no block of the expectation fits"
            if not matching
            else f"{len(matching)} blocks of the expectation fit"
        )
        raise NotApplicable(f"{blocks_fit} the target's alternatives")
    return matching[0]


def _matches(when: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    return all(
        facts[name] in (wanted if isinstance(wanted, list) else [wanted])
        for name, wanted in when.items()
    )


def expectation(block: Mapping[str, Any]) -> Expectation:
    """The expectation of a resolved block; parts beside `any_of` hold for each of its outcomes."""
    shared = {key: value for key, value in block.items() if key not in ("when", "any_of")}
    entries = block.get("any_of") or [{}]
    return Expectation(tuple(_outcome({**shared, **entry}) for entry in entries))


def _outcome(entry: Mapping[str, Any]) -> Outcome:
    value = entry.get("value", UNSET)
    absent = isinstance(value, dict) and value == {"absent": True}
    if isinstance(value, dict) and set(value) == {"generate"}:
        value = generate(value["generate"])
    category = entry.get("category", {})
    return Outcome(
        outcome=entry["outcome"],
        value=UNSET if absent else value,
        value_absent=absent,
        odd=_odd(entry),
        want=tuple(category.get("want", ())),
        allow=tuple(category.get("allow", ())),
        error=entry.get("error"),
        error_table=tuple(entry.get("error_table", ())),
        error_has=tuple(entry.get("error_has", ())),
        within_ms=entry.get("within_ms"),
        not_before_ms=entry.get("not_before_ms"),
        calls=_calls(entry["calls"]) if "calls" in entry else None,
        overlap=entry.get("overlap"),
        cancelled=entry.get("cancelled"),
        progress=_progress(entry.get("progress")),
        canaries=tuple(entry.get("evidence", {}).get("canaries", ())),
        limited=tuple(entry.get("evidence", {}).get("limited", ())),
        record=entry.get("evidence", {}).get("record"),
        status=entry.get("status"),
        frames=tuple(entry.get("evidence", {}).get("frames", ())),
        processes=tuple(entry.get("evidence", {}).get("processes", ())),
        longest=entry.get("evidence", {}).get("texts", {}),
        messages=tuple(entry.get("evidence", {}).get("messages", ())),
        answers=expected_answers(entry.get("answers", {})),
    )


def _calls(entry: Any) -> ExpectedCalls:
    if isinstance(entry, dict):
        return ExpectedCalls(op=entry["op"], count=entry["count"])
    listed = (ExpectedCall(call["op"], call.get("args", UNSET), _odd(call)) for call in entry)
    return ExpectedCalls(listed=tuple(listed))


def _progress(entry: Any) -> tuple[Mapping[str, Any], ...] | int | None:
    return tuple(entry) if isinstance(entry, list) else entry


def _odd(entry: Mapping[str, Any]) -> Odd:
    return tuple((tuple(path), kind) for path, kind in entry.get("odd", ()))
