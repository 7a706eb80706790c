"""The worker program as one precompiled file: its modules, its JavaScript and its tables.

A worker starts in a few milliseconds because it imports nothing from a path but small extension
modules of the standard library.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import marshal
import mmap
import platform
import sys
from functools import cache
from importlib import metadata
from importlib.resources import files
from string import Formatter
from types import CodeType
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import load_tables

from codemode_reference.builds import BUILDS
from codemode_reference.codes import FAILURES, Code, Reason
from codemode_reference.rules import frame_rules
from codemode_reference.seccomp import filter_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_spec.tables import Profile, Tables

    from codemode_reference.builds import Build

# What the modules import; a search along the path for each would take longer than to load them all.
_EXTENSIONS = ("_json", "resource", "_ctypes")
# Runs in the worker: loads extensions, makes modules of the parts, gives tables attributes, starts
# `main` of the last module.
_START = """
import _imp, gc, marshal, sys
# Before there is much to look through.
gc.disable()
extensions, modules, data = marshal.loads("PARTS")
from _frozen_importlib import ModuleSpec
for name, path in extensions:
    spec = ModuleSpec(name, None, origin=path)
    sys.modules[name] = made = _imp.create_dynamic(spec)
    _imp.exec_dynamic(made)
module = type(sys)
namespace = type(sys.implementation)
# Every module asks for it and none needs it; reading the real one would take a millisecond.
sys.modules["__future__"] = namespace(annotations=None)
package = "codemode_reference"
sys.modules[package] = module(package)
for name, code in modules:
    made = sys.modules[package + "." + name] = module(package + "." + name)
    exec(code, made.__dict__)
def space(fields):
    return namespace(**fields)
data = space(data)
data.codes = space(data.codes)
data.reasons = space(data.reasons)
data.rows = [space(row) for row in data.rows]
data.hardening = space(data.hardening)
data.endpoint = space(data.endpoint)
data.endpoint.transitions = {
    state: {event: space(step) for event, step in steps.items()}
    for state, steps in data.endpoint.transitions.items()
}
made.main(data, sys.argv[1:])
"""


@cache
def worker_program(profile: str) -> bytes:
    """The contents of a worker's `.pyc`, for this interpreter. ImportError without an engine."""
    tables = load_tables()
    return pack(sources(profile), worker_data(tables, tables.profiles[profile]))


def sources(profile: str) -> dict[str, str]:
    """The text of every module of the worker of a profile, the one with `main` last."""
    root = files(__package__)
    return {name: (root / f"{name}.py").read_text() for name in BUILDS[profile].modules}


def pack(modules: Mapping[str, str], data: dict[str, Any]) -> bytes:
    """One `.pyc` that runs `main(data, words)` of the last of `modules`."""
    compiled = [(name, _compile(text, name)) for name, text in modules.items()]
    extensions = [(name, path) for name in _EXTENSIONS if (path := _extension_path(name))]
    start = _compile(_START, "start")
    parts = marshal.dumps((extensions, compiled, data))
    constants = tuple(parts if value == "PARTS" else value for value in start.co_consts)
    start = start.replace(co_consts=constants)
    # Flags, time and size of a source are not looked at when the file is run as the program.
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(start)


def _extension_path(name: str) -> str | None:
    """The file of an extension module; None if it is part of the interpreter."""
    found = importlib.util.find_spec(name)
    return found.origin if found is not None and found.has_location else None


