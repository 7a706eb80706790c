"""The parent: owns the operations, starts one fresh worker for each invocation."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from codemode_spec.tables import DEFAULT_PROFILE, load_tables

from codemode_reference import direct, scratch, wire
from codemode_reference.bundle import worker_program
from codemode_reference.capacity import Capacity, InUse
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, PolicyError, failure
from codemode_reference.evidence import SUCCEEDED, Fate, Statistics, effects, evidence_of
from codemode_reference.fairness import Slots
from codemode_reference.filters import Filters
from codemode_reference.operations import Catalogue, Operation
from codemode_reference.options import NO_OPTIONS, Options
from codemode_reference.policy import invalid_field
from codemode_reference.protection import install, unknown
from codemode_reference.rate import Rates
from codemode_reference.records import Keeping
from codemode_reference.rules import frame_rules
from codemode_reference.run import Host, Run
from codemode_reference.session import Session
from codemode_reference.stop import Stop
from codemode_reference.strict_json import MAX_SAFE
from codemode_reference.surface import Surface
from codemode_reference.workers import StartedAhead, Workers, pool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

    from codemode_reference.actions import Outcome
    from codemode_reference.capacity import Place as WorkerPlace
    from codemode_reference.evidence import CallRecord, Evidence, Stats
    from codemode_reference.history import History
    from codemode_reference.run import Hook

# Of fifteen digits at most, which the strict reader takes in its stride.
_IDS = 10**15 - 1
_RATE = "executions_per_minute"
_TOLD = ("cumulative_host_result_bytes", "history_headroom_bytes")


def default_policy(profile: str = DEFAULT_PROFILE) -> dict[str, int]:
    """Every row of the profile with its default: change what you need and pass it to `Parent`."""
    return load_tables().profiles[profile].defaults()


class _Asked(NamedTuple):
    """What a client asks for: a program, what it may do, how it ends early, who is told of it."""

    source: str
    catalogue: Catalogue
    stop: Stop
    records: list[CallRecord]
    options: Options
    stats: Callable[[Stats], None] | None


class _Invocation(NamedTuple):
    """One admitted program: what it runs under."""

    asked: _Asked
    host: Host
    head: bytes
    source: bytes
    slot: WorkerPlace


class Parent:
    """Runs programs against `operations`, each one in a process of its own.

    `profile` is one of the specification, `policy` names every row of it (default: that of
    `default_policy`). `worker_command` replaces the worker program. `require_hardening` refuses a
    machine where a layer of `protection` is missing, `started_ahead` keeps workers ready: the
    pool of the policy, if it has one, from the first program or `ready` on. Calls are kept in
    `history`, where there is one; `hook` is asked before each of them. Where the profile has
    groups, `surface` names their methods; where it has an admission, `filtered` is whether blocked
    patterns are looked for, and rates are counted by `clock`, in seconds. Raises PolicyError for a
    policy or catalogue that is not valid, RuntimeError where no thread can be started. Several
    invocations may run at once; `close` when done.
    """

    def __init__(  # noqa: PLR0913  what few need is given by name
        self,
        policy: Mapping[str, object] | None = None,
        operations: Sequence[Operation] = (),
        *,
        profile: str = DEFAULT_PROFILE,
        worker_command: Sequence[str] | None = None,
        require_hardening: bool = False,
        started_ahead: StartedAhead | int | None = None,
        history: History | None = None,
        hook: Hook | None = None,
        surface: Surface | None = None,
        filtered: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tables = load_tables()
        self._profile = self._tables.profiles[profile]
        # The module admission comes with the row that it keeps.
        admits = _RATE in self._profile.rows
        self._filters = Filters(self._tables.admission) if admits and filtered else None
        self._rates = Rates(self._tables.admission) if admits else None
        self._clock = clock
        grouped = self._profile.alternatives["arguments"] == "positional"
        surface = (surface or Surface()) if grouped else None
        self.history = history
        self.catalogue = Catalogue(operations, surface, self._filters)
        self._rules = frame_rules(self._tables, self._profile)
        rows = default_policy(profile) if policy is None else policy
        self.policy, self._head = self._valid(rows)
        # Before there is a directory to clean up: without an engine this fails.
        program = b"" if worker_command else worker_program(profile)
        self._scratch = scratch.Scratch()
        try:
            if worker_command:
                words, self.protection = list(worker_command), unknown("not our worker")
            else:
                words, self.protection = install(self._scratch.path, program)
            if require_hardening:
                self.protection.require()
            self._pooled = started_ahead is None
            if isinstance(started_ahead, int):
                started_ahead = StartedAhead(started_ahead)
            ahead = pool(self.policy) if started_ahead is None else started_ahead
            self._workers = Workers(words, self._scratch, ahead, self._room)
        except BaseException:
            self._scratch.close()
            raise
        self._capacity = Capacity(self.policy)
        slots = Slots(self.policy["server_host_operations"])
        excluded = self._profile.alternatives["host_wait"] == "excluded"
        self._host = Host(self.policy, slots, self._keep, excluded, hook, metered=admits)
        self._host_work: set[asyncio.Task[None]] = set()
        # What is still to end: how to cancel it, and how to wait for it.
        self._live: dict[Stop, asyncio.Future[None]] = {}
        self._closed = False
        self.statistics = Statistics()
        self.last_stats: Stats | None = None

    async def invoke(  # noqa: PLR0913  what few need is given by name
        self,
        source: str,
        *,
        cancel: asyncio.Event | None = None,
        grants: Collection[str] | None = None,
        evidence: Callable[[Evidence], None] | None = None,
        options: Options = NO_OPTIONS,
        stats: Callable[[Stats], None] | None = None,
    ) -> Outcome:
        """Run one program to its one outcome. Never raises for what a program or worker does.

        `cancel` ends it with `cancelled`. Cancelling the calling task kills the worker too.
        `grants` names the operations that it may use (default: all). `evidence` is given what was
        done, whatever the outcome; so is the record of the call, if an operation runs the program.
        `options` are those of the profile, `stats` is given what its worker used.
        Raises RuntimeError once the parent is closed, TypeError for a source that is no str,
        ValueError for an unknown grant.
        """
        records: list[CallRecord] = []
        catalogue = self.catalogue.restricted(grants, readonly=options.readonly)
        if type(source) is not str:
            raise TypeError(f"the source of a program is a str, not {type(source).__name__}")
        if self._closed:
            raise RuntimeError("this parent is closed and runs no more programs: make a new one")
        code: str | None = Code.cancelled
        try:
            asked = _Asked(source, catalogue, Stop(cancel), records, options, stats)
            outcome = await self._admit(asked)
            code = outcome.code if isinstance(outcome, Failure) else None
        finally:
            self.statistics.count_outcome(code)
            self._tell(evidence_of(code or SUCCEEDED, records), evidence)
        return outcome

    async def call(self, operation: str, arguments: Any, *, client: int) -> Outcome:
        """Call one operation directly; KeyError for one that is not there. See `direct.call`.

        `client` is a number of whoever calls, who keeps what it opens.
        """
        return await direct.call(self._host, self.catalogue, operation, arguments, client)

    @property
    def in_use(self) -> InUse:
        """What is taken of the server's slots, with the calls that wait for one."""
        turns = self._host.slots.turns
        taken = self._capacity.invocations, self._capacity.workers
        return InUse(*taken, self._workers.waiting, turns.running, turns.waiting)

    async def ready(self) -> None:
        """Wait until the workers that are started ahead have been started."""
        await self._workers.filled()

    def change_policy(self, policy: Mapping[str, object]) -> None:
        """Use another policy for the programs that come; raises PolicyError if it is not valid.

        Workers that wait are ended.
        """
        self.policy, self._head = self._valid(policy)
        self._capacity.policy = self.policy
        self._host = replace(self._host, policy=self.policy)
        self._host.slots.turns.limit = self.policy["server_host_operations"]
        if self._pooled:
            self._workers.change(pool(self.policy))
        else:
            self._workers.empty()

    async def close(self) -> None:
        """End what still runs with `cancelled`, wait for it, remove the parent's directory.

        Host work that is still winding down is cancelled and waited for, at most `reap_ms`. May be
        called twice.
        """
        self._closed = True
        for stop in self._live:
            stop.ask()
        patience = self.policy["reap_ms"] / 1000
        try:
            while self._live:
                await asyncio.wait(self._live.values())
            for task in self._host_work:
                task.cancel()
            if self._host_work:
                await asyncio.wait(self._host_work, timeout=patience)
        finally:
            try:
                await self._workers.close(patience)
            finally:
                self._scratch.close()

    async def _admit(self, asked: _Asked) -> Outcome:
        policy = asked.options.applied(self.policy, self._profile.alternatives["options"])
        if isinstance(policy, Failure):
            return policy
        encoded = self._refuse_source(asked.source)
        if isinstance(encoded, Failure):
            return encoded
        refused = self._too_often(asked.options.client) or self._capacity.refusal()
        if refused is not None:
            return refused
        # A later policy is for later programs.
        head = self._head
        if asked.catalogue is not self.catalogue or policy is not self.policy:
            head = wire.execute_head(
                self._execute_fields(policy, asked.catalogue, asked.options.in_force)
            )
        host = replace(self._host, policy=policy, progress=asked.options.progress)
        finished = self._live[asked.stop] = asyncio.get_running_loop().create_future()
        try:
            with self._capacity.invocation():
                slot = self._capacity.worker()
                if self._rates is not None:
                    self._rates.record(asked.options.client, self._clock() * 1000)
                return await self._with_worker(_Invocation(asked, host, head, encoded, slot))
        finally:
            del self._live[asked.stop]
            finished.set_result(None)
            # When the outcome is on its way.
            asyncio.get_running_loop().call_soon(self._workers.fill)

    def _refuse_source(self, source: str) -> bytes | Failure:
        """The source as it stands in a frame, or why it is refused for itself."""
        limit = self.policy["source_bytes"]
        encoded = wire.encode_source(source, limit, self._tables.execute_parts)
        if isinstance(encoded, Failure) or self._filters is None:
            return encoded
        blocked = self._filters.in_program(source)
        return encoded if blocked is None else failure(Code.pattern_blocked, pattern=blocked)

    def _too_often(self, client: Hashable) -> Failure | None:
        if self._rates is None:
            return None
        return self._rates.refusal(client, self.policy[_RATE], self._clock() * 1000)

    async def _with_worker(self, invocation: _Invocation) -> Outcome:
        (_, catalogue, stop, records, _, told), host, head, source, slot = invocation
        try:
            place = await self._workers.take()
        except asyncio.CancelledError:
            slot.release()
            raise
        try:
            place = place or await self._workers.start(stop, slot.release)
        except OSError:
            slot.release()
            return failure(Code.worker_start_failed)
        if place is None:
            slot.release()
            return failure(Code.cancelled)
        # The worker is starting: what follows costs no time.
        number = secrets.randbelow(_IDS) + 1
        table = self._tables.endpoints["parent"]
        keeping = Keeping(records, self.history, host.hook is not None)
        session = Session(number, host.policy, catalogue, table, self._rules, keeping)
        run = Run(place.worker, session, catalogue, host, slot.release)
        self.last_stats = run.stats
        try:
            execute = wire.execute(head, number, source, self._budgets(host.policy))
            return await run.outcome(execute, stop)
        finally:
            self.statistics.count_worker(run.stats)
            try:
                if not run.end():
                    # To the end, even if the calling task is cancelled once more.
                    await asyncio.shield(asyncio.ensure_future(run.gone()))
            finally:
                self._workers.tidy(place)
                if told is not None:
                    told(run.stats)

    def _tell(self, found: Evidence, evidence: Callable[[Evidence], None] | None) -> None:
        record = effects.get()
        # Of a call that is still open there is no doubt whose it is.
        if record is not None and record.fate is Fate.unknown:
            record.inside.append(found)
        if evidence is not None:
            evidence(found)

    def _valid(self, policy: Mapping[str, object]) -> tuple[dict[str, int], bytes]:
        """The policy and the part of `execute` that says it."""
        values: dict[str, Any] = dict(policy)
        wrong = invalid_field(values, self._profile.rows.values())
        if wrong is not None:
            raise PolicyError(Code.invalid_policy, wrong)
        fields = self._execute_fields(values, self.catalogue)
        longest = dict.fromkeys(self._budgets(values) or (), MAX_SAFE)
        if not wire.rest_fits({**fields, "budgets": longest}, self._tables.execute_parts):
            raise PolicyError(Code.invalid_policy, "operations")
        return values, wire.execute_head(fields)

    def _execute_fields(
        self, policy: Mapping[str, int], catalogue: Catalogue, in_force: Sequence[str] = ()
    ) -> dict[str, Any]:
        rows = self._profile.rows.values()
        return {
            "v": self._tables.protocol_version,
            "limits": {row.name: policy[row.name] for row in rows if row.in_execute},
            "alternatives": {**self._rules["alternatives"], "options": list(in_force)},
            "operations": catalogue.described(),
        }

    def _budgets(self, policy: Mapping[str, int]) -> dict[str, int] | None:
        """What `budget()` tells of what is kept here, in a profile that has it."""
        if "host_batch" not in self._rules["extra"]:
            return None
        told = {name: policy[name] for name in _TOLD}
        return told if self.history is None else {**told, "history_bytes": self.history.left}

    def _room(self) -> int:
        return self.policy["server_workers"] - self._capacity.workers

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._host_work.add(task)
        task.add_done_callback(self._host_work.discard)
