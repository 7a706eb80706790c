"""The parent: owns the operations, starts one fresh worker for each invocation."""

from __future__ import annotations

import asyncio
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import DEFAULT_PROFILE, load_tables

from codemode_reference import direct, process, scratch, wire
from codemode_reference.bundle import worker_program
from codemode_reference.capacity import Capacity
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, PolicyError, failure
from codemode_reference.evidence import Statistics
from codemode_reference.fairness import Slots
from codemode_reference.operations import Catalogue, Operation
from codemode_reference.policy import invalid_field
from codemode_reference.rules import frame_rules
from codemode_reference.run import Host, Run
from codemode_reference.session import Session
from codemode_reference.strict_json import MAX_SAFE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from codemode_reference.evidence import Stats
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
        self.catalogue = Catalogue(operations)
        self._rules = frame_rules(self._tables, self._profile)
        fields = self._execute_fields(MAX_SAFE, self.catalogue)
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
        # What is still to end: how to cancel it, and how to wait for it.
        self._live: dict[asyncio.Event, asyncio.Future[None]] = {}
        self._closed = False
        self._capacity = Capacity(values)
        self._host = Host(values, Slots(values["server_host_operations"]), self._keep)
        self.statistics = Statistics()
        self.last_stats: Stats | None = None

    async def invoke(
        self,
        source: str,
        *,
        cancel: asyncio.Event | None = None,
        grants: Collection[str] | None = None,
    ) -> Outcome:
        """Run one program to its one outcome. Never raises for what a program or worker does.

        `cancel` ends it with `cancelled`. Cancelling the calling task kills the worker too.
        `grants` names the operations that it may use (default: all). Raises RuntimeError once the
        parent is closed, TypeError for a source that is no str, ValueError for an unknown grant.
        """
        catalogue = self.catalogue.restricted(grants)
        if type(source) is not str:
            raise TypeError(f"the source of a program is a str, not {type(source).__name__}")
        if self._closed:
            raise RuntimeError("this parent is closed and runs no more programs: make a new one")
        code: str | None = Code.cancelled
        try:
            outcome = await self._admit(source, cancel, catalogue)
            code = outcome.code if isinstance(outcome, Failure) else None
        finally:
            self.statistics.count_outcome(code)
        return outcome

    async def call(self, operation: str, arguments: Any, *, client: int) -> Outcome:
        """Call one operation directly; KeyError for one that is not there. See `direct.call`.

        `client` is a number of whoever calls, who keeps what it opens.
        """
        return await direct.call(self._host, self.catalogue, operation, arguments, client)

    async def _admit(
        self, source: str, cancel: asyncio.Event | None, catalogue: Catalogue
    ) -> Outcome:
        encoded = wire.encode_source(
            source, self.policy["source_bytes"], self._tables.execute_parts
        )
        if isinstance(encoded, Failure):
            return encoded
        refused = self._capacity.refusal()
        if refused is not None:
            return refused
        stop = asyncio.Event()
        finished = self._live[stop] = asyncio.get_running_loop().create_future()
        cancels = [stop] if cancel is None else [stop, cancel]
        try:
            with self._capacity.invocation():
                return await self._in_folder(encoded, cancels, catalogue)
        finally:
            del self._live[stop]
            finished.set_result(None)

    async def close(self) -> None:
        """End what still runs with `cancelled`, wait for it, remove the parent's directory.

        Host work that is still winding down is cancelled and waited for, at most `reap_ms`. May be
        called twice.
        """
        self._closed = True
        for stop in self._live:
            stop.set()
        try:
            while self._live:
                await asyncio.wait(self._live.values())
            for task in self._host_work:
                task.cancel()
            if self._host_work:
                await asyncio.wait(self._host_work, timeout=self.policy["reap_ms"] / 1000)
        finally:
            self._spawner.shutdown()
            self._scratch.close()

    async def _in_folder(
        self, source: bytes, cancels: Sequence[asyncio.Event], catalogue: Catalogue
    ) -> Outcome:
        try:
            folder = self._scratch.make()
        except OSError:
            return failure(Code.worker_start_failed)
        try:
            return await self._with_worker(folder, source, cancels, catalogue)
        finally:
            scratch.remove(folder)

    async def _with_worker(
        self,
        folder: Path,
        source: bytes,
        cancels: Sequence[asyncio.Event],
        catalogue: Catalogue,
    ) -> Outcome:
        place = self._capacity.worker()
        starting = self._spawner.submit(self._start, folder, cancels)
        try:
            worker = await asyncio.wrap_future(starting)
        except OSError:
            place.release()
            return failure(Code.worker_start_failed)
        except asyncio.CancelledError:
            loop = asyncio.get_running_loop()
            starting.add_done_callback(partial(_discard, loop, place.release))
            raise
        if worker is None:
            place.release()
            return failure(Code.cancelled)
        invocation_id = secrets.randbelow(MAX_SAFE) + 1
        session = Session(
            invocation_id,
            self.policy,
            catalogue,
            self._tables.endpoints["parent"],
            self._rules,
        )
        run = Run(worker, session, catalogue, self._host, place.release)
        self.last_stats = run.stats
        try:
            execute = wire.execute(self._execute_fields(invocation_id, catalogue), source)
            return await run.outcome(execute, cancels)
        finally:
            self.statistics.count_worker(run.stats)
            # To the end, even if the calling task is cancelled once more.
            await asyncio.shield(asyncio.ensure_future(run.tear_down()))

    def _start(self, folder: Path, cancels: Sequence[asyncio.Event]) -> process.Worker | None:
        # Others may have been started before it while it waited for the thread.
        if any(cancel.is_set() for cancel in cancels):
            return None
        return process.start(self._command, folder)

    def _execute_fields(self, invocation_id: int, catalogue: Catalogue) -> dict[str, Any]:
        rows = self._profile.rows.values()
        return {
            "v": self._tables.protocol_version,
            "invocation_id": invocation_id,
            "limits": {row.name: self.policy[row.name] for row in rows if row.in_execute},
            "alternatives": self._rules["alternatives"],
            "operations": catalogue.described(),
        }

    def _install_worker(self, program: bytes) -> list[str]:
        path = self._scratch.path / "worker.pyc"
        path.write_bytes(program)
        return [sys.executable, "-I", "-S", "-E", str(path)]

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._host_work.add(task)
        task.add_done_callback(self._host_work.discard)


def _discard(
    loop: asyncio.AbstractEventLoop,
    release: Callable[[], None],
    starting: Future[process.Worker | None],
) -> None:
    """End a worker that nobody waits for any more, and give its place back."""
    if not starting.cancelled() and starting.exception() is None:
        worker = starting.result()
        if worker is not None:
            worker.kill()
            worker.reap()
            worker.close()
    # Without a loop there is nobody left to count.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(release)
