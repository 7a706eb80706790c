"""Programs of a case: parts to text, languages and styles, generated values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.failures import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_CHARACTERS: Final = 64 << 20
"""What one repeated text may come to: more than any row whose edge is tested."""

MOST_DEPTH: Final = 100_000
SCRIPTS: Final = ("worker", "parent", "client")
"""The keys of an entry under which the steps of a scripted end stand."""

PLAIN: Final = "return 1"
"""The program of an entry that names none: a scripted worker runs none."""

_HOST = re.compile(r"\bhost\b")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run: its program text and when it starts.

    `after_call` is the number of the host call (of all runs of the case) after whose arrival the
    run starts, 0 at once; `cancel_after_call` and `cancel_after_ms` say when it is cancelled,
    `cancel_after_outcome` that it is once it has ended.
    `script` holds the steps of the other end where the suite plays it: a worker, a parent or a
    client; `kill_after_call` is the call after which the target itself is killed.
    `options` are those of the run, `advance_ms` how far the scripted clock moves on before it,
    `pause_ms` how long the suite listens before it; then `kill_workers` kills those that wait.
    """

    program: str
    uses_host: bool
    raw: bool
    after_call: int = 0
    cancel_after_call: int | None = None
    cancel_after_ms: int | None = None
    cancel_after_outcome: bool = False
    script: Any = field(default=None, compare=False)
    kill_after_call: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    advance_ms: int = 0
    pause_ms: int = 0
    kill_workers: bool = False


def mentions_host(value: Any) -> bool:
    """Whether any text inside a program entry names `host`."""
    if isinstance(value, str):
        return _HOST.search(value) is not None
    if isinstance(value, dict):
        return any(map(mentions_host, value.values()))
    return isinstance(value, list) and any(map(mentions_host, value))


def text_of(program: Any) -> str:
    """The text of a program: a text, a repeated part, or a list of these."""
    if isinstance(program, str):
        return program
    if isinstance(program, dict):
        return _repeat(program)
    return "".join(map(text_of, program))


def _repeat(part: Mapping[str, Any]) -> str:
    text, times = str(part["repeat"]), int(part["times"])
    if times < 0:
        raise NotApplicable("a limit of the target is smaller than the case itself")
    if len(text) * times > MOST_CHARACTERS:
        raise NotApplicable(f"a repeated text is longer than {MOST_CHARACTERS} characters")
    return text * times


def generate(recipe: Mapping[str, Any]) -> Any:
    """The value of a `generate` entry: a repeated text, or `depth` nested arrays or objects."""
    if "repeat" in recipe:
        return _repeat(recipe)
    if int(recipe["depth"]) > MOST_DEPTH:
        raise NotApplicable(f"a generated value is deeper than {MOST_DEPTH} levels")
    value: Any = [] if recipe["nest"] == "array" else {}
    for _ in range(int(recipe["depth"]) - 1):
        value = [value] if recipe["nest"] == "array" else {"a": value}
    return value


def run_spec(
    entry: Mapping[str, Any], *, raw: bool, language: str, alternatives: Mapping[str, Any]
) -> RunSpec:
    """The run of a resolved entry; NotApplicable without a program for language and style."""
    program = _program(entry, language, alternatives)
    cancel = entry.get("cancel")
    ended = cancel == "after_outcome"
    at = entry.get("at", "start")
    text = text_of(program)
    script = next((entry[name] for name in SCRIPTS if name in entry), None)
    return RunSpec(
        program=text,
        uses_host=not raw and _HOST.search(text) is not None,
        raw=raw,
        after_call=0 if at == "start" else int(at.split()[1]),
        cancel_after_call=int(cancel.split()[1]) if isinstance(cancel, str) and not ended else None,
        cancel_after_ms=cancel["after_ms"] if isinstance(cancel, dict) else None,
        cancel_after_outcome=ended,
        script=script,
        kill_after_call=int(entry["kill"].split()[1]) if "kill" in entry else None,
        options=entry.get("options", {}),
        advance_ms=entry.get("advance_ms", 0),
        pause_ms=entry.get("pause_ms", 0),
        kill_workers=entry.get("kill_workers", False),
    )


def _program(entry: Mapping[str, Any], language: str, alternatives: Mapping[str, Any]) -> Any:
    if "program" not in entry:
        if not any(name in entry for name in SCRIPTS):
            raise NotApplicable("the case has no program")
        return PLAIN
    by_language = entry["program"]
    if language not in by_language:
        raise NotApplicable(f"the case has no {language} program")
    program = by_language[language]
    if not isinstance(program, dict) or "repeat" in program:
        return program
    style = alternatives.get("script_style")
    if style is None:
        raise NotApplicable("script_style is not declared")
    if style not in program:
        raise NotApplicable(f"the case has no {style} {language} program")
    return program[style]
