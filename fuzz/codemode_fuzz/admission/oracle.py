"""What must hold for every text that comes as a program: it is read, and means what it meant.

The meaning is the engine's: the completion value of the text as a script, against the value of the
function whose last expression is returned. The same text is put into the arguments of a call, whose
texts are looked through a second time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import quickjs
from codemode_reference.filters import Filters
from codemode_reference.statements import Reader
from codemode_spec.tables import load_tables

from codemode_fuzz.finding import Finding
from codemode_fuzz.texts import blocked_in, texts_of


class Read(Protocol):
    """What is read of a program."""

    tokens: list[tuple[str, int, int, bool]]
    last: tuple[int, int] | None


Patterns: TypeAlias = Callable[[str], "str | None"]
Texts: TypeAlias = Callable[[Any], "str | None"]
_FILTERS: Final = Filters(load_tables().admission)
_KNOWN: Final = frozenset(load_tables().admission.program)
_HASHBANG: Final = "#!"
_COMMENT: Final = "//"
_SECONDS: Final = 0.25
_SECONDS_A_CHARACTER: Final = 2e-4
_ENGINE_SECONDS: Final = 0.2
_ENGINE_BYTES: Final = 8 << 20
BEFORE: Final = "var a = 1, b = 5, c = [1, 2], s = 'x;y'; var f = (x) => 8;\n"
"""Stands before each program, so that there is something to name."""
# What a script may say and the body of a function may not, or the reverse, or in another way.
_OTHER_GOALS: Final = (
    *("this", "arguments", "new.target", "eval", "undefined", "caller", "globalThis", "delete"),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The code under test, as functions that a test can replace by broken ones."""

    read: Callable[[str], Read] = Reader
    blocked: Patterns = _FILTERS.in_program
    texts: Texts = _FILTERS.in_arguments


REFERENCE: Final = Reading()


def check_admission(data: bytes, subject: Reading = REFERENCE) -> None:
    """Read a text as a program, and as the arguments of a call. Raises Finding."""
    text = data.decode("utf-8", "ignore")
    source = _program(text)
    start = time.process_time()
    try:
        read = subject.read(source)
        pattern = subject.blocked(source)
        quoted = subject.blocked(f"{json.dumps(source, ensure_ascii=False)};")
    except Exception as error:
        raise Finding("exception", f"reading raised {type(error).__name__}") from error
    if time.process_time() - start > _SECONDS + len(source) * _SECONDS_A_CHARACTER:
        raise Finding("time", "reading takes more than its length allows")
    if pattern is not None and pattern not in _KNOWN:
        raise Finding("pattern", "one that is not in the table")
    # A text is data, whatever stands in it. U+2028 may stand in one, as in JSON.
    if quoted is not None:
        raise Finding("pattern", "found in a text")
    _check_tokens(source, read.tokens)
    if read.last is not None:
        first, end = read.last
        if not 0 <= first < end <= len(source):
            raise Finding("span", "the last expression is outside of the program")
    _check_arguments(text, subject.texts)
    if source.startswith(_HASHBANG):
        # It is a comment, but before the body of a function none may stand.
        source = _COMMENT + source[len(_HASHBANG) :]
        if (subject.read(source).last, subject.blocked(source)) != (read.last, pattern):
            raise Finding("hashbang", "it is read as another comment is not")
    _check_meaning(source, read.last)


def _program(text: str) -> str:
    """The program: what is there to be named, and the text; a hashbang is the first line only."""
    if not text.startswith(_HASHBANG):
        return BEFORE + text
    first, line_feed, rest = text.partition("\n")
    return first + line_feed + BEFORE + rest if line_feed else text


def _check_arguments(text: str, blocked: Texts) -> None:
    """The text where texts may stand, and the value that it is if it is JSON."""
    put: list[Any] = [[None, 1, text], {"a": [{"b": text}]}, {text: True}]
    try:
        value = json.loads(text)
        told = texts_of(value)
    except (ValueError, RecursionError):
        questions = [(one, [text]) for one in put]
    else:
        questions = [*((one, [text]) for one in put), (value, told)]
    for arguments, texts in questions:
        try:
            found = blocked(arguments)
        except Exception as error:
            raise Finding("exception", f"arguments raised {type(error).__name__}") from error
        wanted = blocked_in(texts)
        if found not in wanted if wanted else found is not None:
            raise Finding("arguments", f"{found} is the pattern found in them")


def _check_tokens(source: str, tokens: Sequence[tuple[str, int, int, bool]]) -> None:
    before = 0
    for _, start, end, _ in tokens:
        if not before <= start <= end <= len(source):
            raise Finding("tokens", "they overlap or go back")
        before = end


def _check_meaning(source: str, last: tuple[int, int] | None) -> None:
    if last is None or any(word in source for word in _OTHER_GOALS):
        return
    wanted = _value(f"JSON.stringify([(0, eval)({json.dumps(source)})])")
    if wanted is None:
        return  # no script, or one that throws or does not end
    first, end = last
    body = f"{source[:first]}return ({source[first:end]}\n){source[end:]}"
    function = json.dumps(f"(function () {{\n{body}\n}})()")
    found = _value(f"JSON.stringify([(0, eval)({function})])")
    if found is None:
        raise Finding("meaning", "a program that ran does not run when its last value is returned")
    if found != wanted:
        raise Finding("meaning", "the last expression has another value than the program")


def _value(script: str) -> Any:
    """The value of a script in a context of its own; None where there is none."""
    context = quickjs.Context()
    context.set_memory_limit(_ENGINE_BYTES)
    context.set_time_limit(_ENGINE_SECONDS)
    try:
        return context.eval(script)
    except (quickjs.JSException, ValueError):
        return None
