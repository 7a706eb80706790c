"""What a client, and the model behind it, is told: made of the catalogue and the policy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_reference.operations import Catalogue
    from codemode_reference.protection import Protection

_LIMITS = (
    ("source_bytes", "bytes of program"),
    ("wall_time_ms", "ms"),
    ("host_calls", "calls"),
    ("concurrent_host_calls", "calls at a time"),
    ("pages", "pages"),
    ("snapshots", "snapshots"),
    ("final_result_bytes", "bytes of result"),
)

_MANUAL = """\
Runs a program: the body of an async JavaScript function. What it returns, a JSON value, is the \
result. There are no modules, timers, files or network; its one global is codemode, whose methods \
take one object and return promises:

{methods}
codemode.call(operation, arguments) - the same by name.
codemode.help() - the schemas of all arguments; no call.

A program has at most {limits}. An error that a call throws has a code, such as pages_limit, and \
can be caught. Each program runs alone in a process of its own ({isolation}). Return only what is \
needed."""


_GROUPED_MANUAL = """\
Runs a program in JavaScript, of which the last expression, or what it returns at its top level, \
is the result: a JSON value. Top-level await works. There are no modules, timers, files or \
network. Its one global is codemode, whose methods return promises and take their arguments by \
position, or one object of them:

{methods}
codemode.call(operation, arguments) - the same by name.
codemode.help(), codemode.<group>.help() - all methods with examples; no call.
codemode.reportProgress(current, total, message) - for people; no call.

A call that fails gives {{success: false, code, operation}}. A read-only invocation refuses all \
that may write. A program has at most {limits}. Each runs alone in a process of its own \
({isolation}). Return only what is needed."""


def grouped_manual(catalogue: Catalogue, policy: Mapping[str, int], protection: Protection) -> str:
    """How to write a program for a tool whose API has groups, and what isolates it."""
    methods = "\n".join(map(_placed_method, catalogue.described()))
    limits = ", ".join(f"{policy[row]} {unit}" for row, unit in _LIMITS if row in policy)
    told = _isolation(protection)
    return _GROUPED_MANUAL.format(methods=methods, limits=limits, isolation=told)


def _isolation(protection: Protection) -> str:
    return "hardened by the kernel" if protection.protected else "not protected by the kernel"


def _placed_method(entry: Mapping[str, Any]) -> str:
    schema = entry["arguments"]
    required = schema.get("required", ())
    names = (f"{name}{'' if name in required else '?'}" for name in schema.get("properties", {}))
    place = ".".join(part for part in ("codemode", entry.get("group"), entry["method"]) if part)
    others = [*entry.get("aliases", ()), *entry.get("shortcuts", ())]
    also = f" (also {', '.join(others)})" if others else ""
    told = f"{entry['effect']}: {operation_manual(entry)}"
    return f"{place}({', '.join(names)}){also} - {told}"


def program_manual(catalogue: Catalogue, policy: Mapping[str, int], protection: Protection) -> str:
    """How to write a program for the tool `code`, and what isolates it."""
    methods = "\n".join(map(_method, catalogue.described()))
    limits = ", ".join(f"{policy[row]} {unit}" for row, unit in _LIMITS if row in policy)
    told = _isolation(protection)
    return _MANUAL.format(methods=methods, limits=limits, isolation=told)


def operation_manual(entry: Mapping[str, Any]) -> str:
    """What one operation does, with an example, as the description of a tool."""
    schema = entry["arguments"]
    examples = (f"Example: {_compact(example)}" for example in schema.get("examples", ()))
    return " ".join([schema.get("description", ""), *examples]).strip() or entry["name"]


def instructions(*, programs: bool, tool: str) -> str:
    """What a client is told first."""
    if not programs:
        return (
            "Each tool is one read-only operation. In `serve --mode code` one tool runs programs "
            "that combine them."
        )
    return (
        f"Use the tool `{tool}` for work in several steps: one program can make many calls "
        "and return only what matters. Its description lists the methods; `return codemode.help()` "
        "gives their schemas."
    )


def _method(entry: Mapping[str, Any]) -> str:
    schema = entry["arguments"]
    required = schema.get("required", ())
    names = (
        f"{name}{'' if name in required else '?'}: {_type(part)}"
        for name, part in schema.get("properties", {}).items()
    )
    arguments = f"{{{', '.join(names)}}}" if schema else "arguments"
    return f"codemode.{entry['method']}({arguments}) - {operation_manual(entry)}"


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(map(_compact, schema["enum"]))
    return str(schema.get("type", "any"))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
