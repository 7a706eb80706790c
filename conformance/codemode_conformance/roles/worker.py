"""The worker role: the suite is the parent and speaks frames to a fresh worker for each program."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from codemode_spec.cases import WRAPPER
from codemode_spec.failures import NotApplicable
from codemode_spec.programs import PLAIN
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

from codemode_conformance.failures import StartError
from codemode_conformance.identity import Identity, identity_of, numbers_of
from codemode_conformance.layers import describe
from codemode_conformance.leaks import leaks_of
from codemode_conformance.observation import CanaryHit, Fault, Health, Observation, Run
from codemode_conformance.premises import Premises
from codemode_conformance.roles.exchange import Exchange
from codemode_conformance.roles.given_up import given_up
from codemode_conformance.trial import HEALTHY, Attempt, health_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_spec import Case, ReadyCase
    from codemode_spec.cases import OperationSpec
    from codemode_spec.programs import RunSpec

    from codemode_conformance.install import Installed
    from codemode_conformance.transcript import Transcript

PATIENCE_SECONDS: Final = 15.0
"""How long beyond its deadline and the grace a worker is waited for: busy machines make it late."""

LF: Final = "\n"
LEGAL: Final = ({"send": "execute"}, {"read": "result"})
"""What a parent without any fault does for a program that makes no calls."""


class WorkerRole:
    """A target's worker command; every program has a process of its own.

    What it promises is the contract under the profile that its target file names.
    """

    def __init__(self, installed: Installed, transcript: Transcript | None = None) -> None:
        target = installed.target
        if target.worker is None:
            raise StartError(f"{target.file}: the target has no [worker]")
        self.starts = 0
        self.traces = False
        self.left: Counter[str] = Counter()
        self._installed = installed
        shared = tempfile.mkdtemp(prefix="cmconf-shared-")
        self._values = {**installed.values, "shared": shared}
        self._remove = weakref.finalize(self, shutil.rmtree, shared, ignore_errors=True)
        self._transcript = transcript
        self._command = target.worker
        profiles = load_tables().profiles
        name = target.worker.profile or target.profile or DEFAULT_PROFILE
        if name not in profiles:
            known = ", ".join(profiles)
            raise StartError(f"{target.file}: worker.profile {name!r}: it is one of {known}")
        self._profile = profiles[name]
        self._identity = self._claimed()

    def __enter__(self) -> Self:
        """The role itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    @property
    def effective(self) -> Mapping[str, Any]:
        """The defaults of the profile, which the suite sends as limits."""
        rows = self._profile.defaults()
        return {name: {"value": value, "from": "set"} for name, value in rows.items()}

    def start(self) -> Identity:
        """See that a worker runs a program; StartError when none does."""
        if self.starts == 0:
            run, _ = self._exchange(HEALTHY, (), {})
            if health_of(run) is not Health.HEALTHY:
                name = self._installed.target.name
                raise StartError(f"{name}: the worker does not run `{PLAIN}`: {describe(run)}")
        return self._identity

    def run(self, case: Case) -> Attempt:
        """Put one case to fresh workers. Whatever goes wrong is part of the observation."""
        fitted = case.fitted(self._identity.capabilities)
        wrapper = len((self._command.prelude + LF).encode()) if case.uses_host else 0
        rows = {**numbers_of(self.effective), WRAPPER: wrapper}
        try:
            ready = fitted.resolve(rows, dict(self._identity.alternatives), "javascript")
        except NotApplicable as reason:
            return Attempt(Observation(case.id, unsupported=str(reason)), None, spoiled=False)
        try:
            return Attempt(self._observe(fitted, ready), ready, spoiled=False)
        except (StartError, OSError, ValueError) as error:
            side = "surroundings" if isinstance(error, StartError) else "harness"
            fault = Fault(side, f"{type(error).__name__}: {error}")
            return Attempt(Observation(case.id, fault=fault), ready, spoiled=False)

    def restart(self) -> None:
        """Nothing: every program has a process of its own."""

    def close(self) -> None:
        """Delete what the workers shared."""
        self._remove()

    def _claimed(self) -> Identity:
        target = self._installed.target
        rows = [row.name for row in self._profile.rows.values() if row.in_execute and not row.fixed]
        return identity_of(
            {
                "target": target.name,
                "version": target.version,
                "language": ["javascript"],
                "settable": rows,
                "alternatives": {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in self._profile.alternatives.items()
                },
                # The suite is the parent: what an operation does is up to it.
                "capabilities": ["contract", "raw", "op.value", "op.ledger", "op.many"],
                "mapping": "typed",
            }
        )

    def _observe(self, case: Case, ready: ReadyCase) -> Observation:
        limits = {row: int(value) for row, value in case.set.items() if isinstance(value, int)}
        hits: list[CanaryHit] = []
        found: list[list[Run]] = [[], []]
        for place, specs in zip(found, (ready.runs, ready.then), strict=True):
            for spec in specs:
                watch = ready.asks_for_processes
                run, more = self._exchange(spec, ready.operations, limits, watch=watch)
                place.append(run)
                hits += more
        watched = ready.asks_for_processes
        after, detail = Health.NOT_ASKED, ""
        if case.after == "healthy":
            run, _ = self._exchange(HEALTHY, (), {})
            after = health_of(run)
            detail = "" if after is Health.HEALTHY else f"`{PLAIN}`: {describe(run)}"
        return Observation(
            case=case.id,
            runs=tuple(found[0]),
            then=tuple(found[1]),
            after=after,
            after_detail=detail,
            level=("B", "what a process has given up is looked at") if watched else ("", ""),
            canaries=tuple(dict.fromkeys(hits)),
            effective={**self._profile.defaults(), **limits},
        )

    def _exchange(
        self,
        spec: RunSpec,
        operations: Sequence[OperationSpec],
        limits: Mapping[str, int],
        *,
        watch: bool = False,
    ) -> tuple[Run, list[CanaryHit]]:
        premises = Premises(self._values)
        exchange = None
        self.starts += 1
        try:
            exchange = Exchange(
                self._command, premises, self._profile, operations, limits, self._transcript
            )
            facts = given_up(exchange.worker.pid) if watch else ()
            steps = spec.script or LEGAL
            wall = limits.get("wall_time_ms", self._profile.rows["wall_time_ms"].default)
            grace = self._profile.rows["kill_grace_ms"].default
            prelude = self._command.prelude + LF if spec.uses_host and not spec.raw else ""
            source = premises.canaries.fill(prelude + spec.program)
            run = exchange.play(steps, source, (wall + grace) / 1_000 + PATIENCE_SECONDS)
            run = replace(run, facts=facts)
            hits = leaks_of([run], "run", premises.find)
            return run, [*hits, *premises.take_hits()]
        finally:
            if exchange is not None:
                exchange.worker.end()
            premises.close()
