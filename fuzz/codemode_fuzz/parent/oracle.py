"""What must hold for a parent, whatever its worker writes, its operations answer and time does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codemode_reference.actions import Closed, Dispatch, End, Progress, Settled, Write
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, Success
from codemode_reference.rules import frame_rules
from codemode_reference.session import Session
from codemode_spec.model import terms
from codemode_spec.tables import load_tables

from codemode_fuzz import reading
from codemode_fuzz.finding import Finding
from codemode_fuzz.parent.books import CANARY, Books
from codemode_fuzz.parent.catalogue import READ_ONLY, REFERENCE, redacted
from codemode_fuzz.parent.prophet import INVOCATION, Prophet, Reported, Said
from codemode_fuzz.parent.script import PROFILES, Script, Step, read
from codemode_fuzz.value.building import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_reference.actions import Action

Made: TypeAlias = Callable[[Script], Session]
_ENDPOINT: Final = load_tables().endpoints["parent"]
_RULES: Final = {name: frame_rules(load_tables(), one) for name, one in PROFILES.items()}
_NOT_IN_THE_MODEL: Final = ("line", "column", "detail", "suggestion", "pattern")
_STARTS: Final = Step("E", data=b"execute_sent")
_ANSWERS: Final = ("A", "F", "Q")


def session(script: Script) -> Session:
    """The parent under test; a test puts a broken one in its place."""
    rules = _RULES[script.profile]
    if script.absent:
        alternatives = {**rules["alternatives"], "undefined_result": "absent"}
        rules = {**rules, "alternatives": alternatives}
    catalogue = READ_ONLY if script.readonly else REFERENCE
    return Session(INVOCATION, script.policy, catalogue, _ENDPOINT, rules)


def check_parent(data: bytes, made: Made = session) -> None:
    """Let a script happen to a parent and to the model of one. Raises Finding."""
    script = read(data)
    walk = _Walk(script, made)
    if script.starts:
        walk.take(_STARTS)
    for step in script.steps:
        walk.take(step)


class _Walk:
    def __init__(self, script: Script, made: Made) -> None:
        self._parent = made(script)
        self._prophet = Prophet(
            script.profile, script.policy, absent=script.absent, readonly=script.readonly
        )
        self._books = Books(script.policy)
        self._waiting: set[int] = set()
        self._started = False

    def take(self, step: Step) -> None:
        """One step of both. What no caller of a parent does is left out."""
        if step.letter == "T":
            self._prophet.passes(step.number)
        if not self._happens(step):
            return
        expected = self._prophesied(step)
        try:
            found = self._done(step)
        except Exception as error:
            raise Finding("exception", f"the parent raised {type(error).__name__}") from error
        self._books.note(found)
        for action in found:
            if isinstance(action, Dispatch):
                self._waiting.add(action.call_id)
                self._parent.dispatched(action.call_id)
            if isinstance(action, Settled | End):
                self._books.open.clear()
        told, wanted = _told(found), [_said(action) for action in expected]
        if told != wanted:
            raise Finding("model", f"{_kinds(told)} where the model says {_kinds(wanted)}")
        if self._parent.ended != self._prophet.ended:
            raise Finding("model", "it has ended and the model has not, or the reverse")

    def _happens(self, step: Step) -> bool:
        """Whether a caller does this: one answer to each call, and nothing after the end."""
        if step.letter in _ANSWERS:
            known = step.number in self._waiting
            # What the model has no words for: that a call of a batch got no turn.
            if step.letter == "Q" and self._prophet.in_batch(step.number):
                return False
            self._waiting.discard(step.number)
            return known
        if step == _STARTS:
            first, self._started = not self._started, True
            return first
        return step.letter == "E" or (step.letter != "T" and self._books.outcome is None)

    def _done(self, step: Step) -> list[Action]:
        parent, elapsed = self._parent, self._prophet.elapsed_ms
        match step.letter:
            case "W":
                return parent.receive(step.data + b"\n", elapsed)
            case "w":
                return parent.receive(step.data, elapsed)
            case "B":
                return parent.receive(b" " * step.number, elapsed)
            case "E":
                return parent.event(step.data.decode())
            case "A":
                self._books.open.discard(step.number)
                value = build(step.data)
                seen = redacted(parent.calls[step.number - 1].operation, value)
                self._books.told_openly |= CANARY in repr(seen)
                return parent.answer(step.number, value, elapsed)
            case "F":
                self._books.open.discard(step.number)
                return parent.fail(step.number, elapsed)
        self._books.open.discard(step.number)
        return parent.fail(step.number, elapsed, Code.server_host_operations_limit)

    def _prophesied(self, step: Step) -> Sequence[Said]:
        prophet = self._prophet
        match step.letter:
            case "W":
                return prophet.hears(step.data + b"\n")
            case "w":
                return prophet.hears(step.data)
            case "B":
                return prophet.hears(b" " * step.number)
            case "E":
                return prophet.event(step.data.decode())
            case "A":
                return prophet.answers(step.number, build(step.data))
            case "F":
                return prophet.fails(step.number)
        return prophet.no_turn(step.number)


Told: TypeAlias = tuple[Any, ...]


def _told(actions: list[Action]) -> list[Told]:
    """The actions of the reference in common words; that the output ended is no action there."""
    told: list[Told] = []
    for action in actions:
        match action:
            case Dispatch():
                told.append(("dispatch", action.call_id, action.operation, action.arguments))
            case Write():
                (_, frame), _ = reading.frame(action.data.rstrip(b"\n"))
                told.append(("reply", frame["call_id"], frame.get("value"), frame.get("error")))
            case Settled():
                told.append(("settle",))
            case Progress():
                told.append(("progress", action.report))
            case End():
                told.append(("end", *_outcome(action.outcome)))
            case Closed():
                pass
    return told


def _said(action: Said) -> Told:
    match action:
        case Reported():
            return "progress", action.fields
        case terms.Dispatch():
            return "dispatch", action.call_id, action.operation, action.arguments
        case terms.Reply():
            error = None if action.error is None else action.error.fields()
            return "reply", action.call_id, action.value, error
        case terms.Settle():
            return ("settle",)
    outcome = action.outcome
    if outcome.error is not None:
        return "end", "failure", _fields(outcome.error.fields())
    return "end", "value", outcome.present, outcome.value


def _outcome(outcome: Success | Failure) -> Told:
    if isinstance(outcome, Success):
        return "value", outcome.value_present, outcome.value
    return "failure", _fields({"code": outcome.code, **outcome.fields})


def _fields(told: Mapping[str, Any]) -> dict[str, Any]:
    """What the model keeps of an error: not where a syntax error is, and not what is suggested."""
    return {name: item for name, item in told.items() if name not in _NOT_IN_THE_MODEL}


def _kinds(told: list[Told]) -> str:
    """What was done, without numbers and without the words of the input."""
    words = []
    for kind, *rest in told:
        errors = [part["code"] for part in rest if isinstance(part, dict) and "code" in part]
        words.append(" ".join((kind, *map(str, errors))))
    return " and ".join(words) or "nothing"
