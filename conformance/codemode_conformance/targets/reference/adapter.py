# SPDX-License-Identifier: Apache-2.0
"""Drives the reference: one `Parent` for each session, one `invoke` for each run.

The words of the command may be `--profile NAME`.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Collection
from contextvars import ContextVar
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kits"))

from cmconf_kit import HOST_VALUES, failed, ok, serve
from codemode_reference import (
    Failure,
    Operation,
    Options,
    Parent,
    PolicyError,
    Surface,
    default_policy,
)
from codemode_reference.cli import version
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

TABLES = load_tables()
_options = argparse.ArgumentParser()
_options.add_argument("--profile", choices=TABLES.profiles, default=DEFAULT_PROFILE)
NAME = _options.parse_args().profile
PROFILE = TABLES.profiles[NAME]
# Rows that only operations with a cost are charged to, and those of a case have none.
NOT_CHARGED = {"pages", "snapshots"} & PROFILE.rows.keys()
SETTABLE = [name for name in PROFILE.rows if name not in NOT_CHARGED]
# One lexical line by the style of the programs; the reference's own lookup stays in the path.
PRELUDES = {
    "async": "const host = {api: codemode, call: (name, args) => codemode.call(name, args), "
    "all: (calls) => Promise.all(calls.map(([name, args]) => codemode.call(name, args)))};",
    "sync": "const host = {call: (name, args) => tools.call(name, args), "
    "all: (calls) => tools.callAll(calls.map(([name, args]) => ({name, args})))};",
}
AT_ONCE = 4
# What comes with the options, the surface and the admission of a profile.
MODULES = {
    "worker-rpc": (
        *("read-only", "admission", "script-api", "progress", "options.timeout"),
        *("options.readonly", "op.groups", "op.unstated", "admission.switch", "admission.clock"),
    ),
}
IDENTITY = {
    "target": "reference" if NAME == DEFAULT_PROFILE else f"reference-{NAME}",
    "version": version(),
    "language": ["javascript"],
    "settable": SETTABLE,
    "alternatives": {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in PROFILE.alternatives.items()
    },
    "capabilities": [
        *("contract", "op.value", "op.fail", "op.delay", "op.never", "op.native", "op.ledger"),
        *("op.many", "policy.raw", "cancel.native", "call_cancelled", f"parallel.{AT_ONCE}"),
        *("odd", "raw", *(f"policy.{row}" for row in SETTABLE), *MODULES.get(NAME, ())),
    ],
    "mapping": "typed",
    "sessions": AT_ONCE,
    "runs_per_session": AT_ONCE,
    "host_values": HOST_VALUES,
}
# Operations belong to a session, calls to a run: a task knows the run that it works for.
Call = Callable[[str, Any], Awaitable[Any]]
forward: ContextVar[Call] = ContextVar("forward")


def refusal(code: str, message: str, **fields: Any) -> dict[str, Any]:
    """Give a failure in our vocabulary, with the category of its code."""
    category = TABLES.errors[code].category_of(fields.get("reason"))
    return failed(category, Exception(message), error={"code": code, **fields})


class Session:
    """One parent with the policy and the operations of a session."""

    prelude = PRELUDES[str(PROFILE.alternatives["script_style"])]

    def __init__(
        self, policy: dict[str, Any], given: Collection[str], ops: list[Any], **more: Any
    ) -> None:
        self.seconds = 0.0
        clock = {"clock": lambda: self.seconds} if more.get("clock") else {}
        kept = frozenset(op["group"] for op in ops if "keep_prefix" in op)
        self.parent = Parent(
            policy,
            list(map(self.operation, ops)),
            profile=NAME,
            surface=Surface(keeps=kept),
            # The isolation is not to be judged by a filter that any program gets past.
            filtered=bool(more.get("filter")),
            **clock,
        )
        self.effective = {
            name: {"value": "unknown", "from": "documented"}
            if name in NOT_CHARGED
            else {"value": value, "from": "set" if name in given else "documented"}
            for name, value in policy.items()
        }

    def operation(self, op: dict[str, Any]) -> Operation:
        """Give an operation of the case, in its group if it has one."""
        placed = {key: tuple(op[key]) for key in ("aliases", "shortcuts") if key in op}
        handler, group = self.handler(op["name"]), op.get("group", "")
        return Operation(
            op["name"], handler, op["effect"], op["arguments"], group=group, **placed
        )

    @staticmethod
    def handler(name: str) -> Callable[[Any], Awaitable[Any]]:
        """Give a handler that forwards to whichever run it is called for."""

        async def handle(arguments: Any) -> Any:
            return await forward.get()(name, arguments)

        return handle

    async def run(self, source: str, options: Any, call: Call, state: Any) -> dict[str, Any]:
        """Run one program to its outcome."""
        forward.set(call)
        state.cancelled = asyncio.Event()
        asked = Options(**options, progress=lambda report: state.progress(**report))
        outcome = await self.parent.invoke(source, cancel=state.cancelled, options=asked)
        if isinstance(outcome, Failure):
            return refusal(outcome.code, outcome.message, **outcome.fields)
        return ok(outcome.value) if outcome.value_present else ok()

    async def advance(self, milliseconds: int) -> None:
        """Move the clock by which rates are counted on."""
        self.seconds += milliseconds / 1000

    async def cancel(self, state: Any) -> None:
        """Cancel a run."""
        state.cancelled.set()

    async def close(self) -> None:
        """Close the parent."""
        await self.parent.close()


async def opener(policy: dict[str, Any], ops: list[Any], _session: Any, **more: Any) -> Any:
    """Open a session, or say why not; a row that is null is left out."""
    rows = {**default_policy(NAME), **policy}
    try:
        known = {row: n for row, n in rows.items() if n is not None}
        session = Session(known, policy, ops, **more)
    except PolicyError as error:
        return refusal(error.code, str(error), field=error.field)
    unsupported = sorted(NOT_CHARGED & policy.keys())
    if unsupported:
        await session.close()
        return {"unsupported": unsupported}
    return session


serve(IDENTITY, opener)
