"""The command `serve`: its options, one connection, and a clean end."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import load_tables

from codemode_reference import demonstration
from codemode_reference.errors import CodeModeError
from codemode_reference.parent import Parent, default_policy
from codemode_reference.repositories import builtin, repository_operations
from codemode_reference.repositories.store import RepositoryError, on_disk
from codemode_reference.server.stdio import claimed, streams
from codemode_reference.server.tools import Tools
from codemode_reference.strict_json import NotStrictError
from codemode_reference.strict_json import read as read_strictly
from codemode_reference.surface import Surface
from codemode_reference.workers import StartedAhead

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from codemode_reference.operations import Operation
    from codemode_reference.repositories import Repository

_SIGNALLED = 128


class OptionError(CodeModeError):
    """An option of the command cannot be used; the message is one line for people."""


def serve(options: Namespace, version: str) -> int:
    """Serve one client over stdin and stdout until it leaves (0) or a signal comes (128 + it).

    Raises OptionError or PolicyError, before anything is served.
    """
    policy = {**default_policy(options.profile), **_policy(options.policy)}
    operations = _operations(options)
    programs = options.mode == "code"
    parent = Parent(
        policy,
        operations,
        profile=options.profile,
        require_hardening=options.require_hardening,
        surface=Surface(prefix=options.prefix),
        started_ahead=_ahead(policy) if programs else 0,
    )
    grouped = load_tables().profiles[options.profile].alternatives["arguments"] == "positional"
    prefix = options.prefix if programs and grouped else None
    return asyncio.run(_serve(parent, version, programs=programs, prefix=prefix))


def _ahead(policy: Mapping[str, int]) -> StartedAhead | None:
    """The workers that wait: the pool of the policy, else one."""
    return None if "pool_min" in policy else StartedAhead(1)


async def _serve(parent: Parent, version: str, *, programs: bool, prefix: str | None) -> int:
    stop = asyncio.Event()
    caught: list[int] = []

    def on_signal(number: int) -> None:
        caught.append(number)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    try:
        server = Tools(parent, programs=programs, prefix=prefix).server(version)
        filling = loop.create_task(parent.ready())
        with claimed() as (read, write):
            async with streams(read, write, stop) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        await filling
    finally:
        await parent.close()
    return _SIGNALLED + caught[0] if caught else 0


def _policy(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        rows = read_strictly(Path(path).read_bytes(), load_tables().rows["value_depth"].default)
    except OSError as error:
        raise OptionError(f"cannot read the policy {path}: {error.strerror}") from error
    except NotStrictError as error:
        raise OptionError(f"the policy {path} is not strict JSON: {error}") from error
    if not isinstance(rows, dict):
        raise OptionError(f'the policy {path} is no object of rows, such as {{"pages": 4}}')
    return rows


def _operations(options: Namespace) -> list[Operation]:
    if options.operations == "demonstration":
        if options.repo:
            raise OptionError("--repo is for the operations `repositories`")
        return demonstration.operations()
    return repository_operations(_repositories(options.repo) or [builtin()])


def _repositories(paths: Sequence[str]) -> list[Repository]:
    """The repositories at these paths, each named after its folder."""
    found: dict[str, Repository] = {}
    for path in paths:
        folder = Path(path).resolve()
        base = folder.parent.name if folder.name == ".git" else folder.name.removesuffix(".git")
        # A name that is not UTF-8 could not be told.
        base = os.fsencode(base).decode("utf-8", "backslashreplace")
        name, number = base, 1
        while name in found:
            number += 1
            name = f"{base}_{number}"
        try:
            found[name] = on_disk(folder, name)
        except RepositoryError as error:
            raise OptionError(f"cannot use --repo {path}: {error}") from error
    return list(found.values())
