"""One case on one running adapter: from `open` to what was observed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.cases import OPTION_OF_ROW, WRAPPER
from codemode_spec.failures import NotApplicable
from codemode_spec.programs import RunSpec
from codemode_spec.tables import load_tables

from codemode_conformance import work
from codemode_conformance.channel import Channel, FaultError, UnsupportedError
from codemode_conformance.escape import quoted
from codemode_conformance.evidence import Fact, State
from codemode_conformance.failures import HarnessError
from codemode_conformance.layers import describe
from codemode_conformance.leaks import HOST_PATH, HOST_PLACE, leaks_of
from codemode_conformance.observation import (
    OFFERED,
    CanaryHit,
    End,
    Fault,
    Health,
    Observation,
    Run,
    Value,
)
from codemode_conformance.refusals import is_verdict
from codemode_conformance.replies import Replies
from codemode_conformance.watch import Watch, visible
from codemode_conformance.work import Work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.cases import Case, ReadyCase
    from codemode_spec.expectations import Expectation

    from codemode_conformance.adapter import Adapter
    from codemode_conformance.identity import Identity
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
        self._watch: Watch | None = None
        self._work: Work | None = None
        self._level = ("", "")
        self._written: list[CanaryHit] = []
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
        policy = self._policy()
        self._adapter.watch(self._rows.get("memory_bytes"))
        self._host = self._hosted()
        self._check_asked()
        answer = self._channel.open(policy, self._case.ops, self._host)
        if answer["m"] == "refused":
            self._refused(answer)
            return
        self._opened = answer
        if self._case.area != POLICY_AREA:
            _check_set(policy, answer["effective"])
        numbers = numbers_of(answer["effective"])
        self._adapter.watch(numbers.get("memory_bytes"))
        numbers[WRAPPER] = self._wrapper_bytes()
        offered = dict.fromkeys(self._adapter.identity.settable, OFFERED)
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
            self._look_for_workers(ready)
            self._run(ready, sessions)
        except (UnsupportedError, NotApplicable):
            self._close(sessions)
            raise
        finally:
            if self._watch is not None:
                self._watch.stop()
            if self._work is not None:
                self._work.stop()
        if self._case.after == "healthy":
            self._check_health(sessions[0])
        gone = self._adapter.gone
        if gone is not None and self._seen.after is Health.HEALTHY:
            raise FaultError("adapter", f"outside of a run: {gone.text}")
        self._close(sessions)

    def _hosted(self) -> dict[str, Any]:
        """What the session is opened with: what the case says, and a filter and clock for it."""
        host = self._case.host(self._rows)
        if self._case.filtered and "host.filter" in self._identity.capabilities:
            host["filter"] = True
        if self._case.timed:
            host["clock"] = "scripted"
        return host

    def _check_asked(self) -> None:
        """Nothing is asked that the adapter does not know."""
        case, needed = self._case, set()
        for entry in case.data.get("operations", []):
            if not {"group", "shortcuts"}.isdisjoint(entry):
                needed.add("op.groups")
            # Where there are no groups, operations may have aliases all the same.
            if "aliases" in entry and "op.aliases" not in self._identity.capabilities:
                needed.add("op.groups")
            needed |= {f"op.{trait}" for trait in ("cost", "diagnostics") if trait in entry}
            if entry["effect"] == "unstated":
                needed.add("op.unstated")
        if case.timed:
            needed.add("host.clock")
        needed |= {f"options.{name.removesuffix('_ms')}" for name in case.given_options}
        missing = sorted(needed - self._identity.capabilities)
        if missing:
            raise UnsupportedError(f"the adapter lacks {', '.join(missing)}")

    def _resolve(self, numbers: Mapping[str, int]) -> ReadyCase:
        identity = self._identity
        language = language_of(self._case, identity)
        return self._case.resolve(numbers, dict(identity.alternatives), language)

    def _wrapper_bytes(self) -> int:
        before, after = self._opened["wrap"]
        prelude = self._opened["prelude"] if self._case.uses_host else ""
        try:
            return len(f"{before}{prelude}{LF if prelude else ''}{after}".encode())
        except UnicodeEncodeError:
            raise FaultError("adapter", "its prelude or its wrap is no Unicode text") from None

    def _policy(self) -> dict[str, Any]:
        policy: dict[str, Any] = {}
        capabilities = self._identity.capabilities
        for row, value in self._case.set.items():
            option = OPTION_OF_ROW.get(row, "")
            if f"policy.{row}" in capabilities or "policy.raw" in capabilities:
                policy[row] = value
            elif option and f"options.{option.removesuffix('_ms')}" in capabilities:
                self._options[option] = value
            else:
                raise UnsupportedError(f"the target cannot set {row}")
        return policy

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
            self._check_values(ready)
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
            self._look_at_work(expected)
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

    def _check_values(self, ready: ReadyCase) -> None:
        odd = {
            behaviour.value if behaviour.kind == "odd" else "undefined"
            for operation in ready.operations
            for behaviour in operation.behaviour
            if behaviour.kind in ("odd", "absent")
        }
        missing = sorted(odd - set(self._identity.host_values))
        if missing:
            raise UnsupportedError(f"the adapter cannot build {', '.join(missing)}")

    def _look_for_workers(self, ready: ReadyCase) -> None:
        """Watch the target's own workers, where the case asks and the target file tells them."""
        pattern = self._adapter.worker_pattern
        if ready.asks_for_processes and self._rig is None and pattern and visible():
            assert self._adapter.process is not None
            self._watch = Watch(self._adapter.process.pid, pattern, self._adapter.tracer)
            self._channel.last_look = self._look_at_orphans

    def _look_at_work(self, expected: Expectation | None) -> None:
        """Sum up the work of the next program, where the case asks where it is done."""
        asked = any(work.NAME in legal.processes for legal in (expected.any_of if expected else ()))
        if asked and self._rig is None and visible():
            assert self._adapter.process is not None
            self._work = Work(self._adapter.process.pid)

    def _look_at_orphans(self) -> None:
        assert self._watch is not None
        left = self._watch.left()
        seen = list(self._watch.workers)
        state = State.BROKEN if left else State.HOLDS
        detail = f"{len(left)} of {len(seen)} workers outlive their parent" if left else ""
        fact = Fact("die_with_parent", state, detail)
        self._seen.runs[0].facts = (fact,) if seen else ()
        self._level = max(self._level, self._watch.level)

    def _note_worker(self, run: LiveRun) -> None:
        """What the workers show; a target that did not start ours was not tested."""
        if self._work is not None:
            isolation = str(self._identity.alternatives.get("isolation", ""))
            run.facts = (*run.facts, self._work.fact(isolation))
            self._level = max(self._level, ("B", "work is summed up by looking"))
            self._work = None
            return
        if self._watch is not None and not run.facts:
            numbers = numbers_of(self._opened["effective"])
            memory, kept = numbers.get("memory_bytes"), numbers.get("pool_min", 0)
            run.facts = self._watch.facts(self._adapter.known_workers, memory, kept)
            self._level = max(self._level, self._watch.level)
            self._watch.forget()
        if self._rig is None:
            return
        run.frames = self._rig.frames()
        self._rig.tell()
        if self._ready is not None and self._ready.asks_for_processes:
            run.facts = self._rig.facts()
            self._level = "B", "the worker itself says what it was given"
        data = self._rig.data.decode(errors="replace")
        found = self._adapter.find(data)
        found += [(HOST_PATH, "raw")] if HOST_PLACE.search(data) else []
        self._written += [CanaryHit(*hit, "a frame to the worker") for hit in found]
        ended = run.end is End.VALUE or (run.outcome or {}).get("category") == "protocol"
        came = self._rig.started or self._rig.reused
        if ended and isinstance(run.spec.script, list) and not came:
            raise FaultError("adapter", "the run ended, and ${worker} was not started")

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
        for policy in (self._policy(), {}):
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
            *self._written,
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
            level=self._level,
            traced=self._adapter.tracer is not None,
        )


