"""A few operations over data in memory, for the command line and the examples."""

from __future__ import annotations

import asyncio
from typing import Any

from codemode_reference.ceilings import Ceiling, fingerprint
from codemode_reference.errors import OperationError
from codemode_reference.operations import Operation

FILES = {
    "README.md": 1_204,
    "docs/limits.md": 5_310,
    "docs/start.md": 2_087,
    "private/keys.txt": 64,
    "src/main.js": 7_419,
    "src/names.js": 911,
}

_PRIVATE = "private"
_MOST_TIMES = 1_000_000


def operations() -> list[Operation]:
    """`echo`, `repeat`, `add`, `list_files`, `slow`, and `count_files`, which is not granted.

    Nobody may list the folder `private`, and `count_files` has changed since it was granted.
    """
    number = {"type": "number"}
    times = {"type": "integer", "minimum": 0, "maximum": _MOST_TIMES}
    granted = fingerprint("count_files", _object(folder={"type": "string"}), {})
    return [
        Operation("echo", _echo),
        Operation("repeat", _repeat, arguments=_object(text={"type": "string"}, times=times)),
        Operation("add", _add, arguments=_object(a=number, b=number)),
        Operation(
            "list_files", _list_files, arguments=_object(folder={"type": "string"}), permits=_shared
        ),
        Operation("slow", _slow, arguments=_object(seconds=number)),
        # What was granted took the name of a folder; what it has become takes none.
        Operation(
            "count_files", _count_files, arguments=_object(), ceiling=Ceiling(granted, "read")
        ),
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
        if (not prefix and _shared({"folder": path})) or path.startswith(f"{prefix}/")
    ]
    if not found:
        raise OperationError(f"no folder {prefix}")
    return found


def _shared(arguments: Any) -> bool:
    folder = arguments["folder"].strip("/")
    return bool(folder.split("/")[0] != _PRIVATE)


async def _count_files(_arguments: Any) -> Any:
    return len(FILES)


async def _slow(arguments: Any) -> Any:
    await asyncio.sleep(arguments["seconds"])
    return "done"
