# SPDX-License-Identifier: Apache-2.0
"""Drives `codemode.Executor` of py-codemode. README.md says what is claimed, and why."""

import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kits"))

from cmconf_kit import ABSENT, HOST_VALUES, failed, ok, serve
from codemode import Executor, RunFailed

LIMITS = {"wall_time_ms": 60_000, "memory_bytes": 16 * 1024 * 1024}  # as the signature gives them
SILENT = (
    *("source_bytes", "stack_bytes", "host_calls", "concurrent_host_calls"),
    *("host_result_bytes", "final_result_bytes"),
)
PRELUDE = (
    "const host = { call: (name, args) => codemode[name](args), "
    "all: (list) => Promise.all(list.map(([name, args]) => codemode[name](args))) };"
)
CATEGORIES = (  # of the text of the failure, first match
    (re.compile(r"^Execution timed out$|^Executor failure: .*valuation timed out after"), "time"),
    (re.compile(r"[Hh]eap limit|out of memory|[Hh]eap exhausted"), "memory"),
    (re.compile(r"^(JavaScript runtime error: .*)?Maximum call stack size exceeded"), "stack"),
)


class Session:
    """One executor with the policy and the operations of a session."""

    prelude = PRELUDE
    wrap = ("async () => {", "\n}")

    def __init__(self, policy: dict[str, Any], ops: list[Any]) -> None:
        self.names = [op["name"] for op in ops]
        rows = {**LIMITS, **policy}
        self.executor = Executor(
            timeout_s=rows["wall_time_ms"] / 1000, max_heap_bytes=rows["memory_bytes"]
        )
        self.effective: dict[str, Any] = {
            row: {"value": rows[row], "from": "set" if row in policy else "documented"}
            for row in LIMITS
        }
        self.effective |= {row: {"value": "unknown", "from": "documented"} for row in SILENT}
        self.unknown = [row for row in policy if row not in LIMITS]

    async def run(self, source: str, _options: Any, call: Any, _state: Any) -> dict[str, Any]:
        """Run one program to its outcome."""

        def function(name: str) -> Any:
            async def forward(**arguments: Any) -> Any:
                value = await call(name, arguments)
                return None if value is ABSENT else value

            return forward

        fns = {name: function(name) for name in self.names}
        event = await self.executor.execute(source, fns)
        logs = list(event.logs or ())
        if not isinstance(event, RunFailed):
            return ok(event.result, logs=logs)
        found = (category for pattern, category in CATEGORIES if pattern.search(event.error))
        return failed(next(found, "script"), Exception(event.error), logs=logs)

    async def close(self) -> None:
        """Close the executor."""
        self.executor.close()


async def opener(policy: dict[str, Any], ops: list[Any], _session: Any) -> Any:
    """Open a session; a row that is null is left out."""
    missing = [row for row, value in policy.items() if value is None]
    return {"unsupported": missing} if missing else Session(policy, ops)


serve(
    {
        "target": "py-codemode",
        "version": version("py-codemode"),
        "language": ["javascript"],
        "mapping": "text",
        "sessions": 1,
        "runs_per_session": 1,
        "settable": list(LIMITS),
        "host_values": HOST_VALUES,
        "capabilities": [
            *(f"policy.{row}" for row in LIMITS),
            *("op.value", "op.fail", "op.delay", "op.never", "op.native", "op.ledger", "op.many"),
            *("odd", "raw", "logs"),
        ],
        "alternatives": {
            "script_style": "async",
            "source_form": "async_arrow",
            "arguments": "object",
            "isolation": "isolate",
            "console": "present",
        },
    },
    opener,
)
