"""One case on one connection: from the stand-in's ledger to what was observed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.cases import OPTION_OF_ROW, WRAPPER
from codemode_spec.failures import NotApplicable

from codemode_conformance.channel import FaultError, UnsupportedError
from codemode_conformance.fitting import language_of
from codemode_conformance.identity import numbers_of
from codemode_conformance.layers import describe
from codemode_conformance.leaks import leaks_of
from codemode_conformance.observation import Call, End, Fault, Health, Observation, Run
from codemode_conformance.refusals import is_verdict
from codemode_conformance.server import stand_in
from codemode_conformance.server.answer import AnswerReader, Reading, document
from codemode_conformance.trial import (
    DEADLINE_MS,
    HEALTHY,
    LF,
    Attempt,
    health_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec import Case
    from codemode_spec.cases import ReadyCase
    from codemode_spec.expectations import Expectation
    from codemode_spec.programs import RunSpec

    from codemode_conformance.identity import Identity
    from codemode_conformance.server.connection import Connection
    from codemode_conformance.server.pace import Pace
    from codemode_conformance.server.request import Request
    from codemode_conformance.target import Server

CANCEL_SECONDS: Final = 0.5
PING_SECONDS: Final = 0.5
TOOL_SECONDS: Final = 10.0
"""The time of a direct call of a stand-in's own tools."""

_ENDS: Final = {"memory": End.MEMORY}


@dataclass(slots=True)
class _Seen:
    """What has been observed so far."""

    runs: list[Run] = field(default_factory=list)
    then: list[Run] = field(default_factory=list)
    after: Health = Health.NOT_ASKED
    after_detail: str = ""
    unsupported: str | None = None
    fault: Fault | None = None
    refused: bool = False


