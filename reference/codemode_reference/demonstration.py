"""A few operations over data in memory, for the command line and the examples."""

from __future__ import annotations

import asyncio
from typing import Any

from codemode_reference.errors import OperationError
from codemode_reference.operations import Operation

FILES = {
    "README.md": 1_204,
    "docs/limits.md": 5_310,
    "docs/start.md": 2_087,
    "src/main.js": 7_419,
    "src/names.js": 911,
}

_MOST_TIMES = 1_000_000


def operations() -> list[Operation]:
    """`echo`, `repeat`, `add`, `list_files` and `slow`."""
    number = {"type": "number"}
    times = {"type": "integer", "minimum": 0, "maximum": _MOST_TIMES}
    return [
        Operation("echo", _echo),
        Operation("repeat", _repeat, arguments=_object(text={"type": "string"}, times=times)),
        Operation("add", _add, arguments=_object(a=number, b=number)),
        Operation("list_files", _list_files, arguments=_object(folder={"type": "string"})),
        Operation("slow", _slow, arguments=_object(seconds=number)),
    ]


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


async def _echo(arguments: Any) -> Any:
    return arguments


async def _repeat(arguments: Any) -> Any:
    return arguments["text"] * arguments["times"]


async def _add(arguments: Any) -> Any:
    return arguments["a"] + arguments["b"]


async def _list_files(arguments: Any) -> Any:
    prefix = arguments["folder"].strip("/")
    found = [
        {"path": path, "bytes": size}
        for path, size in FILES.items()
        if not prefix or path.startswith(f"{prefix}/")
    ]
    if not found:
        raise OperationError(f"no folder {prefix}")
    return found


async def _slow(arguments: Any) -> Any:
    await asyncio.sleep(arguments["seconds"])
    return "done"
