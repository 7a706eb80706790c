"""Examples on a running adapter: one process and one session for as many as have one policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from codemode_spec.programs import RunSpec

from codemode_conformance.adapter import Adapter
from codemode_conformance.channel import Channel, FaultError, UnsupportedError
from codemode_conformance.failures import ConformanceError, StartError
from codemode_conformance.identity import numbers_of, reconcile
from codemode_conformance.judge import Standing
from codemode_conformance.observation import End
from codemode_conformance.properties.agreement import Answer, Compared, compare, foresee
from codemode_conformance.properties.dialect import Dialect, dialect_of
from codemode_conformance.properties.releasing import ScriptedReplies
from codemode_conformance.trial import DEADLINE_MS, LF, LONGEST_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_spec.model.releases import Release

    from codemode_conformance.identity import Identity
    from codemode_conformance.install import Installed
    from codemode_conformance.observation import Run
    from codemode_conformance.properties.agreement import Foreseen
    from codemode_conformance.properties.example import Example

PATIENCE_SECONDS: Final = 1.0
"""How long replies are held back for calls that do not come."""

LONG_PATIENCE_SECONDS: Final = 4.0
"""The same where a disagreement is looked at again: a machine may be slow."""


class AdapterTrouble(ConformanceError):  # noqa: N818  it is no verdict on the target
    """The adapter or the surroundings failed, so that nothing can be compared."""


@dataclass(frozen=True)
class Performed:
    """One example: the prediction, what was seen, and whether they agree."""

    foreseen: Foreseen
    run: Run
    compared: Compared


class Performer:
    """Puts examples to a target; a context manager. Not to be shared between threads.

    `programs` counts what was run, `starts` the processes of the adapter.
    """

    def __init__(self, installed: Installed) -> None:
        target = installed.target
        if target.engine is None:
            raise StartError(f"{target.file}: the target has no [engine]")
        self.programs = 0
        self.starts = 0
        self._installed = installed
        self._command = target.engine
        self._adapter: Adapter | None = None
        self._session: int | None = None
        self._setting: Any = None
        self._opened: dict[str, Any] = {}
        adapter = self._start()
        self.identity: Identity = adapter.identity
        self.effective: Mapping[str, Any] = self._open_session(adapter, {}, [])
        reconcile(target, self.identity, self.effective)
        self.dialect: Dialect = dialect_of(self.identity, self.effective, target.profile)
        self.standing = Standing(
            self.identity.capabilities, self.identity.mapping, frozenset(self.identity.typed)
        )

    def __enter__(self) -> Self:
        """The performer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the adapter."""
        self.restart()

    def perform(self, example: Example, *, again: bool = True) -> Performed:
        """Run an example and compare.

        A disagreement is one only if a fresh process repeats it; without `again` that is left out.
        """
        first = self._once(example, PATIENCE_SECONDS)
        if first.compared.answer is not Answer.DIFFERS or not again:
            return first
        self.restart()
        second = self._once(example, LONG_PATIENCE_SECONDS)
        self.restart()
        return second

    def restart(self) -> None:
        """Take a fresh process for the next example."""
        adapter, self._adapter = self._adapter, None
        self._session = None
        if adapter is not None:
            adapter.stop()

    def _once(self, example: Example, patience: float) -> Performed:
        foreseen = foresee(example, self.dialect)
        try:
            run, released = self._run(example, foreseen, patience)
        except UnsupportedError as error:
            raise AdapterTrouble(f"the target cannot be asked: {error}") from None
        except FaultError as error:
            raise AdapterTrouble(f"{error.fault.side}: {error.fault.text}") from None
        self.programs += 1
        compared = compare(example, self.dialect, foreseen, run, released, self.standing)
        return Performed(foreseen, run, compared)

    def _run(
        self, example: Example, foreseen: Foreseen, patience: float
    ) -> tuple[Run, Sequence[Release]]:
        adapter = self._adapter or self._start()
        session = self._session_for(adapter, example)
        channel = self._channel(adapter)
        replies = ScriptedReplies(example.operations, adapter.canaries, foreseen.script, patience)
        channel.replies = replies
        program = example.source(self.dialect)
        before, after = self._opened["wrap"]
        uses_host = "host" in program
        prelude = f"{self._opened['prelude']}{LF}" if uses_host and self._opened["prelude"] else ""
        deadline = numbers_of(self._opened["effective"]).get("wall_time_ms") or DEADLINE_MS
        spec = RunSpec(program, uses_host, raw=False)
        seconds = min(deadline, LONGEST_MS) / 1_000
        live = channel.add(spec, session, before + prelude + program + after, {}, seconds)
        channel.wait()
        run = live.record()
        adapter.take_hits()
        adapter.take_noise()
        if channel.spoiled or adapter.gone is not None or run.end not in (End.VALUE, End.FAILURE):
            self.restart()
        return run, replies.released

    def _start(self) -> Adapter:
        try:
            self._adapter = Adapter(self._command, self._installed.values)
        except StartError as error:
            raise StartError(f"{self._installed.target.name}: {error}") from None
        self.starts += 1
        return self._adapter

    def _channel(self, adapter: Adapter) -> Channel:
        excluded = adapter.identity.alternatives.get("host_wait") == "excluded"
        return Channel(adapter, self._command.grace_ms, host_wait_excluded=excluded)

    def _session_for(self, adapter: Adapter, example: Example) -> int:
        """The open session, if it has the policy and operations of the example; else a new one."""
        ops = [
            {"name": spec.name, "effect": spec.effect, "arguments": dict(spec.arguments)}
            for spec in example.operations
        ]
        setting = (dict(example.policy), ops)
        adapter.watch(numbers_of(self.effective).get("memory_bytes"))
        if self._session is None or self._setting != setting:
            if self._session is not None:
                self._channel(adapter).close(self._session)
                self._session = None
            effective = self._open_session(adapter, example.policy, ops)
            wrong = [row for row, n in example.policy.items() if effective[row]["value"] != n]
            if wrong:
                told = ", ".join(f"{row} = {effective[row]['value']}" for row in wrong)
                raise AdapterTrouble(f"it was told another policy and opened with {told}")
            self._setting = setting
        assert self._session is not None
        return self._session

    def _open_session(
        self, adapter: Adapter, policy: Mapping[str, int], ops: list[dict[str, Any]]
    ) -> Mapping[str, Any]:
        try:
            answer = self._channel(adapter).open(policy, ops)
        except FaultError as error:
            raise AdapterTrouble(f"{error.fault.side}: {error.fault.text}") from None
        if answer["m"] == "refused":
            raise AdapterTrouble(f"the target refuses {dict(policy)}: {answer['category']}")
        self._opened, self._session = answer, answer["s"]
        self._setting = (dict(policy), ops)
        effective: Mapping[str, Any] = answer["effective"]
        return effective
