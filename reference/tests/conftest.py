"""Fixtures: parents that clean up, and the promise that nothing is left behind."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from codemode_reference import Operation, OperationError, Parent, default_policy
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator


def open_descriptors() -> set[str]:
    """The descriptors of this process, without the one that looks."""
    folder = Path("/proc/self/fd")
    return {entry.name for entry in folder.iterdir()} if folder.exists() else set()


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    before = len(open_descriptors())
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert len(open_descriptors()) <= before


@pytest.fixture
def limits() -> dict[str, int]:
    """The default policy."""
    return default_policy()


@pytest.fixture
def profile() -> Any:
    """The profile that the reference implements."""
    return load_tables().profiles[DEFAULT_PROFILE]


async def echo(arguments: Any) -> Any:
    """Give the arguments back."""
    return arguments


async def value(arguments: Any) -> Any:
    """Give `arguments["is"]` back."""
    return arguments["is"]


async def fail(arguments: Any) -> Any:
    """Fail with a secret."""
    raise OperationError("secret-canary /home/someone")


async def never(arguments: Any) -> Any:
    """Wait for ever."""
    await asyncio.Event().wait()


async def odd(arguments: Any) -> Any:
    """Return what is no JSON."""
    return ODD[arguments["kind"]]


class Number(int):
    """An integer that is more than one."""


ODD: dict[str, Any] = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "bytes": b"bytes",
    "set": {1},
    "tuple": (1, 2),
    "subclass": Number(3),
    "key": {1: 2},
    "object": object(),
    "surrogate": "\ud800",
    "key surrogate": {"\ud800": 1},
    "integer": 2**53 + 1,
    "huge": 10**400,
}


@pytest.fixture
def operations() -> list[Operation]:
    """The operations of the test parents."""
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    return [
        Operation("echo", echo),
        Operation("value", value),
        Operation("fail", fail),
        Operation("never", never),
        Operation("odd", odd),
        Operation("count_up", echo, effect="write", arguments=number),
    ]


@pytest.fixture
def using(limits: dict[str, int], operations: list[Operation]) -> Callable[..., Any]:
    """`using(story, row=value, ...)` runs `await story(parent)` and closes the parent."""

    def use(
        story: Callable[[Parent], Awaitable[Any]],
        *,
        command: list[str] | None = None,
        **rows: int,
    ) -> Any:
        async def run() -> Any:
            parent = Parent({**limits, **rows}, operations, worker_command=command)
            try:
                return await story(parent)
            finally:
                await parent.close()

        return asyncio.run(run())

    return use


@pytest.fixture
def run(using: Callable[..., Any]) -> Callable[..., Any]:
    """`run(source, row=value, ...)`: the outcome, after a healthy invocation of the same parent."""

    def invoke(source: str, **rows: int) -> Any:
        async def story(parent: Parent) -> Any:
            outcome = await parent.invoke(source)
            healthy = await parent.invoke("return 1")
            assert healthy.value == 1
            return outcome

        return using(story, **rows)

    return invoke
