"""Many mixed invocations, a tenth of them hostile: each gets its outcome, and nothing is left.

    python reference/bench/soak.py [--profile NAME] [--invocations N] [--seed S]

Four invocations run at a time, on four parents: with and without workers that are started ahead,
and of each kind one whose worker can play the scenarios of `scenarios.json`. At three points all is
let to end, and what is in use is compared with what was there at the start. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import kinds
import kinds_rpc
import kinds_sync
from codemode_reference import Failure, Operation, OperationError, Parent, Success, default_policy
from codemode_reference.bundle import worker_program
from codemode_reference.operations import Cost
from codemode_reference.protection import install
from codemode_spec.tables import DEFAULT_PROFILE
from kinds import Plan, plan
from leftovers import children, descriptors, processes, resident, threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_reference.actions import Outcome
    from codemode_reference.evidence import Stats

KINDS = {
    DEFAULT_PROFILE: kinds.KINDS,
    "inline-sync": kinds_sync.KINDS,
    "worker-rpc": kinds_rpc.KINDS,
}
HERE = Path(__file__).resolve().parent
HOSTILE = HERE.parents[1] / "conformance/codemode_conformance/roles/hostile/worker.py"
AT_ONCE = 4
AHEAD = 2
# Resident memory may grow by this much after the first point: what an allocator keeps.
GROWTH_KIB = 6 * 1024
CHECKPOINTS = (0.1, 0.5, 1)
PATIENCE = 30


class Watched(Parent):
    """A parent that remembers what it started, so that an operation can find its worker."""

    started: list[Stats]

    def __init__(self, **options: Any) -> None:
        self.started = []
        super().__init__(None, self._operations(), **options)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "last_stats" and value is not None:
            self.started.append(value)
            del self.started[: -4 * AT_ONCE]
        super().__setattr__(name, value)

    def _operations(self) -> list[Operation]:
        pair = {"a": {"type": "number"}, "b": {"type": "number"}}
        numbers = {"type": "object", "properties": pair, "required": ["a", "b"]}
        return [
            Operation("echo", _echo),
            Operation("add", _echo, arguments=numbers),
            Operation("slow", _slow),
            Operation("put", _slow, "write"),
            Operation("bytes", _bytes),
            Operation("page", _echo, cost=Cost(pages=1)),
            Operation("open", _echo, cost=Cost(snapshots=1)),
            Operation("fail", _fail),
            Operation("odd", _odd),
            Operation("forbidden", _echo, permits=lambda _: False),
            Operation("never", _never),
            Operation("die", self._die),
        ]

    async def _die(self, arguments: Any) -> None:
        """Kill the workers that have asked for it."""
        await asyncio.sleep(arguments["ms"] / 1000)
        for stats in list(self.started):
            if any(call.operation == "die" and call.dispatched for call in stats.calls):
                self.started.remove(stats)
                kill_child(stats.pid)
        await _never(arguments)


async def _echo(arguments: Any) -> Any:
    return arguments


async def _slow(arguments: Any) -> Any:
    await asyncio.sleep(arguments["ms"] / 1000)
    return arguments["is"]


async def _bytes(arguments: Any) -> Any:
    return "b" * arguments


async def _fail(arguments: Any) -> Any:
    raise OperationError(f"secret {arguments}")


async def _odd(_: Any) -> Any:
    return {1: object()}


async def _never(_: Any) -> None:
    await asyncio.Event().wait()


class Soak:
    """The invocations, what came of them, and what is wrong."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._total = options.invocations
        self._seed = options.seed
        self._profile = options.profile
        self._kind = KINDS[options.profile]
        self._folder = folder
        self._parents: list[Watched] = []
        self._asked: list[Counter[str]] = []
        self._kinds: Counter[str] = Counter()
        self._resident: list[int] = []
        self._descriptors = 0
        self._begin = time.monotonic()
        self.problems: list[str] = []

    async def run(self) -> None:
        """All of it."""
        program = self._folder / "program"
        program.mkdir()
        words, _ = install(program, worker_program(self._profile))
        # In the folder, so that each process of ours names it.
        scenarios = shutil.copy(HERE / "scenarios.json", program)
        switch = [sys.executable, "-I", "-S", str(HERE / "switch.py"), str(HOSTILE)]
        switch += [str(scenarios), *words]
        self._parents = [
            Watched(
                profile=self._profile,
                worker_command=command,
                started_ahead=ahead,
                # A minute between one look and the next: no client is too fast.
                clock=partial(next, count(0, 60)),
            )
            for command in (None, switch)
            for ahead in (0, AHEAD)
        ]
        self._asked = [Counter() for _ in self._parents]
        self._descriptors = descriptors()
        print(f"{'invocations':>11}{'seconds':>9}{'KiB':>9}{'descriptors':>13}{'threads':>9}")
        numbers = iter(range(self._total))
        for share in CHECKPOINTS:
            await asyncio.gather(*(self._lane(numbers, share) for _ in range(AT_ONCE)))
            await self._checkpoint(int(self._total * share))
        for parent in self._parents:
            await parent.close()
        self._totals()

    async def _lane(self, numbers: Iterator[int], share: float) -> None:
        """One invocation after the other, as long as there are numbers below the share."""
        while self._kinds.total() < int(self._total * share):
            number = next(numbers)
            random = Random(f"{self._seed}:{number}")
            which = random.randrange(len(self._parents))
            scripted = which >= len(self._parents) // 2
            found = plan(random, self._kind, scripted=scripted)
            self._kinds[found.kind] += 1
            await self._one(number, which, found)

    async def _one(self, number: int, which: int, found: Plan) -> None:
        parent = self._parents[which]
        cancel = asyncio.Event()
        policy = {**default_policy(self._profile), **found.rows}
        running = asyncio.create_task(_invoke(parent, found, policy, cancel))
        if found.cancel_ms is not None:
            asyncio.get_running_loop().call_later(
                found.cancel_ms / 1000, running.cancel if found.abandon else cancel.set
            )
        try:
            outcome = told(await asyncio.wait_for(running, PATIENCE))
        except asyncio.CancelledError:
            outcome = {"code": "cancelled"}
        except TimeoutError:
            outcome = {"code": f"none in {PATIENCE} s"}
        self._asked[which][outcome.get("code", "succeeded")] += 1
        if not any(fits(wants, outcome) for wants in found.wants):
            wants = " or ".join(str(dict(one)) for one in found.wants)
            told_short = str(outcome)[:300]
            self.problems.append(f"{number} ({found.kind}): {told_short} and not {wants}")

    async def _checkpoint(self, number: int) -> None:
        """Nothing runs: is anything still there?"""
        for parent in self._parents:
            await parent.ready()
        await self._settled(number)
        gc.collect()
        self._resident.append(resident())
        grown = self._resident[-1] - self._resident[0]
        if grown > GROWTH_KIB:
            self.problems.append(f"after {number}: {grown} KiB more of memory than at first")
        seconds = time.monotonic() - self._begin
        print(
            f"{number:11}{seconds:9.0f}{self._resident[-1]:9}{descriptors():13}{threads():9}",
            flush=True,
        )

    async def _settled(self, number: int) -> None:
        """Wait for what the background still tidies; name what stays."""
        end = time.monotonic() + PATIENCE
        while left := self._left():
            if time.monotonic() > end:
                self.problems += [f"after {number}: {one}" for one in left]
                return
            await asyncio.sleep(0.01)

    def _left(self) -> list[str]:
        """What is there beside the workers that wait."""
        used = [parent.in_use for parent in self._parents]
        waiting = sum(one.started_ahead for one in used)
        counts = {
            "children": len(children()),
            "processes": len(processes(self._folder)),
            "directories": len(list(self._folder.glob("codemode-*/*/"))),
            "descriptors": (descriptors() - self._descriptors) // 4,
        }
        wrong = [
            f"{count} {name} for {waiting} workers that wait"
            for name, count in counts.items()
            if count != waiting
        ]
        return wrong + [f"in use: {one}" for one in used if any((*one[:2], *one[3:]))]

    def _totals(self) -> None:
        """Each parent has counted what was asked of it, no more and no less."""
        for number, (parent, asked) in enumerate(zip(self._parents, self._asked, strict=True)):
            if parent.statistics.outcomes != asked:
                self.problems.append(f"parent {number}: {parent.statistics.outcomes} for {asked}")
        print("\nkinds:", *(f"{name} {count}," for name, count in sorted(self._kinds.items())))
        total = sum((parent.statistics.outcomes for parent in self._parents), Counter())
        print("outcomes:", *(f"{name} {count}," for name, count in sorted(total.items())))
        calls = sum((parent.statistics.calls for parent in self._parents), Counter())
        print("calls:", *(f"{name} {count}," for name, count in sorted(calls.items())))


