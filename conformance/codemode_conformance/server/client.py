"""A case with a scripted client: a fresh server process, its steps, and what came of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.cases import WRAPPER
from codemode_spec.failures import NotApplicable

from codemode_conformance.failures import StartError
from codemode_conformance.identity import numbers_of
from codemode_conformance.leaks import leaks_of
from codemode_conformance.observation import Answer, End, Fault, Health, Observation, Run, Value
from codemode_conformance.premises import Premises
from codemode_conformance.server import facts
from codemode_conformance.server.answer import AnswerReader, at, document
from codemode_conformance.server.dialogue import CALL, HEALTH, INITIALIZE, Dialogue
from codemode_conformance.server.heard import Answered, name_of
from codemode_conformance.server.tap import RawAnswer
from codemode_conformance.trial import DEADLINE_MS, Attempt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codemode_spec import Case, ReadyCase

    from codemode_conformance.identity import Identity
    from codemode_conformance.install import Installed
    from codemode_conformance.target import Command, Server
    from codemode_conformance.transcript import Transcript

PATIENCE_SECONDS: Final = 15.0
"""How long beyond a deadline and the grace an answer is waited for: busy machines make it late."""


def told(server: Server) -> Iterator[str]:
    """The capabilities that follow from what the target file tells for scripted clients."""
    names = {*server.expressions, *server.starts}
    names |= {"reference"} if server.reference else set()
    names |= {"isolation"} if server.isolation else set()
    names |= {"metrics"} if "metrics" in server.answer else set()
    yield from sorted(f"server.{name}" for name in names)


class ClientTrial:
    """Puts one case with a scripted client to a server of its own.

    `left` counts the command lines of what ran on when that server had exited.
    """

    def __init__(
        self,
        installed: Installed,
        server: Server,
        identity: Identity,
        case: Case,
        transcript: Transcript | None = None,
    ) -> None:
        self._installed = installed
        self._server = server
        self._identity = identity
        self._case = case
        self._transcript = transcript
        self._reader = AnswerReader(server.answer)
        self._rows = numbers_of(identity.effective)
        self.left: Counter[str] = Counter()

    def perform(self) -> Attempt:
        """Do it all; faults are part of the observation."""
        case = self._case
        why = self._obstacle()
        if why is not None:
            return Attempt(Observation(case.id, unsupported=why), None, spoiled=False)
        try:
            rows = {**self._rows, WRAPPER: 0}
            ready = case.resolve(rows, dict(self._identity.alternatives), "javascript")
        except NotApplicable as reason:
            return Attempt(Observation(case.id, unsupported=str(reason)), None, spoiled=False)
        try:
            return Attempt(self._observe(ready), ready, spoiled=False)
        except (StartError, OSError) as error:
            fault = Fault("surroundings", f"{type(error).__name__}: {error}")
            return Attempt(Observation(case.id, fault=fault), ready, spoiled=False)

    def _obstacle(self) -> str | None:
        if self._server.command is None or self._server.transport != "stdio":
            return "raw messages are sent over stdio only"
        if "javascript" not in self._identity.languages:
            return "no program in " + " or ".join(self._identity.languages)
        return None

    def _observe(self, ready: ReadyCase) -> Observation:
        steps: Sequence[Mapping[str, Any]] = ready.runs[0].script
        start = steps[0].get("start")
        command = self._server.command if start is None else self._server.starts[start]
        assert command is not None
        premises = Premises(self._installed.values)
        dialogue = None
        try:
            dialogue = self._started(command, premises)
            return self._talk(dialogue, premises, steps, may_refuse=start is not None)
        finally:
            if dialogue is not None:
                self.left = dialogue.stop()
            premises.close()

    def _started(self, command: Command, premises: Premises) -> Dialogue:
        deadline = self._rows.get("wall_time_ms", DEADLINE_MS)
        patience = (deadline + self._server.grace_ms) / 1_000 + PATIENCE_SECONDS
        dialogue = Dialogue(self._server, command, premises, patience, self._transcript)
        dialogue.watch(self._rows.get("memory_bytes"))
        return dialogue

    def _talk(
        self,
        dialogue: Dialogue,
        premises: Premises,
        steps: Sequence[Mapping[str, Any]],
        *,
        may_refuse: bool,
    ) -> Observation:
        if dialogue.introduce():
            dialogue.play([step for step in steps if "start" not in step])
            dialogue.finish()
        elif not may_refuse:
            said = dialogue.process.errors.decode(errors="replace").strip().splitlines()
            text = f"it was not initialized{': ' + said[-1][:200] if said else ''}"
            return Observation(self._case.id, fault=Fault("surroundings", text))
        after, detail = Health.NOT_ASKED, ""
        if self._case.after == "healthy":
            after, detail = self._health(dialogue)
        run = self._run(dialogue)
        hits = [*leaks_of([run], "run", premises.find), *premises.take_hits()]
        return Observation(
            case=self._case.id,
            runs=(run,),
            after=after,
            after_detail=detail,
            canaries=tuple(dict.fromkeys(hits)),
            notes=tuple(dialogue.heard.faults[:10] + dialogue.heard.strays[:10]),
            effective={row: entry["value"] for row, entry in self._identity.effective.items()},
        )

    def _health(self, dialogue: Dialogue) -> tuple[Health, str]:
        if dialogue.over or dialogue.heard.unanswered or dialogue.left:
            return Health.DEAD, "it was gone, or gave no answer, before"
        if not dialogue.healthy():
            return Health.DEAD, "no answer to `return 1`"
        last = next(one for one in dialogue.heard.answers if name_of(one) == HEALTH)
        one = self._answer(last)
        if one.kind == "value" and one.value == Value(present=True, value=1):
            return Health.HEALTHY, ""
        return Health.UNHEALTHY, f"`return 1`: {one.kind} {one.category or ''}"

    def _run(self, dialogue: Dialogue) -> Run:
        heard = dialogue.heard
        told = tuple(map(self._answer, heard.answers))
        answers = tuple(one for one in told if one.request not in ("", HEALTH, INITIALIZE))
        asked: dict[str, int] = {}
        reports: dict[str, int] = {}
        for request in dialogue.asked:
            asked[request.name] = asked.get(request.name, 0) + 1
        for report in heard.reports:
            name = "" if report.asked is None else report.asked.name
            reports[name] = reports.get(name, 0) + 1
        end, label = _ended(dialogue)
        return Run(
            program="\n".join(map(str, self._case.data["client"]))[:2_000],
            end=end,
            elapsed_ms=0.0,
            label=label,
            status=heard.status,
            facts=facts.all_of(dialogue, self._server, self._reader),
            answers=answers,
            asked=asked,
            reports=reports,
        )

    def _answer(self, answered: Answered) -> Answer:
        message, asked = answered.message, answered.asked
        common: dict[str, Any] = {"request": name_of(answered), "took_ms": answered.took_ms}
        if "error" in message:
            error = message["error"]
            code = error.get("code") if isinstance(error, dict) else None
            return Answer(kind="refused", code=code, **common)
        result = message.get("result")
        if asked is None or asked.method not in (CALL, ""):
            return Answer(kind="result", value=Value(present=True, value=result), **common)
        reading = self._reader.read(RawAnswer(message, cut=False))
        if reading.ok:
            return Answer(kind="value", value=reading.value, **common)
        whole = document(result if isinstance(result, dict) else {})
        return Answer(
            kind="failure",
            category=reading.category,
            code=reading.native.get("code"),
            limit=_at(whole, self._server.answer.get("limit")),
            told=bool(reading.native.get("code")) and bool(reading.native.get("message")),
            **common,
        )


def _at(whole: Mapping[str, Any], entry: Mapping[str, Any] | None) -> Any:
    try:
        return None if entry is None else at(whole, entry["pointer"])
    except LookupError:
        return None


def _ended(dialogue: Dialogue) -> tuple[End, str | None]:
    heard = dialogue.heard
    if heard.lost:
        return End.MEMORY, heard.lost
    if heard.status is not None:
        asked = dialogue.left or not dialogue.asked[0].answered
        return (End.EXIT, None) if asked else (End.HOST_DIED, f"status {heard.status}")
    if heard.unanswered:
        return End.NO_OUTCOME, f"no answer to {heard.unanswered}"
    if dialogue.left:
        return End.NO_OUTCOME, "it runs on after its client has left"
    return End.VALUE, None
