"""Conformance cases: from the documents in `cases/` to what the suite runs.

A `Case` is one expanded variant, the same for every target; `Case.resolve` fits it to a target:
its templates take the numbers of the effective policy, and one program and one expectation stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import programs, templates
from codemode_spec.digests import digest_of
from codemode_spec.expectations import Expectation, choose_block, expectation
from codemode_spec.failures import NotApplicable, TemplateError
from codemode_spec.programs import RunSpec, generate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LAYERS: Final = ("outcome", "category", "code", "value", "calls", "evidence")
OPTION_OF_ROW: Final = {"wall_time_ms": "timeout_ms"}
"""Rows that a target may take as an option of one run instead of as policy."""

OPTION_CAPABILITY: Final = {"wall_time_ms": "options.timeout"}
"""The capability that such an option needs."""

OPERATION_TRAITS: Final = (
    *("aliases", "description", "untracked", "drifted", "control"),
    *("group", "keep_prefix", "shortcuts", "cost", "diagnostics"),
)
"""What an operation of a case may be besides its name, its effect and its arguments."""
_MODULE_OF_FILTER: Final = "admission"

MOST: Final = 16 << 20
TESTABLE: Final = {
    "source_bytes": (128, MOST),
    "memory_bytes": (1 << 20, 4 << 30),
    "host_calls": (1, 10_000),
    "concurrent_host_calls": (1, 1_000),
    "host_result_bytes": (64, MOST),
    "cumulative_host_result_bytes": (128, 16 * MOST),
    "final_result_bytes": (64, MOST),
}
"""The numbers of a target at whose edge a case can be put: below, the programs of the cases do not
fit; above, the suite would be the one that runs out of memory or of time."""

WRAPPER: Final = "wrapper_bytes"
"""A name for templates: UTF-8 bytes that the target's wrap and prelude add to this program."""

