"""What the tools and the answers of a server look like: guesses for a target file. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROGRAM_NAMES: Final = ("code", "source", "program", "script", "javascript", "js", "snippet")
_TOOL_WORDS: Final = ("execute", "exec", "run", "eval", "code", "script", "program", "javascript")
_TIMEOUT: Final = re.compile(r"^(time_?out|deadline|wall_?time)(_?ms|_?millis\w*)?$", re.IGNORECASE)
_MILLISECONDS: Final = re.compile(r"(_ms|Ms|millis\w*)$")
_READONLY: Final = re.compile(r"^read_?only$", re.IGNORECASE)
_MESSAGE: Final = ("/message", "/error")
_DEEPEST: Final = 6


@dataclass(slots=True)
class Tool:
    """The tool that runs programs: its arguments in the suite's terms, and what is not known."""

    name: str
    arguments: dict[str, str]
    fixed: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, dict[str, int]] = field(default_factory=dict)
    capabilities: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def choose(tools: Sequence[Mapping[str, Any]], wanted: str | None) -> Tool:
    """The wanted tool, or the one that runs programs by its schema; UsageError names them all."""
    named = {str(tool["name"]): tool for tool in tools}
    if wanted is not None:
        if wanted not in named:
            known = ", ".join(named) or "none"
            raise UsageError(f"init --tool {wanted}: the server has no such tool; it has: {known}")
        return described(named[wanted])
    scores = {name: _score(tool) for name, tool in named.items()}
    best = max(scores.values(), default=0)
    found = [name for name, score in scores.items() if score == best]
    if best == 0 or len(found) > 1:
        what = "no tool of the server runs programs, by its schema" if best == 0 else "it is open"
        listed = ", ".join(found if best else named) or "it has no tools"
        raise UsageError(f"init --mcp: {what}; choose one with --tool: {listed}")
    return described(named[found[0]])


def _score(tool: Mapping[str, Any]) -> int:
    """How much a tool looks like one that runs programs; 0: not at all."""
    argument = _program(tool)
    if argument is None:
        return 0
    words = re.split(r"[^a-z]+", re.sub(r"([A-Z])", r" \1", str(tool["name"])).lower())
    return 1 + (argument in PROGRAM_NAMES) * 4 + sum(word in _TOOL_WORDS for word in words)


def _properties(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("inputSchema")
    found = schema.get("properties") if isinstance(schema, dict) else None
    return {k: v for k, v in (found or {}).items() if isinstance(v, dict)}


def _program(tool: Mapping[str, Any]) -> str | None:
    texts = [
        name
        for name, schema in _properties(tool).items()
        if schema.get("type") == "string" and "enum" not in schema
    ]
    for name in PROGRAM_NAMES:
        if name in texts:
            return name
    required = tool.get("inputSchema", {}).get("required", [])
    needed = [name for name in texts if name in required]
    return needed[0] if len(needed) == 1 and len(texts) == 1 else None


def described(tool: Mapping[str, Any]) -> Tool:
    """The arguments of one tool; UsageError where none takes a program."""
    name = str(tool["name"])
    program = _program(tool)
    if program is None:
        known = ", ".join(_properties(tool)) or "none"
        raise UsageError(f"init --tool {name}: no argument of it takes a program: {known}")
    found = Tool(name, {"program": program})
    required = tool.get("inputSchema", {}).get("required", [])
    for argument, schema in _properties(tool).items():
        if argument != program:
            _other(found, argument, schema, required=argument in required)
    return found


def _other(found: Tool, argument: str, schema: Mapping[str, Any], *, required: bool) -> None:
    kind = schema.get("type")
    if _TIMEOUT.match(argument) and kind in ("integer", "number"):
        told = str(schema.get("description", ""))
        if _MILLISECONDS.search(argument) or "millisecond" in told.lower():
            found.arguments["options.timeout_ms"] = argument
            found.capabilities.append("options.timeout")
            bounds = {
                bound: int(schema[bound])
                for bound in ("minimum", "maximum")
                if isinstance(schema.get(bound), int) and schema[bound] > 0
            }
            if bounds:
                found.ranges["options.timeout_ms"] = bounds
        else:
            found.unknown.append(
                f"the unit of the argument {argument}: if it is milliseconds, name it under "
                '[server.arguments] as "options.timeout_ms" and claim options.timeout'
            )
    elif _READONLY.match(argument) and kind == "boolean":
        found.arguments["options.readonly"] = argument
        found.capabilities.append("options.readonly")
    elif required:
        values = schema.get("enum") or [
            schema[key] for key in ("const", "default") if key in schema
        ]
        if values:
            found.fixed[argument] = _script(values)
        else:
            told = f"the argument {argument} is required: give it under [server] fixed_arguments"
            found.unknown.append(told)


def _script(values: Sequence[Any]) -> Any:
    """The value that means JavaScript, or the first."""
    return next((v for v in values if str(v).lower() in ("javascript", "js")), values[0])


@dataclass(slots=True)
class Answers:
    """Where a success and a failure say what they are, as `[server.answer]` has it."""

    success: dict[str, Any]
    value: dict[str, Any] | None
    message: dict[str, Any] | None
    code: dict[str, Any] | None


def compare(good: Mapping[str, Any], bad: Mapping[str, Any], value: Any, said: str) -> Answers:
    """From the documents of an answer with this value and of a failure that says this text."""
    success: dict[str, Any] = {"pointer": "/is_error", "equals": False}
    if good.get("is_error") is bad.get("is_error"):
        for pointer, found in leaves(good):
            there = dict(leaves(bad)).get(pointer)
            if isinstance(found, bool) and isinstance(there, bool) and found is not there:
                success = {"pointer": pointer, "equals": found}
                break
    values = [p for p, found in leaves(good) if type(found) is type(value) and found == value]
    structured = [p for p in values if p.startswith("/structured")]
    texts = [p for p, found in leaves(bad) if isinstance(found, str) and said in found]
    texts.sort(key=lambda p: (not p.startswith("/structured"), not p.endswith(_MESSAGE), len(p)))
    codes = [p for p, found in leaves(bad) if p.endswith("/code") and isinstance(found, str | int)]
    return Answers(
        success,
        {"pointer": (structured or values)[0]} if values else None,
        {"pointer": texts[0]} if texts else None,
        {"pointer": codes[0]} if codes else None,
    )


def succeeded(document: Mapping[str, Any], value: Any) -> bool:
    """Whether an answer holds this value and no sign of an error."""
    return document.get("is_error") is not True and any(
        type(found) is type(value) and found == value for _, found in leaves(document)
    )


def leaves(value: Any, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What stands in a document that is neither list nor object, with the pointer to it."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, entry in value.items():
            step = str(name).replace("~", "~0").replace("/", "~1")
            yield from leaves(entry, f"{pointer}/{step}", depth + 1)
    elif not isinstance(value, dict | list):
        yield pointer, value
