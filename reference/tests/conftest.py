"""Fixtures: parents that clean up, and the promise that nothing is left behind."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from codemode_reference import Failure, Operation, OperationError, Parent, default_policy
from codemode_reference.actions import Dispatch, End
from codemode_reference.operations import Catalogue
from codemode_reference.rules import frame_rules
from codemode_reference.session import Session
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator


def open_descriptors() -> set[str]:
    """The descriptors of this process, without the one that looks."""
    folder = Path("/proc/self/fd")
    return {entry.name for entry in folder.iterdir()} if folder.exists() else set()


_SET_SUBREAPER, _GET_SUBREAPER = 36, 37


@pytest.fixture(autouse=True)
def _no_orphans_of_others() -> Iterator[None]:
    """The suite, tested in the same process, adopts orphans: they are no children of a parent."""
    if sys.platform != "linux":
        yield
        return
    prctl = ctypes.CDLL(None).prctl
    before = ctypes.c_int(0)
    prctl(_GET_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(_SET_SUBREAPER, 0, 0, 0, 0)
    yield
    prctl(_SET_SUBREAPER, before.value, 0, 0, 0)


@pytest.fixture(autouse=True)
def _nothing_left(_no_orphans_of_others: None) -> Iterator[None]:
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


class ScriptedWorker:
    """A worker without guards of its own that speaks frames to a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.calls = 0

    def call(self, operation: str, arguments: Any = None) -> Any:
        """One more host call: the error or value of its reply, `Dispatch`, or how it all ended."""
        self.calls += 1
        frame = {
            "type": "host_call",
            "invocation_id": self.session.invocation_id,
            "call_id": self.calls,
            "operation": operation,
            "arguments": arguments,
        }
        return told(self.session.receive(json.dumps(frame).encode() + b"\n", 1.0))

    def answer(self, call_id: int, value: Any) -> Any:
        """The operation of `call_id` gave `value`: the reply."""
        return told(self.session.answer(call_id, value, 1.0))


def told(actions: list[Any]) -> Any:
    """What one action says to the worker or to the client."""
    (action,) = actions
    if isinstance(action, End):
        assert isinstance(action.outcome, Failure)
        return {name: item for name, item in action.outcome.to_json().items() if name != "message"}
    if isinstance(action, Dispatch):
        return Dispatch
    frame = json.loads(action.data)
    return frame["value"] if frame["ok"] else frame["error"]


@pytest.fixture
def scripted(limits: dict[str, int], profile: Any) -> Callable[..., ScriptedWorker]:
    """`scripted(operations, grants=..., row=value)`: a running session and its worker."""

    def make(operations: list[Operation], *, grants: Any = None, **rows: int) -> ScriptedWorker:
        tables = load_tables()
        catalogue = Catalogue(operations).restricted(grants)
        rules = frame_rules(tables, profile)
        policy = {**limits, **rows}
        session = Session(7, policy, catalogue, tables.endpoints["parent"], rules)
        session.event("execute_sent")
        return ScriptedWorker(session)

    return make
