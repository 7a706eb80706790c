"""Programs before they run: each oracle can fail, and meanings are the engine's."""

import re

import pytest
from codemode_fuzz.admission.oracle import BEFORE, REFERENCE, Reading, check_admission
from codemode_fuzz.finding import Finding
from codemode_reference.statements import Reader

AT = len(BEFORE)


def reading(last=None, tokens=(), *, raises=None):
    """A reader that says this of every program."""

    class Broken:
        def __init__(self, source):
            if raises:
                raise raises
            sound = Reader(source)
            self.tokens = list(tokens) or sound.tokens
            self.last = last if last is not None else sound.last

    return Reading(read=Broken)


def slow(source):
    """Takes the square of the length."""
    sum(range(20_000_000))
    return Reader(source)


def textual(source):
    """Looks for words, wherever they stand."""
    return next((word for word in ("require", "process") if word in source), None)


def in_values(arguments):
    """Looks at values alone, not at the keys of objects."""
    if isinstance(arguments, dict):
        arguments = list(arguments.values())
    if isinstance(arguments, list):
        return next(filter(None, map(in_values, arguments)), None)
    return REFERENCE.texts(arguments)


def joined(arguments):
    """Looks at all texts as one."""
    return "(SELECT" if "(select" in re.sub(r"[^(\w]|_", "", str(arguments)) else None


class WithoutHashbang(Reader):
    """Reads on where a hashbang begins."""

    def __init__(self, source):
        super().__init__(source)
        if source.startswith("#!"):
            self.last = None


def not_behind_a_hashbang(source):
    """Finds nothing behind a hashbang."""
    return None if source.startswith("#!") else REFERENCE.blocked(source)


@pytest.mark.parametrize(
    ("data", "subject", "name"),
    [
        (b"a", reading(raises=IndexError("x")), "exception"),
        (b"a", Reading(read=slow), "time"),
        (b"a", reading(tokens=[("name", 5, 3, False)]), "tokens"),
        (b"a", reading(tokens=[("name", 0, 3, False), ("name", 2, 4, False)]), "tokens"),
        (b"a", reading(last=(AT, AT + 9)), "span"),
        (b"a; b", reading(last=(AT, AT + 1)), "meaning"),
        (b"a +\nb", reading(last=(AT + 4, AT + 5)), "meaning"),
        (b"'process' + s", Reading(blocked=textual), "pattern"),
        (b"a", Reading(blocked=lambda source: "no such"), "pattern"),
        (b"(\nSelect", Reading(texts=lambda arguments: None), "arguments"),
        (b"(select", Reading(texts=in_values), "arguments"),
        (b'{"a": 1}', Reading(texts=lambda arguments: "(SELECT"), "arguments"),
        (b'[[],"(sel","ect"]', Reading(texts=joined), "arguments"),
        (b"a", Reading(texts=lambda arguments: arguments["a"]), "exception"),
        (b"#! x\na", Reading(read=WithoutHashbang), "hashbang"),
        (b"#! x\neval(1)", Reading(blocked=not_behind_a_hashbang), "hashbang"),
    ],
)
def test_a_broken_reading_is_found(data, subject, name, monkeypatch):
    """The oracle that the fault breaks names it; the reference passes the same program."""
    check_admission(data)
    monkeypatch.setattr("codemode_fuzz.admission.oracle._SECONDS", 0.1)
    monkeypatch.setattr("codemode_fuzz.admission.oracle._SECONDS_A_CHARACTER", 0.0)
    with pytest.raises(Finding) as caught:
        check_admission(data, subject)
    assert caught.value.oracle == name


@pytest.mark.parametrize("data", [b"for (;;) {}", b"throw 1", b"(", b"\xff", b"var x; x.y", b""])
def test_what_has_no_value_has_no_meaning_to_lose(data):
    """It is read all the same."""
    check_admission(data)