def language_of(case: Case, identity: Identity) -> str:
    """The first language of the target in which the case has all its programs."""
    return next(
        (
            language
            for language in identity.languages
            if all(language in program for program in case.programs)
        ),
        identity.languages[0],
    )


def numbers_of(effective: Mapping[str, Any]) -> dict[str, int]:
    """The rows of `effective` that have a whole number."""
    return {
        row: int(entry["value"])
        for row, entry in effective.items()
        if isinstance(entry["value"], int | float) and entry["value"] == int(entry["value"])
    }


def _check_set(policy: Mapping[str, Any], effective: Mapping[str, Any]) -> None:
    """What a case sets holds: its expectations, and its deadline, are computed from it."""
    for row, wanted in policy.items():
        there = effective.get(row, {}).get("value", wanted)
        if there not in (wanted, "unknown"):
            text = f"it was told {row} = {wanted}, and opened a session with {there}"
            raise FaultError("adapter", text)


def health_of(run: Run, wanted: int = 1) -> Health:
    """What the end of a program that gives `wanted` says of the target."""
    if run.end in (End.NO_OUTCOME, End.HOST_DIED, End.MEMORY):
        return Health.DEAD
    # True equals 1 in Python.
    one = run.value == Value(present=True, value=wanted) and not isinstance(run.value.value, bool)
    return Health.HEALTHY if run.end is End.VALUE and one else Health.UNHEALTHY


def _out_of_time(run: Run) -> bool:
    return run.end is End.FAILURE and run.elapsed_ms >= run.deadline_ms