class Trial:
    """Puts one case to a server."""

    def __init__(
        self, connection: Connection, server: Server, identity: Identity, case: Case, pace: Pace
    ) -> None:
        self._connection = connection
        self._server = server
        self._identity = identity
        self._case = case.fitted(identity.capabilities)
        self._pace = pace
        self._reader = AnswerReader(server.answer)
        self._rows = numbers_of(identity.effective)
        self._options: dict[str, Any] = {}
        self._prelude = ""
        self._ready: ReadyCase | None = None
        self._seen = _Seen()
        self._spoiled = False

    async def perform(self) -> Attempt:
        """Do it all; faults are part of the observation."""
        seen = self._seen
        try:
            await self._perform()
        except (UnsupportedError, NotApplicable) as error:
            seen.unsupported = str(error)
        except FaultError as error:
            seen.fault = error.fault
            self._spoiled = True
        return Attempt(self._observation(), self._ready, self._spoiled)

    async def _perform(self) -> None:
        self._options = self._chosen_options()
        self._connection.watch(self._rows.get("memory_bytes"))
        self._ready = ready = self._resolve()
        if len(ready.runs) > 1 or any(
            run.cancel_after_call or run.cancel_after_ms for run in ready.runs
        ):
            raise UnsupportedError("the suite gives a server one run at a time, to its end")
        with_ledger = bool(ready.operations) and "ledger" in self._server.stand_in
        if with_ledger:
            await self._prepare()
        for specs, expectations, runs in (
            (ready.runs, ready.expected, self._seen.runs),
            (ready.then, ready.then_expected, self._seen.then),
        ):
            for spec, expected in zip(specs, expectations, strict=True):
                if spec.pause_ms:
                    await asyncio.sleep(spec.pause_ms / 1_000)
                if self._connection.gone is None:
                    runs.append(await self._run(spec, self._options, expected, with_ledger))
        if self._case.after == "healthy":
            await self._check_health()
        if self._seen.refused and self._seen.after in (Health.HEALTHY, Health.NOT_ASKED):
            raise UnsupportedError("the target's admission filter refuses the program")

    def _chosen_options(self) -> dict[str, Any]:
        options = {}
        for name in self._case.given_options:
            if f"options.{name.removesuffix('_ms')}" not in self._identity.capabilities:
                raise UnsupportedError(f"the target takes no option {name}")
        for row, value in self._case.set.items():
            option = OPTION_OF_ROW.get(row, "")
            known = f"options.{option.removesuffix('_ms')}" in self._identity.capabilities
            if not option or not known:
                raise UnsupportedError(f"the target cannot set {row}")
            bounds = self._server.ranges.get(f"options.{option}", {})
            if isinstance(value, int):
                low, high = bounds.get("minimum", value), bounds.get("maximum", value)
                if not low <= value <= high:
                    raise UnsupportedError(f"the target takes {option} from {low} to {high}")
            options[option] = value
        return options

    def _resolve(self) -> ReadyCase:
        identity, case = self._identity, self._case
        alternatives = dict(identity.alternatives)
        language = language_of(case, identity)
        numbers = {**self._rows, **{row: v for row, v in case.set.items() if v is not None}}
        ready = case.resolve({**numbers, WRAPPER: 0}, alternatives, language)
        if ready.operations:
            if "record" in self._server.stand_in and "host_calls" in case.effective:
                raise UnsupportedError("a stand-in's call is more than one call of the server's")
            self._prelude = stand_in.prelude(self._server.stand_in, ready.operations)
        before, after = self._server.wrap
        prelude = f"{self._prelude}{LF}" if case.uses_host and self._prelude else ""
        wrapper = len(f"{before}{prelude}{after}".encode())
        return case.resolve({**numbers, WRAPPER: wrapper}, alternatives, language)

    async def _prepare(self) -> None:
        for entry in self._server.stand_in["ledger"].get("prepare", ()):
            reading = await self._tool(entry)
            if reading is None or reading["is_error"]:
                text = "no answer" if reading is None else reading["text"][:200]
                raise FaultError("surroundings", f"the stand-in's {entry['tool']}: {text}")

    async def _tool(self, entry: Mapping[str, Any]) -> dict[str, Any] | None:
        """The document of the answer to a direct tool call, None when none came."""
        if self._connection.gone is not None:
            return None
        await self._pace.wait()
        request = await self._connection.call(entry["tool"], entry.get("arguments", {}))
        await asyncio.wait({request.task}, timeout=TOOL_SECONDS)
        answer = await self._connection.answer(request)
        if answer is None or isinstance(answer, Exception):
            return None
        result = answer.data.get("result")
        return document(result) if isinstance(result, dict) else None

    async def _run(
        self,
        spec: RunSpec,
        options: Mapping[str, Any],
        expected: Expectation | None,
        with_ledger: bool,  # noqa: FBT001
    ) -> Run:
        before, after = self._server.wrap
        uses_prelude = self._prelude and spec.uses_host and not spec.raw
        prelude = f"{self._prelude}{LF}" if uses_prelude else ""
        program = self._connection.premises.canaries.fill(spec.program)
        names = self._server.arguments
        arguments = {
            **self._server.fixed_arguments,
            names["program"]: before + prelude + program + after,
        }
        # What a run is given stands as it is: it may be what the server has to refuse.
        options = {**options, **spec.options}
        for option, value in options.items():
            arguments[names[f"options.{option}"]] = value
        limits = [self._rows.get("wall_time_ms"), options.get("timeout_ms")]
        given = [limit for limit in limits if type(limit) is int and limit > 0]
        deadline = min(given, default=DEADLINE_MS)
        await self._pace.wait()
        request = await self._connection.call(self._server.tool, arguments)
        forced, label = await self._wait(request, (deadline + self._server.grace_ms) / 1_000)
        elapsed = (request.ended - request.started) * 1_000
        answer = await self._connection.answer(request)
        if answer is None:
            return await self._lost(spec, elapsed, deadline, label)
        reading = self._reader.read(answer)
        self._judge_refusal(reading, expected)
        return Run(
            program=spec.program,
            end=End.VALUE if reading.ok else End.FAILURE,
            elapsed_ms=elapsed,
            value=reading.value,
            category=reading.category,
            native=None if reading.ok else reading.native,
            calls=await self._calls() if with_ledger else (),
            logs=reading.logs,
            deadline_ms=deadline,
            forced=forced,
        )

    async def _wait(self, request: Request, seconds: float) -> tuple[str | None, str | None]:
        """Wait for the end; which ending step was needed, and what the server was like then."""
        connection = self._connection
        await asyncio.wait({request.task}, timeout=seconds)
        if request.is_over():
            return None, None
        await connection.cancel(request)
        await asyncio.wait({request.task}, timeout=CANCEL_SECONDS)
        if request.is_over():
            return "cancel", None
        answered = await connection.ping(PING_SECONDS)
        if request.is_over():
            return "cancel", None
        request.ended = time.monotonic()
        return None, "silent" if answered else "blocked"

    async def _lost(self, spec: RunSpec, elapsed: float, deadline: float, label: str | None) -> Run:
        connection = self._connection
        if label is None:
            await connection.learn_why()
        gone = connection.gone
        if gone is None:
            end = End.NO_OUTCOME
        else:
            end, label = _ENDS.get(gone.why, End.HOST_DIED), gone.text
        connection.kill()
        self._spoiled = True
        if gone is not None and gone.why == "flood":
            raise FaultError("surroundings", gone.text)
        return Run(spec.program, end, elapsed, label=label, deadline_ms=deadline)

    async def _calls(self) -> tuple[Call, ...]:
        ledger = self._server.stand_in["ledger"]
        answer = await self._tool(ledger["read"])
        if answer is None:
            # Dead after its answer, most likely: the follow-up will tell.
            self._connection.note("the ledger was not read: no answer")
            return ()
        try:
            return stand_in.calls_of(ledger, answer)
        except (LookupError, ValueError) as error:
            raise FaultError("surroundings", f"the ledger cannot be read: {error}") from None

    def _judge_refusal(self, reading: Reading, expected: Expectation | None) -> None:
        """A program refused for rate, capacity or by a filter says nothing about other cases."""
        asked = {
            name
            for outcome in (expected.any_of if expected else ())
            for name in (*outcome.want, *outcome.allow)
        }
        if reading.ok or reading.category in asked:
            return
        rate, filtered = reading.refusal == "rate", reading.refusal == "filter"
        code = reading.native.get("code")
        if is_verdict(self._case, code, rate=rate, filtered=filtered):
            return
        if filtered:
            self._seen.refused = True
        elif rate or reading.category == "capacity":
            why = "its rate" if rate else "lack of capacity"
            self._seen.fault = Fault("surroundings", f"the target refused for {why}")

    async def _check_health(self) -> None:
        seen, connection = self._seen, self._connection
        if connection.gone is not None:
            seen.after, seen.after_detail = Health.DEAD, connection.gone.text
            return
        run = await self._run(HEALTHY, {}, None, with_ledger=False)
        seen.after = health_of(run)
        if seen.after is not Health.HEALTHY:
            seen.after_detail = f"`return 1`: {describe(run)}"
            self._spoiled = True

    def _observation(self) -> Observation:
        seen, connection = self._seen, self._connection
        find = connection.premises.find
        hits = [
            *leaks_of(seen.runs, "run", find),
            *leaks_of(seen.then, "then", find),
            *connection.premises.take_hits(),
        ]
        return Observation(
            case=self._case.id,
            runs=tuple(seen.runs),
            then=tuple(seen.then),
            after=seen.after,
            after_detail=seen.after_detail,
            canaries=tuple(hits),
            notes=tuple(connection.take_notes()),
            effective={row: entry["value"] for row, entry in self._identity.effective.items()},
            unsupported=seen.unsupported,
            fault=seen.fault,
        )
