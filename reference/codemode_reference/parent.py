"""The parent: owns the operations, starts one fresh worker for each invocation."""

from __future__ import annotations

import asyncio
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import DEFAULT_PROFILE, load_tables

from codemode_reference import process, scratch, wire
from codemode_reference.bundle import worker_program
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, PolicyError, failure
from codemode_reference.operations import Catalogue, Operation
from codemode_reference.policy import invalid_field
from codemode_reference.rules import frame_rules
from codemode_reference.run import Run, Stats
from codemode_reference.session import Session
from codemode_reference.strict_json import MAX_SAFE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from codemode_reference.session import Outcome


def default_policy() -> dict[str, int]:
    """Every row of the profile with its default: change what you need and pass it to `Parent`."""
    return load_tables().profiles[DEFAULT_PROFILE].defaults()


class Parent:
    """Runs programs against `operations`, each one in a process of its own.

    `policy` names every row of the profile (see `default_policy`). `worker_command` replaces the
    worker program. Raises PolicyError for a policy or catalogue that is not valid. Several
    invocations may run at once; `close` when done.
    """

    def __init__(
        self,
        policy: Mapping[str, object] | None = None,
        operations: Sequence[Operation] = (),
        *,
        worker_command: Sequence[str] | None = None,
    ) -> None:
        if sys.platform == "win32":
            raise NotImplementedError("the reference runs on Linux and macOS")
        self._tables = load_tables()
        self._profile = self._tables.profiles[DEFAULT_PROFILE]
        values: dict[str, Any] = dict(default_policy() if policy is None else policy)
        wrong = invalid_field(values, self._profile.rows.values())
        if wrong is not None:
            raise PolicyError(Code.invalid_policy, wrong)
        self.policy: dict[str, int] = values
        self._catalogue = Catalogue(operations)
        self._rules = frame_rules(self._tables, self._profile)
        fields = self._execute_fields(MAX_SAFE)
        if not wire.rest_fits(fields, self._tables.execute_parts):
            raise PolicyError(Code.invalid_policy, "operations")
        # Before there is a directory to clean up: without an engine this fails.
        program = b"" if worker_command else worker_program()
        self._scratch = scratch.Scratch()
        self._command = list(worker_command or self._install_worker(program))
        # One thread for as long as this parent lives: a worker may be tied to the life of the
        # thread that started it.
        self._spawner = ThreadPoolExecutor(1, thread_name_prefix="codemode-spawn")
        self._host_work: set[asyncio.Task[None]] = set()
        self.last_stats: Stats | None = None

    async def invoke(self, source: str, *, cancel: asyncio.Event | None = None) -> Outcome:
        """Run one program to its one outcome. Never raises for what a program or worker does.

        `cancel` ends it with `cancelled`. Cancelling the calling task kills the worker too.
        """
        encoded = wire.encode_source(
            source, self.policy["source_bytes"], self._tables.execute_parts
        )
        if isinstance(encoded, Failure):
            return encoded
        try:
            folder = self._scratch.make()
        except OSError:
            return failure(Code.worker_start_failed)
        try:
            return await self._with_worker(folder, encoded, cancel)
        finally:
            scratch.remove(folder)

    async def close(self) -> None:
        """Cancel host work that is still winding down and remove the parent's directory."""
        for task in self._host_work:
            task.cancel()
        if self._host_work:
            await asyncio.wait(self._host_work, timeout=self.policy["reap_ms"] / 1000)
        self._spawner.shutdown()
        self._scratch.close()

    async def _with_worker(
        self, folder: Path, source: bytes, cancel: asyncio.Event | None
    ) -> Outcome:
        starting = self._spawner.submit(process.start, self._command, folder)
        try:
            worker = await asyncio.wrap_future(starting)
        except OSError:
            return failure(Code.worker_start_failed)
        except asyncio.CancelledError:
            starting.add_done_callback(_discard)
            raise
        invocation_id = secrets.randbelow(MAX_SAFE) + 1
        session = Session(
            invocation_id,
            self.policy,
            self._catalogue,
            self._tables.endpoints["parent"],
            self._rules,
        )
        run = Run(worker, session, self.policy, self._catalogue, self._keep)
        self.last_stats = run.stats
        try:
            execute = wire.execute(self._execute_fields(invocation_id), source)
            return await run.outcome(execute, cancel)
        finally:
            # To the end, even if the calling task is cancelled once more.
            await asyncio.shield(asyncio.ensure_future(run.tear_down()))

    def _execute_fields(self, invocation_id: int) -> dict[str, Any]:
        rows = self._profile.rows.values()
        return {
            "v": self._tables.protocol_version,
            "invocation_id": invocation_id,
            "limits": {row.name: self.policy[row.name] for row in rows if row.in_execute},
            "alternatives": self._rules["alternatives"],
            "operations": self._catalogue.described(),
        }

    def _install_worker(self, program: bytes) -> list[str]:
        path = self._scratch.path / "worker.pyc"
        path.write_bytes(program)
        return [sys.executable, "-I", "-S", "-E", str(path)]

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._host_work.add(task)
        task.add_done_callback(self._host_work.discard)


def _discard(starting: Future[process.Worker]) -> None:
    """End a worker that nobody waits for any more."""
    if starting.cancelled() or starting.exception() is not None:
        return
    worker = starting.result()
    worker.kill()
    worker.reap()
    worker.close()
