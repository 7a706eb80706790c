"""The policy, error, protocol and alternatives tables, read with the standard library alone.

A trusted parent reads these at start, so nothing here imports a YAML or a schema library;
`codemode_spec.load` checks the same files against their schemas.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PROFILE: Final = "process-async"
TABLES: Final = ("policy", "errors", "protocol", "order", "alternatives", "admission")
"""The documents of tables, each a `.json` file."""


@dataclass(frozen=True, slots=True)
class Enforcer:
    """One end that enforces a row, and what it does when the limit is passed."""

    end: str
    on_exceed: str
    order: int


@dataclass(frozen=True, slots=True)
class Row:
    """One budget: `default`, `minimum` and `absolute_maximum` are in `unit`.

    `minimum` is a number or the name of the row whose value is the minimum.
    """

    name: str
    title: str
    unit: str
    applies: tuple[str, ...]
    default: int
    minimum: int | str
    absolute_maximum: int
    fixed: bool
    zero_allowed: bool
    scope: str
    enforcers: tuple[Enforcer, ...]
    error: str | None
    charged: str
    when_charged: str
    in_execute: bool


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One stable error code; `fields` maps a field to `required` or `optional`.

    `frames` names the frame kinds in which the code may stand; `worker_own` says under which
    condition the parent believes it from a worker without having sent it.
    """

    code: str
    category: str
    seen_by: tuple[str, ...]
    ends: str
    frames: tuple[str, ...]
    fields: Mapping[str, str]
    message: str
    worker_own: str | None
    category_by_reason: Mapping[str, str]
    advice: str | None

    def category_of(self, reason: str | None) -> str:
        """The category of this code with that `reason`; KeyError for a reason it does not have."""
        return self.category_by_reason[reason or ""] if self.category_by_reason else self.category

    def text(self, fields: Mapping[str, Any]) -> str:
        """The stable message, with the numbers of `fields` and the advice, if any."""
        message = self.message.format_map(dict(fields))
        return f"{message}; {self.advice}" if self.advice else message


@dataclass(frozen=True, slots=True)
class Transition:
    """What one event does in one state: exactly one of the four is set."""

    next: str | None = None
    error: str | None = None
    exit: int | None = None
    ignore: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of the channel as a transition table over all of its states and events."""

    name: str
    initial: str
    final: str
    states: Mapping[str, str]
    events: Mapping[str, str]
    transitions: Mapping[str, Mapping[str, Transition]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a place; `text` is what holds when it passes.

    A check that can fail has an `answer` (`refuse_start`, `reject_call`, `terminate`, `drop`) and,
    unless what came is dropped, a `code`; `row` is the budget it concerns, `event`
    the event of the protocol table as which its failure comes. `takes` names what is
    charged, for good, once it has passed.
    """

    check: str
    text: str
    code: str | None
    row: str | None
    answer: str | None
    event: str | None
    takes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A place where one end decides: its checks in order, of which the first that fails answers."""

    name: str
    end: str
    title: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class ExecuteParts:
    """How the two parts of an `execute` frame are bounded, in bytes.

    The JSON-encoded source may take `source_bytes * source_factor + source_extra_bytes`, all the
    rest `rest_bytes`.
    """

    source_factor: int
    source_extra_bytes: int
    rest_bytes: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How much a program may tell of its progress: messages, and bytes of text in each."""

    most: int
    message_bytes: int


@dataclass(frozen=True, slots=True)
class Turns:
    """When an operation that waits for its turn in the server is refused.

    With less than `least_left_ms` of its deadline left; after `longest_wait_ms` where waiting is
    not counted.
    """

    least_left_ms: int
    longest_wait_ms: int


@dataclass(frozen=True, slots=True)
class Shown:
    """How much of each kind a record of evidence shows; all is counted."""

    warnings: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """A point on which the source systems differ; `is_set` marks one that takes several values."""

    name: str
    is_set: bool
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Profile:
    """Alternatives chosen together, and the policy rows of that choice in table order."""

    name: str
    title: str
    alternatives: Mapping[str, str | tuple[str, ...]]
    rows: Mapping[str, Row]

    def defaults(self) -> dict[str, int]:
        """The default policy: every row of the profile with its default value."""
        return {name: row.default for name, row in self.rows.items()}


