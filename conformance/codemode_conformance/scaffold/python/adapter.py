"""Drives the implementation in sandbox.py for the conformance suite, by the kit beside it."""

import json

from cmconf_kit import failed, ok, serve
from sandbox import OutOfTimeError, ProgramError, run


class Session:
    """One policy with the operations of a session."""

    # The suite's programs call host operations by `host.call` and `host.all`: how, in your API.
    prelude = (
        "const host = {call: (name, args) => tools.call(name, args), "
        "all: (list) => Promise.all(list.map(([name, args]) => tools.call(name, args)))};"
    )

    def __init__(self, policy, ops):
        self.rows = {"wall_time_ms": 5_000, "memory_bytes": 16 << 20, **policy}
        self.names = [op["name"] for op in ops]
        self.effective = {
            row: {"value": value, "from": "set" if row in policy else "documented"}
            for row, value in self.rows.items()
        }

    async def run(self, source, _options, call, _run):
        """One program to its outcome; `call` is answered by the suite, which keeps the ledger."""
        tools = {name: lambda arguments, name=name: call(name, arguments) for name in self.names}
        try:
            found = await run(source, tools, *self.rows.values())
        # By a class of yours, never by a text that a program could throw.
        except OutOfTimeError as error:
            return failed("time", error)
        except ProgramError as error:
            return failed("script", error)
        return ok() if found is None else ok(json.loads(found))


async def opener(policy, ops, _session):
    """A session, or the rows that this sandbox cannot set."""
    foreign = sorted(policy.keys() - {"wall_time_ms", "memory_bytes"})
    return {"unsupported": foreign} if foreign else Session(policy, ops)


serve(
    {
        "target": "@NAME@",
        "version": "0.1",
        "language": ["javascript"],
        "mapping": "text",
        "typed": ["time"],  # categories that no program can choose
        "sessions": 1,
        "runs_per_session": 1,
        "settable": ["wall_time_ms", "memory_bytes"],
        "capabilities": ["op.value", "op.fail", "op.delay", "op.never", "op.ledger", "op.many"],
        "alternatives": {  # what your documentation says
            "script_style": "async",
            "source_form": "function_body",
            "undefined_result": "absent",
            "operation_failure": "throw",
            "host_wait": "counted",
            "values": "json",
        },
    },
    opener,
)
