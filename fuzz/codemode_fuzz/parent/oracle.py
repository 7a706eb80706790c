"""What must hold for a parent, whatever its worker writes, its operations answer and time does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codemode_reference.actions import Closed, Dispatch, End, Progress, Settled, Write
from codemode_reference.codes import Code
from codemode_reference.errors import Failure, Success
from codemode_reference.evidence import Fate
from codemode_reference.records import Keeping
from codemode_reference.rules import frame_rules
from codemode_reference.session import Session
from codemode_spec.model import terms
from codemode_spec.tables import load_tables

from codemode_fuzz import reading
from codemode_fuzz.finding import Finding
from codemode_fuzz.parent.books import CANARY, Books
from codemode_fuzz.parent.catalogue import redacted, reference
from codemode_fuzz.parent.prophet import INVOCATION, Prophet, Reported, Said
from codemode_fuzz.parent.script import PROFILES, Script, Step, read
from codemode_fuzz.value.building import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_reference.actions import Action

Made: TypeAlias = Callable[[Script, Keeping], Session]
_ENDPOINT: Final = load_tables().endpoints["parent"]
_RULES: Final = {name: frame_rules(load_tables(), one) for name, one in PROFILES.items()}
_NOT_IN_THE_MODEL: Final = ("line", "column", "detail", "suggestion")
_STARTS: Final = Step("E", data=b"execute_sent")
_ANSWERS: Final = ("A", "F", "Q")


def session(script: Script, keeping: Keeping | None = None) -> Session:
    """The parent under test; a test puts a broken one in its place."""
    rules, around = _RULES[script.profile], script.around
    alternatives = {
        **rules["alternatives"],
        "undefined_result": "absent" if around.absent else "reject",
        "exhaustion": "terminal" if around.terminal else "catchable",
    }
    rules = {**rules, "alternatives": alternatives}
    catalogue = reference(readonly=around.readonly, filtered=around.filtered)
    return Session(INVOCATION, script.policy, catalogue, _ENDPOINT, rules, keeping)


def check_parent(data: bytes, made: Made = session) -> None:
    """Let a script happen to a parent and to the model of one. Raises Finding."""
    script = read(data)
    walk = _Walk(script, made)
    if script.starts:
        walk.take(_STARTS)
    for step in script.steps:
        walk.take(step)
    walk.over()


class _Walk:
    def __init__(self, script: Script, made: Made) -> None:
        self._books = Books(script)
        self._parent = made(script, self._books.keeping())
        self._prophet = Prophet(script)
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
                self._books.warned(self._parent.dispatched(action.call_id))
            if isinstance(action, Settled | End):
                self._books.open.clear()
        told, wanted = _told(found), [_said(action) for action in expected]
        if told != wanted:
            raise Finding("model", f"{_kinds(told)} where the model says {_kinds(wanted)}")
        if self._parent.ended != self._prophet.ended:
            raise Finding("model", "it has ended and the model has not, or the reverse")
        over = self._prophet.ended or self._prophet.settled
        if not over and self._parent.waiting != self._prophet.waiting:
            raise Finding("model", "it waits for an answer and the model does not, or the reverse")

    def over(self) -> None:
        """Nothing more happens: the records of the parent are what was seen of each call."""
        self._books.judge(self._parent.calls, self._prophet.charged)

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
        if step.letter == "U" and "cpu_time_ms" not in self._prophet.rules.policy:
            return False
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
            case "U":
                return parent.used_up()
            case "A":
                self._books.open.discard(step.number)
                self._books.fates[step.number] = Fate.succeeded
                value = build(step.data)
                seen = redacted(parent.calls[step.number - 1].operation, value)
                self._books.told_openly |= CANARY in repr(seen)
                return parent.answer(step.number, value, elapsed)
            case "F":
                self._failed(step.number)
                return parent.fail(step.number, elapsed)
        self._failed(step.number)
        return parent.fail(step.number, elapsed, Code.server_host_operations_limit)

    def _failed(self, call_id: int) -> None:
        self._books.open.discard(call_id)
        late = self._prophet.elapsed_ms > self._prophet.rules.policy["wall_time_ms"]
        if not (self._parent.ended or self._parent.settled or late):
            self._books.fates[call_id] = Fate.failed

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
            case "U":
                return prophet.used_up()
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