@dataclass(frozen=True, slots=True)
class Admission:
    """What is looked at before a program is started, by a parent that has this module.

    `program` maps a pattern to sequences of tokens, `arguments` one to text in small letters and
    without white space. A start counts for its client for `window_ms`; `clients` are remembered.
    """

    window_ms: int
    clients: int
    program: Mapping[str, tuple[tuple[str, ...], ...]]
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of the specification."""

    rows: Mapping[str, Row]
    turns: Turns
    shown: Shown
    errors: Mapping[str, ErrorCode]
    categories: tuple[str, ...]
    detail_characters: int
    protocol_version: int
    execute_parts: ExecuteParts
    progress: Progress
    endpoints: Mapping[str, Endpoint]
    places: Mapping[str, Place]
    simultaneous: tuple[str, ...]
    alternatives: Mapping[str, Alternative]
    admission: Admission
    profiles: Mapping[str, Profile]


def _row(data: Mapping[str, Any]) -> Row:
    enforcers = tuple(Enforcer(**entry) for entry in data["enforcers"])
    return Row(**{**data, "applies": tuple(data["applies"]), "enforcers": enforcers})


def _error(data: Mapping[str, Any]) -> ErrorCode:
    return ErrorCode(
        code=data["code"],
        category=data["category"],
        seen_by=tuple(data["seen_by"]),
        ends=data["ends"],
        frames=tuple(data["frames"]),
        fields=MappingProxyType(data["fields"]),
        message=data["message"],
        worker_own=data.get("worker_own"),
        category_by_reason=MappingProxyType(data.get("category_by_reason", {})),
        advice=data.get("advice"),
    )


def _endpoint(name: str, data: Mapping[str, Any]) -> Endpoint:
    transitions = {
        state: MappingProxyType({event: Transition(**entry) for event, entry in row.items()})
        for state, row in data["transitions"].items()
    }
    return Endpoint(
        name=name,
        initial=data["initial"],
        final=data["final"],
        states=MappingProxyType(data["states"]),
        events=MappingProxyType(data["events"]),
        transitions=MappingProxyType(transitions),
    )


def _place(name: str, data: Mapping[str, Any], rows: Mapping[str, Row]) -> Place:
    checks = []
    for entry in data["checks"]:
        row = rows.get(entry.get("row", ""))
        checks.append(
            Check(
                check=entry["check"],
                text=entry["text"],
                code=row.error if row else entry.get("code"),
                row=entry.get("row"),
                answer=entry.get("answer"),
                event=entry.get("event"),
                takes=tuple(entry.get("takes", ())),
            )
        )
    return Place(name, data["end"], data["title"], tuple(checks))


def _admission(data: Mapping[str, Any]) -> Admission:
    program = {
        entry["pattern"]: tuple(tuple(tokens) for tokens in entry["tokens"])
        for entry in data["program"]
    }
    arguments = {entry["pattern"]: entry["text"] for entry in data["arguments"]}
    return Admission(
        **data["rate"],
        program=MappingProxyType(program),
        arguments=MappingProxyType(arguments),
    )


def _profile(data: Mapping[str, Any], rows: Mapping[str, Row]) -> Profile:
    chosen = {}
    for name, row in rows.items():
        if data["name"] in row.applies:
            changed = {field: getattr(row, field) for field in row.__slots__}
            chosen[name] = Row(**{**changed, **data["rows"].get(name, {})})
    alternatives = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in data["alternatives"].items()
    }
    return Profile(data["name"], data["title"], alternatives, MappingProxyType(chosen))


def build_tables(documents: Mapping[str, Any], profiles: list[Any]) -> Tables:
    """The tables of parsed documents (by the names in TABLES, and profiles), known to be valid."""
    rows = {entry["name"]: _row(entry) for entry in documents["policy"]["rows"]}
    errors, protocol = documents["errors"], documents["protocol"]
    return Tables(
        rows=MappingProxyType(rows),
        turns=Turns(**documents["policy"]["turns"]),
        shown=Shown(**documents["policy"]["shown"]),
        errors=MappingProxyType({entry["code"]: _error(entry) for entry in errors["errors"]}),
        categories=tuple(errors["categories"]),
        detail_characters=errors["detail_characters"],
        protocol_version=protocol["version"],
        execute_parts=ExecuteParts(**protocol["execute_parts"]),
        progress=Progress(**protocol["progress"]),
        endpoints=MappingProxyType(
            {name: _endpoint(name, entry) for name, entry in protocol["endpoints"].items()}
        ),
        places=MappingProxyType(
            {
                name: _place(name, entry, rows)
                for name, entry in documents["order"]["places"].items()
            }
        ),
        simultaneous=tuple(documents["order"]["simultaneous"]),
        alternatives=MappingProxyType(
            {
                name: Alternative(name, entry["set"], MappingProxyType(entry["values"]))
                for name, entry in documents["alternatives"]["alternatives"].items()
            }
        ),
        admission=_admission(documents["admission"]),
        profiles=MappingProxyType({entry["name"]: _profile(entry, rows) for entry in profiles}),
    )


@cache
def load_tables() -> Tables:
    """The tables shipped with this package (not checked against their schemas)."""
    root = files(__package__)

    def read(path: str) -> Any:
        return json.loads((root / path).read_text(encoding="utf-8"))

    profiles = sorted(
        entry.name for entry in (root / "profiles").iterdir() if entry.name.endswith(".json")
    )
    documents = {name: read(f"{name}.json") for name in TABLES}
    return build_tables(documents, [read(f"profiles/{name}") for name in profiles])
