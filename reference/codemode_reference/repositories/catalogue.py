"""The seven operations over repositories; what they are called and take is `operations.json`."""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from codemode_reference.operations import Cost, Operation, invocation
from codemode_reference.repositories.desk import DATA, Call, Desk
from codemode_reference.repositories.store import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codemode_reference.repositories.store import Repository


def repository_operations(repositories: Sequence[Repository]) -> list[Operation]:
    """The operations of a server that knows `repositories`, each with a name of its own."""
    desk = Desk({repository.name: repository for repository in repositories})
    return [
        Operation(
            entry["name"],
            partial(_in_thread, entry["name"], getattr(desk, entry["method"])),
            arguments=_schema(entry),
            cost=Cost(**entry.get("cost", {})),
            diagnostics=tuple(entry.get("diagnostics", ())),
        )
        for entry in DATA["operations"]
    ]


async def _in_thread(name: str, method: Callable[[Call], Any], arguments: dict[str, Any]) -> Any:
    """Run an operation in a thread. When it is cancelled the thread is stopped and waited for."""
    call = Call(name, invocation.get(), arguments, Event())
    working = asyncio.ensure_future(asyncio.to_thread(_told, method, call))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        call.stop.set()
        await asyncio.wait({working})
        working.exception()
        raise


def _told(method: Callable[[Call], Any], call: Call) -> Any:
    """The result, or what the problem is: a program can go on from either."""
    try:
        return method(call)
    except ProblemError as problem:
        message = DATA["problems"][problem.kind]
        return {"problem": problem.kind, "message": message, **problem.fields}


def _schema(entry: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, what in entry["arguments"].items():
        if name == "page":
            properties["max_bytes"] = {"type": "integer", **DATA["max_bytes"]}
            properties["cursor"] = DATA["handle"]
        else:
            properties[name] = DATA[what] if isinstance(what, str) else what
    return {
        "description": entry["does"],
        "type": "object",
        "properties": properties,
        "required": entry.get("required", []),
        "additionalProperties": False,
        "examples": [entry["example"]],
    }
