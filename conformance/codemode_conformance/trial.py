"""One case on one running adapter: from `open` to what was observed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.cases import WRAPPER
from codemode_spec.failures import NotApplicable
from codemode_spec.programs import RunSpec
from codemode_spec.tables import load_tables

from codemode_conformance import fitting
from codemode_conformance.channel import Channel, FaultError, UnsupportedError
from codemode_conformance.escape import quoted
from codemode_conformance.failures import HarnessError
from codemode_conformance.identity import numbers_of
from codemode_conformance.layers import describe
from codemode_conformance.leaks import leaks_of
from codemode_conformance.observation import (
    OFFERED,
    End,
    Fault,
    Health,
    Observation,
    Run,
    Value,
)
from codemode_conformance.refusals import is_verdict
from codemode_conformance.replies import Replies
from codemode_conformance.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.cases import Case, ReadyCase
    from codemode_spec.expectations import Expectation

    from codemode_conformance.adapter import Adapter
    from codemode_conformance.liverun import LiveRun
    from codemode_conformance.roles.rig import Rig

LF: Final = "\n"
HEALTH_TRIES: Final = 3
"""How often the next program may pass a deadline that the case made short: a start takes time."""

AMPLE: Final = 0.5
"""The part of a deadline within which a program that does nothing ends on a machine that is fast
enough; if it takes more, that another one did not end in time says nothing."""

LONGEST_MS: Final = 300_000
"""How long a run is waited for, whatever deadline the target names."""

POLICY_AREA: Final = "POL"

DEADLINE_MS: Final = 10_000
"""The deadline of a run where the target names none."""

HEALTHY: Final = RunSpec(program="return 1", uses_host=False, raw=True)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of a case: the observation, and the case as it was put to the target.

    `ready` is None when the case could not be put at all; `spoiled` asks for a fresh adapter.
    """

    observation: Observation
    ready: ReadyCase | None
    spoiled: bool


@dataclass(slots=True)
class _Seen:
    """What has been observed so far."""

    runs: list[LiveRun] = field(default_factory=list)
    then: list[LiveRun] = field(default_factory=list)
    refused: Run | None = None
    after: Health = Health.NOT_ASKED
    after_detail: str = ""
    effective: Mapping[str, Any] = field(default_factory=dict)
    unsupported: str | None = None
    fault: Fault | None = None