Alternatives = dict[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What one call of an operation does: exactly one kind, after `delay_ms`.

    It does so earlier if the run of the case whose number is `until_run` has ended by then.
    `nested` is a program that it runs in a session of its own. `changed` and `warnings` are what it
    tells of itself.
    """

    kind: str  # value | fail | odd | never | absent | nested
    value: Any = None
    code: str = ""
    message: str = ""
    delay_ms: int = 0
    until_run: int = 0
    changed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OperationSpec:
    """One scripted operation; the n-th call takes the n-th behaviour, the last one repeats.

    `release` lists call numbers of the run in the order in which their replies are sent.
    """

    name: str
    effect: str
    arguments: Mapping[str, Any]
    behaviour: tuple[Behaviour, ...]
    release: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadyCase:
    """A case fitted to one target; nothing in it is a template any more.

    `expected` belongs to `runs` one by one (None: only the ledger of the whole case is judged),
    `then_expected` to `then`.
    """

    case: Case
    operations: tuple[OperationSpec, ...]
    runs: tuple[RunSpec, ...]
    expected: tuple[Expectation | None, ...]
    then: tuple[RunSpec, ...]
    then_expected: tuple[Expectation, ...]

    @property
    def asks_for_processes(self) -> bool:
        """Whether anything is expected of the worker processes."""
        expected = (*self.expected, *self.then_expected)
        return any(legal.processes for one in expected if one for legal in one.any_of)


@dataclass(frozen=True, slots=True)
class Case:
    """One expanded case. `data` is its document with the variant worked in.

    `fresh_after` marks a program that changes globals or built-ins: in a target that keeps state,
    they would spoil the next case. `edges` says on which sides of which rows' limits it stands.
    `linger_ms` is how long it is listened to after the last outcome for what must not come.
    """

    id: str
    area: str
    variant: str | None
    title: str
    requirements: Mapping[str, str]
    roles: tuple[str, ...]
    needs: tuple[tuple[str, ...], ...]
    alternatives: Mapping[str, tuple[str, ...]]
    effective: tuple[str, ...]
    set: Mapping[str, int | None]
    prefer: Mapping[str, int]
    after: str
    fresh_after: bool
    linger_ms: int
    reported: tuple[str, ...]
    edges: Mapping[str, tuple[str, ...]]
    data: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def ops(self) -> list[dict[str, Any]]:
        """The operations as `open` names them: name, effect, arguments, and what few have."""
        return [
            {key: entry.get(key, {}) for key in ("name", "effect", "arguments")}
            | {key: entry[key] for key in OPERATION_TRAITS if key in entry}
            for entry in self.data.get("operations", [])
        ]

    def host(self, rows: Mapping[str, int]) -> dict[str, Any]:
        """What the session is opened with besides its policy; NotApplicable says why not."""
        if "host" not in self.data:
            return {}
        try:
            filled: dict[str, Any] = templates.resolve(self.data["host"], self.names(rows))
        except TemplateError as error:
            raise NotApplicable(str(error)) from None
        return filled

    @property
    def filtered(self) -> bool:
        """Whether it is about admission, so that a filter which can be switched is on."""
        return (_MODULE_OF_FILTER,) in self.needs

    @property
    def timed(self) -> bool:
        """Whether it moves the clock by which rates are counted."""
        return any("advance_ms" in entry for entry in self.data.get("then", []))

    @property
    def programs(self) -> list[Mapping[str, Any]]:
        """The `programs` of each run and follow-up that names some."""
        runs = self.data.get("runs") or [self.data]
        entries = (*runs, *self.data.get("then", []))
        return [entry["program"] for entry in entries if "program" in entry]

    @property
    def asks_for_processes(self) -> bool:
        """Whether it expects anything of worker processes, for some of the alternatives."""
        return _names_processes([self.data, *self.data.get("runs", []), *self.data.get("then", [])])

    @property
    def languages(self) -> list[str]:
        """The languages of its programs; one without a name where it has no program."""
        return sorted({language for program in self.programs for language in program}) or [""]

    @property
    def given_options(self) -> frozenset[str]:
        """The names of the options that its runs are given, as `timeout_ms`."""
        entries = (self.data, *self.data.get("runs", ()), *self.data.get("then", ()))
        return frozenset(name for entry in entries for name in entry.get("options", {}))

    @property
    def uses_host(self) -> bool:
        """Whether a program of this case makes host calls, so that the prelude is added.

        Known before the templates are filled in, for `wrapper_bytes`.
        """
        return not self.data.get("raw") and any(map(programs.mentions_host, self.programs))

    def filled(self, defaults: Mapping[str, int]) -> dict[str, Any]:
        """The document of the case with its templates filled from a default policy."""
        filled: dict[str, Any] = templates.resolve(
            dict(self.data), self.names({**defaults, **self.prefer, WRAPPER: 0})
        )
        return filled

    def digest(self, defaults: Mapping[str, int]) -> str:
        """SHA-256 of the expanded case with the templates filled from a default policy.

        `edges` is left out: it says what the case stands for and changes nothing that is run.
        """
        filled = self.filled(defaults)
        return digest_of({key: value for key, value in filled.items() if key != "edges"})

    def fitted(self, capabilities: frozenset[str]) -> Case:
        """The case with those preferred rows among `set` that a target can set."""
        able = {
            name: value
            for name, value in self.prefer.items()
            if f"policy.{name}" in capabilities
            or (name in OPTION_OF_ROW and OPTION_CAPABILITY[name] in capabilities)
        }
        return replace(self, set={**able, **self.set}) if able else self

    def names(self, rows: Mapping[str, int]) -> dict[str, Any]:
        """The names that templates of this case may use: rows, what it sets, its lets."""
        known = {**rows, **{name: value for name, value in self.set.items() if value is not None}}
        return templates.resolve_lets(self.data.get("let", {}), known)

    def resolve(
        self, rows: Mapping[str, int], alternatives: Alternatives, language: str
    ) -> ReadyCase:
        """The case for a target with these effective numbers; NotApplicable says why not.

        `rows` holds `wrapper_bytes` besides the rows of the effective policy.
        """
        missing = [name for name in self.effective if name not in rows]
        if missing:
            raise NotApplicable(f"the target names no number for {', '.join(missing)}")
        for name in self.effective:
            least, most = TESTABLE.get(name, (0, MOST))
            if not least <= rows[name] <= most:
                raise NotApplicable(
                    f"{name} is {str(rows[name])[:20]}, beyond what the suite tests"
                )
        try:
            data = templates.resolve(
                {key: self.data[key] for key in self.data if key != "set"}, self.names(rows)
            )
            small = [
                f"{name} of {least} at least"
                for name, least in data.get("least", {}).items()
                if rows.get(name, least) < least
            ]
        except TemplateError as error:
            raise NotApplicable(str(error)) from None
        if small:
            raise NotApplicable(f"the case needs {', '.join(small)}")
        runs = data.get("runs") or [data]
        raw = bool(data.get("raw"))

        def spec(entry: Mapping[str, Any]) -> RunSpec:
            given = {"options": data.get("options", {}), **entry}
            return programs.run_spec(given, raw=raw, language=language, alternatives=alternatives)

        def expected(entry: Mapping[str, Any]) -> Expectation | None:
            if "expect" not in entry:
                return None
            return expectation(choose_block(entry["expect"], alternatives, self.variant))

        case_expected = expected(data)
        if "worker" in data:
            # One worker command has one script: runs at the same time share it.
            runs = [{"worker": data["worker"], **entry} for entry in runs]
        then = data.get("then", [])
        return ReadyCase(
            case=self,
            operations=tuple(map(_operation, data.get("operations", []))),
            runs=tuple(map(spec, runs)),
            expected=tuple(
                (expected(entry) if "runs" in data else None) or (None if index else case_expected)
                for index, entry in enumerate(runs)
            ),
            then=tuple(map(spec, then)),
            then_expected=tuple(filter(None, map(expected, then))),
        )


def _names_processes(entries: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of these expects something of processes."""
    outcomes = [
        outcome
        for entry in entries
        for block in entry.get("expect", ())
        for outcome in (block, *block.get("any_of", ()))
    ]
    return any("processes" in outcome.get("evidence", {}) for outcome in outcomes)


def _operation(entry: Mapping[str, Any]) -> OperationSpec:
    return OperationSpec(
        name=entry["name"],
        effect=entry["effect"],
        arguments=entry.get("arguments", {}),
        behaviour=tuple(map(_behaviour, entry["behaviour"])),
        release=tuple(entry.get("release", ())),
    )


def _behaviour(entry: Mapping[str, Any]) -> Behaviour:
    told: dict[str, Any] = {
        "delay_ms": entry.get("delay_ms", 0),
        "until_run": entry.get("until_run", 0),
        "changed": _texts(entry.get("changed", ()), "path"),
        "warnings": _texts(entry.get("warnings", ()), "warning"),
    }
    if "value" in entry:
        return Behaviour("value", value=entry["value"], **told)
    if "generate" in entry:
        return Behaviour("value", value=generate(entry["generate"]), **told)
    if "fail" in entry:
        return Behaviour("fail", **entry["fail"], **told)
    if "odd" in entry:
        return Behaviour("odd", value=entry["odd"], **told)
    if "absent" in entry:
        return Behaviour("absent", **told)
    if "nested" in entry:
        return Behaviour("nested", value=entry["nested"], **told)
    return Behaviour("never", **told)


def _texts(given: Any, word: str) -> tuple[str, ...]:
    if isinstance(given, dict):
        return tuple(f"{word}-{number}" for number in range(1, int(given["count"]) + 1))
    return tuple(given)