async def _invoke(
    parent: Parent, found: Plan, policy: dict[str, int], cancel: asyncio.Event
) -> Outcome:
    if parent.policy != policy:
        parent.change_policy(policy)
    return await parent.invoke(found.source, cancel=cancel)


def told(outcome: Outcome) -> dict[str, Any]:
    """An outcome as a plan says it."""
    if isinstance(outcome, Success):
        return {"value": outcome.value}
    assert isinstance(outcome, Failure)
    return outcome.to_json()


def fits(wants: Mapping[str, Any], outcome: Mapping[str, Any]) -> bool:
    """Whether all that is wanted is there."""
    missing = object()
    for name, wanted in wants.items():
        found = outcome.get(name, missing)
        if found == wanted:
            continue
        # What a program caught is told by its fields, too.
        if not (isinstance(wanted, dict) and isinstance(found, dict) and fits(wanted, found)):
            return False
    return True


def kill_child(pid: int) -> None:
    """Kill a child of this process; nobody else, should the number be in use again."""
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        os.kill(pid, signal.SIGKILL)


def main() -> int:
    """0 if everything is as it should be, else 1 with a line for each problem."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--invocations", type=int, default=10_000, help="how many (10000)")
    parser.add_argument("--seed", type=int, default=1, help="for the same ones again (1)")
    parser.add_argument("--profile", choices=sorted(KINDS), default=DEFAULT_PROFILE)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        tempfile.tempdir = name
        before = descriptors(), threads()
        soak = Soak(options, Path(name))
        asyncio.run(soak.run())
        problems = soak.problems
        # A thread that was joined is one for the kernel for a moment more.
        end = time.monotonic() + PATIENCE
        while (after := (descriptors(), threads())) != before and time.monotonic() < end:
            time.sleep(0.01)
        if after != before:
            problems.append(f"descriptors and threads: {before} at the start, {after} at the end")
        problems += [f"at the end: process {one}" for one in (*children(), *processes(Path(name)))]
        problems += [f"at the end: {one}" for one in Path(name).glob("codemode-*")]
    print(*problems, f"{len(problems)} problems" if problems else "nothing left", sep="\n")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