class Trial:
    """Puts one case to an adapter. `rows` are the numbers of the target's default policy.

    `rig` is the worker that the target was told to start, where it is ours.
    """

    def __init__(
        self,
        adapter: Adapter,
        case: Case,
        grace_ms: int,
        rows: Mapping[str, int],
        rig: Rig | None = None,
    ) -> None:
        self._rig = rig
        self._witness = Witness(adapter, rig)
        self._adapter = adapter
        self._identity = adapter.identity
        self._case = case.fitted(adapter.identity.capabilities)
        self._rows = rows
        excluded = self._identity.alternatives.get("host_wait") == "excluded"
        self._channel = Channel(adapter, grace_ms, host_wait_excluded=excluded)
        self._opened: dict[str, Any] = {}
        self._host: dict[str, Any] = {}
        self._options: dict[str, Any] = {}
        self._ready: ReadyCase | None = None
        self._capped = False
        self._seen = _Seen()

    def perform(self) -> Attempt:
        """Do it all; faults are part of the observation."""
        seen, channel = self._seen, self._channel
        try:
            self._perform()
        except UnsupportedError as error:
            seen.unsupported = str(error)
        except NotApplicable as error:
            seen.unsupported = str(error)
        except FaultError as error:
            seen.fault = error.fault
            channel.spoiled = True
        except HarnessError as error:
            seen.fault = Fault("harness", quoted(str(error)))
            channel.spoiled = True
        except Exception as error:  # noqa: BLE001  one case must not end the others
            seen.fault = Fault("harness", f"{type(error).__name__}: {quoted(str(error))}")
            channel.spoiled = True
        return Attempt(self._observation(), self._ready, channel.spoiled)

    def _perform(self) -> None:
        identity = self._identity
        policy, self._options = fitting.policy_of(self._case, identity)
        self._adapter.watch(self._rows.get("memory_bytes"))
        self._host = fitting.host_of(self._case, identity, self._rows)
        fitting.check_asked(self._case, identity)
        answer = self._channel.open(policy, self._case.ops, self._host)
        if answer["m"] == "refused":
            self._refused(answer)
            return
        self._opened = answer
        if self._case.area != POLICY_AREA:
            fitting.check_set(policy, answer["effective"])
        numbers = numbers_of(answer["effective"])
        self._adapter.watch(numbers.get("memory_bytes"))
        numbers[WRAPPER] = self._wrapper_bytes()
        offered = dict.fromkeys(identity.settable, OFFERED)
        named = {
            row: offered.get(row, "none") if entry["value"] == "none" else entry["value"]
            for row, entry in answer["effective"].items()
        }
        self._seen.effective = named | {WRAPPER: numbers[WRAPPER]}
        sessions = [int(answer["s"])]
        try:
            self._ready = ready = self._resolve(numbers)
            canaries = self._adapter.canaries
            self._channel.replies = Replies(ready.operations, canaries, self._nested)
            sessions += self._more_sessions(len(ready.runs), policy)
            if self._witness.look_for_workers(ready):
                self._channel.last_look = self._look_at_orphans
            self._run(ready, sessions)
        except (UnsupportedError, NotApplicable):
            self._close(sessions)
            raise
        finally:
            self._witness.stop()
        if self._case.after == "healthy":
            self._check_health(sessions[0])
        gone = self._adapter.gone
        if gone is not None and self._seen.after is Health.HEALTHY:
            raise FaultError("adapter", f"outside of a run: {gone.text}")
        self._close(sessions)

    def _resolve(self, numbers: Mapping[str, int]) -> ReadyCase:
        identity = self._identity
        language = fitting.language_of(self._case, identity)
        return self._case.resolve(numbers, dict(identity.alternatives), language)

    def _wrapper_bytes(self) -> int:
        before, after = self._opened["wrap"]
        prelude = self._opened["prelude"] if self._case.uses_host else ""
        try:
            return len(f"{before}{prelude}{LF if prelude else ''}{after}".encode())
        except UnicodeEncodeError:
            raise FaultError("adapter", "its prelude or its wrap is no Unicode text") from None

    def _refused(self, answer: Mapping[str, Any]) -> None:
        """A refusal at `open` is an outcome only for a case about the policy: nothing ran."""
        self._ready = ready = self._resolve({**self._rows, WRAPPER: 0})
        if self._case.area != POLICY_AREA:
            self._note_surroundings(answer, ready.expected[0])
            if self._seen.fault is None and not self._case.set:
                raise FaultError("adapter", f"it refuses to open a session: {answer['category']}")
            values = ", ".join(f"{row} = {value}" for row, value in self._case.set.items())
            raise UnsupportedError(f"the target refuses {values}")
        self._seen.refused = Run(
            program=ready.runs[0].program,
            end=End.FAILURE,
            elapsed_ms=0.0,
            category=answer["category"],
            error=answer.get("error"),
            native=answer["native"],
            stage="open",
        )
        self._note_surroundings(answer, ready.expected[0])
        if self._case.after != "healthy":
            return
        self._opened = self._channel.open({}, [])
        if self._opened["m"] == "refused":
            self._seen.after = Health.UNHEALTHY
            self._seen.after_detail = "the default policy is refused afterwards"
            return
        self._check_health(self._opened["s"])
        self._close([self._opened["s"]])

    def _more_sessions(self, runs: int, policy: Mapping[str, Any]) -> list[int]:
        identity = self._identity
        needed = -(-runs // identity.runs_per_session)
        if needed > identity.sessions:
            raise UnsupportedError(
                f"{runs} runs at once need {needed} sessions; the target has {identity.sessions}"
            )
        answers = [
            self._channel.open(policy, self._case.ops, self._host) for _ in range(needed - 1)
        ]
        if any(answer["m"] == "refused" for answer in answers):
            raise FaultError("surroundings", "a further session with the same policy is refused")
        return [answer["s"] for answer in answers]

    def _run(self, ready: ReadyCase, sessions: list[int]) -> None:
        channel, seen = self._channel, self._seen
        per_session = self._identity.runs_per_session
        for index, spec in enumerate(ready.runs):
            fitting.check_values(ready, self._identity)
            seen.runs.append(self._add(spec, sessions[index // per_session], self._options))
        channel.wait()
        self._note_worker(seen.runs[0])
        if self._capped and any(run.forced or run.end is End.NO_OUTCOME for run in seen.runs):
            # Before its own deadline a target may go on.
            raise FaultError("surroundings", f"no end within {LONGEST_MS} ms, before its deadline")
        for run, expected in zip(seen.runs, ready.expected, strict=True):
            self._note_surroundings(run.outcome or {}, expected)
        for spec, expected in zip(ready.then, ready.then_expected, strict=True):
            if self._adapter.gone is not None:
                break
            self._let_time_pass(spec, sessions[0])
            self._witness.look_at_work(expected)
            seen.then.append(self._add(spec, sessions[0], self._options))
            channel.wait()
            self._note_worker(seen.then[-1])
            self._note_surroundings(seen.then[-1].outcome or {}, expected)
        if "call_cancelled" in self._identity.capabilities:
            channel.wait_for_cancel_news()
        if ready.case.linger_ms:
            channel.linger(ready.case.linger_ms / 1_000)
        named = {name for e in ready.expected if e for legal in e.any_of for name in legal.canaries}
        if "file" in named and not self._adapter.canaries.intact():
            raise FaultError("surroundings", "the planted file is gone or changed")

    def _let_time_pass(self, spec: RunSpec, session: int) -> None:
        """What a follow-up wants before it: by the scripted clock, or by the true one."""
        if spec.advance_ms:
            self._channel.advance(session, spec.advance_ms)
        if spec.pause_ms:
            self._channel.linger(spec.pause_ms / 1_000)
        if spec.kill_workers:
            self._witness.kill_workers()

    def _look_at_orphans(self) -> None:
        self._seen.runs[0].facts = self._witness.orphans()

    def _note_worker(self, run: LiveRun) -> None:
        assert self._ready is not None
        self._witness.note(run, self._ready, self._opened["effective"])

    def _add(self, spec: RunSpec, session: int, options: Mapping[str, Any]) -> LiveRun:
        if self._rig is not None and spec.script is not None:
            self._rig.play(self._adapter.canaries.fill(spec.script))
        options = {**options, **spec.options}
        before, after = self._opened["wrap"]
        prelude = self._opened["prelude"] if spec.uses_host and not spec.raw else ""
        prelude = f"{prelude}{LF}" if prelude else ""
        source = before + prelude + self._adapter.canaries.fill(spec.program) + after
        limits = [numbers_of(self._opened["effective"]).get("wall_time_ms")]
        timeout = options.get("timeout_ms")
        if isinstance(timeout, int) and not isinstance(timeout, bool) and timeout > 0:
            limits.append(timeout)
        deadline = min((limit for limit in limits if limit and limit > 0), default=DEADLINE_MS)
        self._capped = deadline > LONGEST_MS
        deadline = min(deadline, LONGEST_MS)
        return self._channel.add(spec, session, source, options, deadline / 1_000)

    def _nested(self, program: str) -> str:
        before, after = self._opened["wrap"]
        return str(before + self._opened["prelude"] + LF + program + after)

    def _check_health(self, session: int) -> None:
        seen = self._seen
        if self._adapter.gone is not None:
            seen.after, seen.after_detail = Health.DEAD, self._adapter.gone.text
            return
        record = self._health_run(session)
        tries = 1
        while "wall_time_ms" in self._case.set and _out_of_time(record) and tries < HEALTH_TRIES:
            record = self._health_run(session)
            tries += 1
        if tries > 1:
            self._channel.notes.append(f"the next program took {tries} tries within its deadline")
        seen.after = health_of(record, self._healthy_value)
        if seen.after is Health.HEALTHY:
            return
        seen.after_detail = f"`return 1`: {describe(record)}"
        if tries == HEALTH_TRIES and _out_of_time(record) and seen.fault is None:
            self._blame(session, record)
        self._channel.spoiled = True

    def _health_run(self, session: int) -> Run:
        if self._rig is not None:
            self._rig.be_healthy()
        run = self._add(HEALTHY, session, {})
        self._channel.wait()
        self._note_surroundings(run.outcome or {}, None)
        return run.record()

    @property
    def _healthy_value(self) -> int:
        return 1 if self._rig is None else self._rig.healthy_value

    def _blame(self, session: int, record: Run) -> None:
        """Tell a session that no longer works from a deadline that is too short for this machine.

        A fresh session of the same process with the same policy shows the first, if it works with
        time to spare; if it does not, one with the default policy shows the second.
        """
        healthy = False
        self._close([session])
        for policy in (fitting.policy_of(self._case, self._identity)[0], {}):
            self._opened = self._channel.open(policy, self._case.ops, self._host)
            if self._opened["m"] == "refused":
                return
            again = self._health_run(self._opened["s"])
            healthy = health_of(again, self._healthy_value) is Health.HEALTHY
            self._close([self._opened["s"]])
            if healthy and (not policy or again.elapsed_ms < AMPLE * record.deadline_ms):
                break
        if healthy and not policy:
            text = f"`return 1` does not end within {record.deadline_ms:.0f} ms on this machine"
            self._seen.fault = Fault("surroundings", text)

    def _close(self, sessions: list[int]) -> None:
        for session in sessions:
            self._channel.close(session)

    def _note_surroundings(self, answer: Mapping[str, Any], expected: Expectation | None) -> None:
        """A refusal for rate or capacity says nothing about a case that does not ask for it."""
        category = answer.get("category")
        code = (answer.get("error") or {}).get("code", "")
        entry = load_tables().errors.get(code)
        rate = entry is not None and "retry_after_ms" in entry.fields
        filtered = category == "admission" and category in self._identity.capabilities
        if not rate and category != "capacity" and not filtered:
            return
        if is_verdict(self._case, code or None, rate=rate, filtered=filtered):
            return
        asked = {
            name
            for outcome in (expected.any_of if expected else ())
            for name in (*outcome.want, *outcome.allow)
        }
        if filtered and not rate and category not in asked:
            # Design 4.6, 11: passing the filter proves nothing, and neither does its refusal.
            raise UnsupportedError("refused by the target's admission filter")
        if category not in asked and self._seen.fault is None:
            text = f"the target refused for {'its rate' if rate else 'lack of capacity'}"
            self._seen.fault = Fault("surroundings", text)

    def _observation(self) -> Observation:
        seen = self._seen
        runs = [run.record() for run in seen.runs]
        if seen.refused is not None:
            runs = [seen.refused]
        then = [run.record() for run in seen.then]
        notes = self._channel.notes
        hits = [
            *leaks_of(runs, "run", self._adapter.find),
            *leaks_of(then, "then", self._adapter.find),
            *self._witness.written,
            *self._adapter.take_hits(),
        ]
        notes += [f"stdout: {line}" for line in self._adapter.take_noise()]
        return Observation(
            case=self._case.id,
            runs=tuple(runs),
            then=tuple(then),
            after=seen.after,
            after_detail=seen.after_detail,
            canaries=tuple(hits),
            notes=tuple(notes),
            effective=seen.effective,
            unsupported=seen.unsupported,
            fault=seen.fault,
            level=self._witness.level,
            traced=self._adapter.tracer is not None,
        )


def health_of(run: Run, wanted: int = 1) -> Health:
    """What the end of a program that gives `wanted` says of the target."""
    if run.end in (End.NO_OUTCOME, End.HOST_DIED, End.MEMORY):
        return Health.DEAD
    # True equals 1 in Python.
    one = run.value == Value(present=True, value=wanted) and not isinstance(run.value.value, bool)
    return Health.HEALTHY if run.end is End.VALUE and one else Health.UNHEALTHY


def _out_of_time(run: Run) -> bool:
    return run.end is End.FAILURE and run.elapsed_ms >= run.deadline_ms