def _compile(source: str, name: str) -> CodeType:
    # Without what a worker would load at each start and never looks at: types, and where lines are.
    tree = ast.parse(source)
    tree.body = [part for part in tree.body if not _is_for_types(part)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return _without_lines(compile(tree, f"<{name}>", "exec", dont_inherit=True, optimize=2))


def _is_for_types(part: ast.stmt) -> bool:
    return isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING"


def _without_lines(code: CodeType) -> CodeType:
    parts = (
        _without_lines(part) if isinstance(part, CodeType) else part for part in code.co_consts
    )
    return code.replace(co_linetable=b"", co_consts=tuple(parts))


def worker_data(tables: Tables, profile: Profile) -> dict[str, Any]:
    """What the worker takes from the tables, as plain data that marshal can hold."""
    build = BUILDS[profile.name]
    endpoint = tables.endpoints["worker"]
    transitions = {
        state: {
            event: {"next": step.next, "exit": step.exit, "error": None, "ignore": step.ignore}
            for event, step in steps.items()
        }
        for state, steps in endpoint.transitions.items()
    }
    rows = [row for row in profile.rows.values() if row.in_execute]
    return {
        "engine": _engine_path(build.engine),
        "boot_script": boot_script(build),
        "late_parts": [late_part(parts, build) for parts in build.late.values()],
        "settings": json.dumps(script_settings(tables)),
        "rules": frame_rules(tables, profile),
        "codes": {code.name: code.value for code in Code},
        "reasons": {reason.name: reason.value for reason in Reason},
        "rows": [
            {"name": row.name, "minimum": row.minimum, "absolute_maximum": row.absolute_maximum}
            for row in rows
        ],
        "frame_bytes": profile.rows["ipc_frame_bytes"].absolute_maximum,
        "hardening": {
            "largest_heap": profile.rows["memory_bytes"].absolute_maximum,
            "longest_seconds": profile.rows["wall_time_ms"].absolute_maximum / 1000,
            "linux": sys.platform == "linux",
            "seccomp": filter_program(platform.machine()),
        },
        "page_bytes": mmap.PAGESIZE,
        "bad_frame": endpoint.transitions[endpoint.initial]["malformed"].exit,
        "endpoint": {
            "initial": endpoint.initial,
            "final": endpoint.final,
            "transitions": transitions,
        },
    }


def boot_script(build: Build) -> str:
    """(settings, whether to wait, texts of the late parts) -> (`execute` frame -> `control`)."""
    shared = f"const shared = {{ __proto__: null, {', '.join(build.shared)} }};"
    preparing, running = map(_javascript, build.preparing), map(_javascript, build.running)
    parameters = ", ".join(("settingsText", "waits", *(f"{name}Text" for name in build.late)))
    return "\n".join(
        (
            f'(function ({parameters}) {{ "use strict";',
            "const settings = JSON.parse(settingsText);",
            *preparing,
            shared,
            "return (executeText) => {",
            "const execute = parse(parse(executeText));",
            *running,
            "}; })",
        )
    )


def late_part(names: Sequence[str], build: Build) -> str:
    """What is shared -> what these parts of the script give."""
    text = "\n".join(map(_javascript, names))
    return (
        f'(function (shared) {{ "use strict";\nconst {{ {", ".join(build.shared)} }} = shared;\n'
        f"{text}\n}})"
    )


def _javascript(name: str) -> str:
    # Without what takes time to read past.
    text = (files(__package__) / "js" / f"{name}.js").read_text(encoding="ascii")
    lines = map(str.strip, text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def script_settings(tables: Tables) -> dict[str, Any]:
    """Codes, reasons and messages for the script side."""
    seen = [entry for entry in tables.errors.values() if "script" in entry.seen_by]
    fields = {name: True for entry in seen for name in entry.fields}
    return {
        "codes": {code.name: code.value for code in Code},
        "reasons": {reason.name: reason.value for reason in Reason},
        "messages": {entry.code: _parts(entry.message, entry.advice) for entry in seen},
        "error_fields": list(fields),
        "failures": list(FAILURES),
        "exhaustion": [entry.code for entry in seen if entry.ends == "exhaustion"],
        "detail_characters": tables.detail_characters,
        "progress": {
            "most": tables.progress.most,
            "message_bytes": tables.progress.message_bytes,
        },
    }


def _parts(message: str, advice: str | None) -> list[str]:
    # Text and field name in turns, text first and last.
    parts = [""]
    for text, name, _, _ in Formatter().parse(message):
        parts[-1] += text
        if name is not None:
            parts += [name, ""]
    if advice:
        parts[-1] += f"; {advice}"
    return parts


def runs(profile: str) -> bool:
    """Whether the engine that is installed can run programs of this profile."""
    try:
        _engine_path(BUILDS[profile].engine)
    except ImportError:
        return False
    return True


def _engine_path(needed: str | None) -> str:
    found = importlib.util.find_spec("_quickjs")
    if found is None or found.origin is None:
        raise ImportError("no QuickJS engine: install quickjs-ng")
    if needed is not None:
        try:
            metadata.version(needed)
        except metadata.PackageNotFoundError:
            raise ImportError(
                f"programs of this profile need the engine package {needed}: install it in place "
                "of the one that is there"
            ) from None
    return found.origin
