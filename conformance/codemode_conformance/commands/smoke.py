"""`cmconf smoke`: is this adapter on its feet? A few cases, and what to do about each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import codemode_spec

from codemode_conformance.engine import Engine
from codemode_conformance.install import install
from codemode_conformance.roles import add_role, role_name, role_of
from codemode_conformance.running import run_cases
from codemode_conformance.target import find_target
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    import argparse

STEPS: Final = {
    "ret.value.zero": "a program returns a value; look at `wrap` and at `outcome`",
    "err.throws.error": "a program fails; map its failure to a category",
    "val.from-operation": "an operation answers; look at `prelude` and at `return`",
    "err.operation-failure": "an operation fails; reject the call with the error",
    "tim.sync-loop": "a loop is stopped; pass `wall_time_ms` on",
}
"""The cases, from the simplest on, with what each shows and where to look if it does not hold."""


PING_SECONDS: Final = 5.0
PING: Final = "a ping is answered while nothing runs; answer `ping` with `pong`"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf smoke`."""
    parser = commands.add_parser("smoke", help="check quickly that an adapter works")
    parser.add_argument(
        "target", nargs="?", default="reference", metavar="NAME|FILE", help="default: reference"
    )
    add_role(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run the steps; 0 when each that applies holds."""
    specification = codemode_spec.shipped()
    target = find_target(arguments.target)
    name = role_name(target, arguments.role)
    installed = install(target, lambda line: print(line, file=sys.stderr, flush=True))
    held = True
    judged = 0
    with role_of(installed, name) as role:
        identity = role.start()
        print(f"ok    {target.name} {target.version} started, its claims have links")
        if isinstance(role, Engine):
            role.start()
            held = role.ping(PING_SECONDS)
            print("ok    a ping is answered" if held else f"FAIL  {PING}")
        cases = [specification.cases[step] for step in STEPS]
        for entry in run_cases([role], identity, specification, cases, name):
            outcome = next(layer for layer in entry.layers if layer.layer == "outcome")
            finding = outcome.finding
            if entry.verdict is Verdict.UNSUPPORTED:
                print(f"-     {entry.case.id}: {finding.reason}")
                continue
            judged += 1
            if entry.verdict in (Verdict.FAIL, Verdict.ERROR):
                held = False
                wrong = next(x for x in entry.layers if x.verdict in (Verdict.FAIL, Verdict.ERROR))
                seen = wrong.finding.observed or wrong.finding.reason
                print(f"FAIL  {entry.case.id}: {STEPS[entry.case.id]}")
                print(f"      expected {wrong.finding.expected or 'no fault'}; observed {seen}")
            else:
                print(f"ok    {entry.case.id}: {entry.case.title}")
    print(f"{target.name}: {'on its feet' if held and judged else 'not yet'}")
    return 0 if held and judged else 1
