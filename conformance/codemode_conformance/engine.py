"""The engine role: cases put to a target through its adapter, one process for many cases."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Final, Self

from codemode_conformance.adapter import Adapter
from codemode_conformance.channel import Channel, FaultError, UnsupportedError
from codemode_conformance.failures import ConformanceError, StartError
from codemode_conformance.identity import Identity, numbers_of, reconcile
from codemode_conformance.observation import Fault, Observation
from codemode_conformance.tracing.tracer import Tracer, obstacle
from codemode_conformance.trial import Attempt, Trial

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from codemode_spec.cases import Case

    from codemode_conformance.install import Installed
    from codemode_conformance.roles.rig import Rig
    from codemode_conformance.target import Command, Target
    from codemode_conformance.transcript import Transcript

MOST_FAILED_STARTS: Final = 3
"""So many starts in a row may fail; each may take as long as a start is given."""


class Engine:
    """A target's engine, started when needed; use as a context manager, or call `close`.

    `starts` counts the adapter processes so far, `left` the command lines of what ran on when they
    had exited; with `traces` one that is asked for evidence of
    its processes is followed by a tracer, where that can be. Not to be shared between threads:
    parallel jobs use an engine each.
    """

    def __init__(self, installed: Installed, transcript: Transcript | None = None) -> None:
        self.starts = 0
        self.traces = True
        self.left: Counter[str] = Counter()
        self._failed_starts = 0
        self.effective: Mapping[str, Any] = {}
        self._installed = installed
        self._values = installed.values
        self._transcript = transcript
        self._command = self._chosen(installed.target)
        self._rig: Rig | None = None
        self._adapter: Adapter | None = None
        self._identity: Identity | None = None

    def __enter__(self) -> Self:
        """The engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def start(self, *, traced: bool = False) -> Identity:
        """Start the adapter unless it runs, and return who it is.

        The first time, the default policy is opened (see `effective`) and the claims are compared.
        StartError, ClaimError.
        """
        if self._adapter is None:
            try:
                adapter = Adapter(
                    self._command,
                    self._values,
                    transcript=self._transcript,
                    tracer=Tracer() if traced else None,
                )
            except StartError as error:
                raise StartError(f"{self._installed.target.name}: {error}") from None
            self._adapter = adapter
            self.starts += 1
            if self._identity is None:
                self.effective = self._defaults(adapter)
                reconcile(self._installed.target, adapter.identity, self.effective)
                self._identity = adapter.identity
            elif adapter.identity != self._identity:
                self.restart()
                raise StartError("started again, the adapter says something else of itself")
        assert self._identity is not None
        return self._identity

    def run(self, case: Case) -> Attempt:
        """Put one case to the target. Whatever goes wrong is part of the observation.

        Only the very first start raises, StartError or ClaimError.
        """
        if self._failed_starts >= MOST_FAILED_STARTS:
            text = f"it could not be started again {MOST_FAILED_STARTS} times, and was given up"
            return Attempt(Observation(case.id, fault=Fault("adapter", text)), None, spoiled=True)
        traced = self._to_be_traced(case)
        if self._adapter is not None and traced != (self._adapter.tracer is not None):
            self.restart()
        try:
            self.start(traced=traced)
            self._failed_starts = 0
        except ConformanceError as error:
            if self._identity is None:
                raise
            self._failed_starts += 1
            fault = Fault("adapter", f"it could not be started again: {error}")
            seen = Observation(case.id, fault=fault, traced=traced)
            return Attempt(seen, None, spoiled=True)
        assert self._adapter is not None
        rows = numbers_of(self.effective)
        attempt = Trial(self._adapter, case, self._command.grace_ms, rows, self._rig).perform()
        if attempt.spoiled or self._adapter.gone is not None:
            self.restart()
        return attempt

    def _to_be_traced(self, case: Case) -> bool:
        """Only where something rests on it: a traced process is slower, and not quite itself."""
        asked = self.traces and self._rig is None and self._command.worker_pattern is not None
        return asked and case.asks_for_processes and not obstacle()

    def ping(self, seconds: float) -> bool:
        """Whether the adapter, which must be started, answers a ping in this time."""
        assert self._adapter is not None
        channel = Channel(self._adapter, self._command.grace_ms, host_wait_excluded=False)
        with contextlib.suppress(FaultError):
            return channel.ping(seconds)
        return False

    def restart(self) -> None:
        """Take a fresh process for the next case."""
        self.close()

    def close(self) -> None:
        """Stop the adapter and all that came from it."""
        adapter, self._adapter = self._adapter, None
        if adapter is not None:
            adapter.stop()
            self.left += adapter.left

    def _chosen(self, target: Target) -> Command:
        if target.engine is None:
            raise StartError(f"{target.file}: the target has no [engine]")
        return target.engine

    def _defaults(self, adapter: Adapter) -> Mapping[str, Any]:
        channel = Channel(adapter, self._command.grace_ms, host_wait_excluded=False)
        try:
            answer = channel.open({}, [])
            if answer["m"] == "refused":
                raise StartError(f"it refuses its own default policy: {answer['category']}")
            channel.close(answer["s"])
        except (FaultError, UnsupportedError) as error:
            raise StartError(f"its default policy cannot be opened: {error}") from None
        effective: Mapping[str, Any] = answer["effective"]
        return effective
