# SPDX-License-Identifier: Apache-2.0
"""Drives the reference: one `Parent` for each session, one `invoke` for each run.

The words of the command may be `--profile NAME`, and `--worker COMMAND` for the worker that is
started instead of our own.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from contextvars import ContextVar
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kits"))

from cmconf_kit import ABSENT, HOST_VALUES, Answer, HostError, failed, ok, serve
from codemode_reference import (
    Failure,
    Operation,
    Options,
    Parent,
    PolicyError,
    Surface,
    default_policy,
)
from codemode_reference.ceilings import Ceiling, fingerprint
from codemode_reference.cli import version
from codemode_reference.evidence import Evidence, changed, warn
from codemode_reference.history import History
from codemode_reference.operations import Cost
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

TABLES = load_tables()
_options = argparse.ArgumentParser()
_options.add_argument("--profile", choices=TABLES.profiles, default=DEFAULT_PROFILE)
_options.add_argument("--worker")
NAME = _options.parse_args().profile
# In the parent role: the worker of the suite.
WORKER = [_options.parse_args().worker] if _options.parse_args().worker else None
PROFILE = TABLES.profiles[NAME]
PLENTY = 1 << 30
POOL = {"pool_min", "pool_idle_ms"} & PROFILE.rows.keys()
SETTABLE = list(PROFILE.rows)
# One lexical line by the style of the programs; the reference's own lookup stays in the path.
PRELUDES = {
    "async": "const host = {api: codemode, call: (name, args) => codemode.call(name, args), "
    "all: (calls) => Promise.all(calls.map(([name, args]) => codemode.call(name, args)))};",
    "sync": "const host = {call: (name, args) => tools.call(name, args), "
    "all: (calls) => tools.callAll(calls.map(([name, args]) => ({name, args}))), "
    "api: tools, list: () => tools.list(), search: (text) => tools.search(text), "
    "describe: (name) => tools.describe(name), budget: () => tools.budget()};",
}
AT_ONCE = 4
# What only some profiles have, and what the harness can ask of them.
MODULES = {
    "process-async": ["snapshots", "op.cost", "script-api"],
    "inline-sync": [
        *("batch", "evidence", "script-api", "host.history_bytes", "host.hooks"),
        *("host.save_fails", "op.effects", "op.nested", "op.aliases", "op.ceiling", "op.control"),
    ],
    "worker-rpc": [
        *("read-only", "admission", "script-api", "progress", "options.timeout"),
        *("options.readonly", "op.groups", "op.unstated", "op.control"),
        *("host.filter", "host.clock"),
    ],
}
IDENTITY: dict[str, Any] = {
    "target": "reference" if NAME == DEFAULT_PROFILE else f"reference-{NAME}",
    "version": version(),
    "language": ["javascript"],
    "settable": SETTABLE,
    "alternatives": {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in PROFILE.alternatives.items()
    },
    "capabilities": [
        *MODULES.get(NAME, ()),
        *(("server",) if "server_invocations" in PROFILE.rows else ()),
        "op.diagnostics",
        *("contract", "op.value", "op.fail", "op.delay", "op.never", "op.native", "op.ledger"),
        *("op.many", "policy.raw", "cancel.native", "call_cancelled", f"parallel.{AT_ONCE}"),
        *("host.hardening", "host.grants", "odd", "raw"),
        *(f"policy.{row}" for row in SETTABLE),
    ],
    "mapping": "typed",
    "sessions": AT_ONCE,
    "runs_per_session": AT_ONCE,
    "host_values": HOST_VALUES,
}
# Operations belong to a session, calls to a run: a task knows the run that it works for.
Ask = Callable[[str, Any], Awaitable[Answer]]
forward: ContextVar[Ask] = ContextVar("forward")


def refusal(code: str, message: str, **fields: Any) -> dict[str, Any]:
    """Give a failure in our vocabulary, with the category of its code."""
    category = TABLES.errors[code].category_of(fields.get("reason"))
    return failed(category, Exception(message), error={"code": code, **fields})


def tell(effects: dict[str, list[str]]) -> None:
    """Put what an operation tells of itself on the record of its call."""
    for path in effects.get("changed", ()):
        changed(path)
    for text in effects.get("warnings", ()):
        warn(text)


def fails(_line: bytes) -> None:
    """Save no record."""
    raise OSError


async def look(_operation: str, _arguments: Any) -> None:
    """See a call before it runs."""


class Session:
    """One parent with the policy and the operations of a session."""

    prelude = PRELUDES[str(PROFILE.alternatives["script_style"])]

    def __init__(
        self, policy: dict[str, Any], given: Collection[str], ops: list[Any], host: dict[str, Any]
    ) -> None:
        history = None
        if "history_bytes" in host or "save_fails" in host:
            history = History(
                host.get("history_bytes", PLENTY), fails if "save_fails" in host else None
            )
        self.seconds = 0.0
        self.grants = host.get("grants")
        kept = frozenset(op["group"] for op in ops if "keep_prefix" in op)
        self.parent = Parent(
            policy,
            [self.operation(op) for op in ops],
            profile=NAME,
            worker_command=WORKER,
            history=history,
            hook=look if "hooks" in host else None,
            surface=Surface(keeps=kept),
            # The isolation is not to be judged by a filter that any program gets past.
            filtered="filter" in host,
            clock=(lambda: self.seconds) if "clock" in host else time.monotonic,
            require_hardening="hardening" in host,
            # A pool only where a case is about it: elsewhere each session would start workers that
            # nobody uses, hundreds in a run of the suite.
            started_ahead=None if POOL & set(given) else 0,
        )
        self.effective = {
            name: {"value": "unknown", "from": "documented"}
            if name in POOL and not POOL & set(given)
            else {"value": value, "from": "set" if name in given else "documented"}
            for name, value in policy.items()
        }

    def operation(self, op: dict[str, Any]) -> Operation:
        """Give the operation of a line of `open`."""
        given = {key: op[key] for key in ("description", "untracked", "control") if key in op}
        # What was granted has had another schema, so that this is not it.
        other = fingerprint(op["name"], {"type": "null"}, {})
        return Operation(
            op["name"],
            self.handler(op["name"]),
            op["effect"],
            op["arguments"],
            group=op.get("group", ""),
            cost=Cost(**op.get("cost", {})),
            diagnostics=tuple(op.get("diagnostics", ())),
            ceiling=Ceiling(other, op["effect"]) if "drifted" in op else None,
            aliases=tuple(op.get("aliases", ())),
            shortcuts=tuple(op.get("shortcuts", ())),
            **given,
        )

    def handler(self, name: str) -> Callable[[Any], Awaitable[Any]]:
        """Give a handler that forwards to whichever run it is called for."""

        async def handle(arguments: Any) -> Any:
            try:
                answer = await forward.get()(name, arguments)
            except HostError as error:
                tell(error.effects)
                raise
            tell(answer.effects)
            if answer.nested is None:
                return answer.value
            outcome = await self.parent.invoke(answer.nested)
            if isinstance(outcome, Failure):
                return {"ok": False, "code": outcome.code}
            return {"ok": True, "value": outcome.value}

        return handle

    async def run(self, source: str, options: Any, _call: Any, state: Any) -> dict[str, Any]:
        """Run one program to its outcome."""
        forward.set(state.ask)
        state.cancelled = asyncio.Event()
        found: list[Evidence] = []
        asked = Options(**options, progress=lambda report: state.progress(**report))
        outcome = await self.parent.invoke(
            source,
            cancel=state.cancelled,
            evidence=found.append,
            options=asked,
            grants=self.grants,
        )
        told = {"evidence": found[0].to_json()} if "evidence" in IDENTITY["capabilities"] else {}
        if isinstance(outcome, Failure):
            return refusal(outcome.code, outcome.message, **outcome.fields) | told
        return ok(outcome.value if outcome.value_present else ABSENT) | told

    async def advance(self, milliseconds: int) -> None:
        """Move the clock by which rates are counted on."""
        self.seconds += milliseconds / 1000

    async def cancel(self, state: Any) -> None:
        """Cancel a run."""
        state.cancelled.set()

    async def close(self) -> None:
        """Close the parent."""
        await self.parent.close()


async def opener(
    policy: dict[str, Any], ops: list[Any], _session: Any, host: dict[str, Any] | None = None
) -> Any:
    """Open a session, or say why not; a row that is null is left out."""
    rows = {**default_policy(NAME), **policy}
    try:
        rows = {row: n for row, n in rows.items() if n is not None}
        session = Session(rows, policy, ops, host or {})
    except PolicyError as error:
        return refusal(error.code, str(error), field=error.field)
    return session


serve(IDENTITY, opener)
