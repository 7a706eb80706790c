"""Each oracle can fail: a broken decoder is found on an input that a sound one passes."""

import json

import pytest
from codemode_fuzz.decoder import REFERENCE, Decoder, parse
from codemode_fuzz.oracles import SMALL_LINE, Finding, check_frames
from codemode_fuzz.reading import FRAME_BYTES
from codemode_fuzz.seeds import frame_seeds
from codemode_reference.lines import LineDecoder
from codemode_reference.strict_json import read

CALL = b'{"type":"host_call","invocation_id":1,"call_id":1,"operation":"a","arguments":%s}\n'
TWICE = CALL % b'{"a":1,"a":2}'


def lenient(line, _rules):
    """What the standard library accepts, with nothing checked but the kind."""
    try:
        frame = json.loads(line)
        return frame["type"], frame
    except (ValueError, TypeError, KeyError, RecursionError):
        return "malformed", {}


def accepting(good):
    """A parse that takes whatever is malformed and `good`."""

    def broken(line, rules):
        kind, frame = parse(line, rules)
        if kind != "malformed":
            return kind, frame
        kind, frame = lenient(line, rules)
        return (kind, frame) if frame and good(frame) else ("malformed", {})

    return broken


class Whole(LineDecoder):
    """Keeps all bytes of a line, however long."""

    def feed(self, data):  # noqa: D102
        self.kept = getattr(self, "kept", b"") + data
        return super().feed(data)


class Forgetful(LineDecoder):
    """Drops a carriage return that ends a chunk."""

    def feed(self, data):  # noqa: D102
        return super().feed(data.removesuffix(b"\r"))


class Late(LineDecoder):
    """Allows one byte too many."""

    def __init__(self, limit):
        super().__init__(limit + 1)


class Uncounted(LineDecoder):
    """Does not know what it holds."""

    pending = 0


def careless(line, depth):
    """Lets an exception of its own out."""
    if b"\xff" in line:
        raise IndexError
    return read(line, depth)


class SlowLines(LineDecoder):
    """Takes seconds for a line that needs microseconds."""

    def feed(self, data):  # noqa: D102
        sum(range(len(data) * 3000))
        return super().feed(data)


def slow(line, rules):
    """Takes the square of the length."""
    sum(range(min(len(line) ** 2, 100_000_000)))
    return parse(line, rules)


def nosy(line, rules):
    """Looks into what it has not checked."""
    if b"[]" in line:
        raise IndexError
    return parse(line, rules)


def accidental(line, depth):
    """Refuses for a reason of its own."""
    try:
        return read(line, depth)
    except ValueError as error:
        raise type(error)("refused") from TypeError()


def rounding(line, rules):
    """Loses what it reads."""
    kind, frame = parse(line, rules)
    return kind, {**frame, "arguments": 0} if "arguments" in frame else frame


def misnaming(line, rules):
    """Answers with words of its own."""
    kind, frame = parse(line, rules)
    return {"malformed": "bad"}.get(kind, kind), frame


def keeping(line, rules):
    """Hands out what it refused."""
    kind, frame = parse(line, rules)
    return kind, frame or lenient(line, rules)[1]


BROKEN = [
    ("duplicate keys", Decoder(parse=accepting(lambda frame: "arguments" in frame)), TWICE),
    (
        "1.0 as an id",
        Decoder(parse=accepting(lambda frame: type(frame.get("call_id")) is float)),
        (CALL % b"1").replace(b'"call_id":1', b'"call_id":1.0'),
    ),
    (
        "depth 129",
        Decoder(parse=accepting(lambda frame: isinstance(frame.get("arguments"), list))),
        CALL % (b"[" * 129 + b"]" * 129),
    ),
    ("all of json", Decoder(parse=lenient), CALL % b"NaN"),
    ("unbounded buffer", Decoder(lines=Whole), b"x" * (2 * SMALL_LINE)),
    ("chunks matter", Decoder(lines=Forgetful), b"{}\r\n"),
    ("limit + 1", Decoder(lines=Late), b"x" * (SMALL_LINE + 1) + b"\n"),
    ("pending bytes", Decoder(lines=Uncounted), b"{}"),
    ("an exception below", Decoder(read=careless), b"\xff\n"),
    ("slow lines", Decoder(lines=SlowLines), b"x" * 30_000 + b"\n"),
    ("slow parse", Decoder(parse=slow), CALL % (b'"' + b"x" * 30_000 + b'"')),
    ("an exception", Decoder(parse=nosy), CALL % b"[]"),
    ("an accident", Decoder(read=accidental), b"nul\n"),
    ("another value", Decoder(parse=rounding), CALL % b"1"),
    ("no event", Decoder(parse=misnaming), b"{}\n"),
    ("refused frame", Decoder(parse=keeping), b'{"type":1}\n'),
]
ORACLES = {
    "duplicate keys": "verdict",
    "1.0 as an id": "verdict",
    "depth 129": "verdict",
    "all of json": "verdict",
    "unbounded buffer": "memory",
    "chunks matter": "lines",
    "limit + 1": "lines",
    "pending bytes": "lines",
    "an exception below": "exception",
    "slow lines": "time",
    "slow parse": "time",
    "an exception": "exception",
    "an accident": "exception",
    "another value": "value",
    "no event": "outcome",
    "refused frame": "outcome",
}


@pytest.mark.parametrize(("name", "decoder", "data"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_broken_decoder_is_found(name, decoder, data):
    """The oracle that the fault breaks names it; the reference passes the same input."""
    check_frames(data, REFERENCE)
    with pytest.raises(Finding) as caught:
        check_frames(data, decoder)
    assert caught.value.oracle == ORACLES[name]


@pytest.fixture(scope="module")
def seeds():
    """The seed corpus, smallest first."""
    return sorted(frame_seeds().values(), key=len)


@pytest.mark.parametrize(
    "decoder",
    [pytest.param(item, id=name) for name, item, _ in BROKEN if not name.startswith("slow")],
)
def test_the_seeds_find_it_too(decoder, seeds):
    """No fault above needs luck: an input of the corpus shows it."""

    def found(data):
        try:
            check_frames(data, decoder)
        except Finding:
            return True
        return False

    assert any(found(data) for data in seeds)


def large():
    """Inputs that are too large for the corpus."""
    text = CALL % b"@"
    for size in (FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1):
        yield text[:-1].ljust(size) + b"\n{}\n"
        yield b"x" * size
    for mark in (b"[", b'{"a":', b'["', b"\\", b'"\\u0061",', b"1,", b"1" * 5000, b"[],"):
        yield text.replace(b"@", mark * (70_000 // len(mark)))
        yield text.replace(b"@", b"[" + mark * (70_000 // len(mark)) + b"0]")
    yield text.replace(b"@", b"[" * 10_000 + b"]" * 10_000)
    yield b"\n" * 10_000


@pytest.mark.parametrize("data", list(large()), ids=lambda data: f"{data[:90][-12:]}-{len(data)}")
def test_large_inputs_pass(data):
    """Lines around the limit, deep texts, and the most of everything that a line can hold."""
    check_frames(data)
