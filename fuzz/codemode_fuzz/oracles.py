"""What is a finding in a frame decoder. Nothing here knows how inputs are made or run."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from codemode_reference.protocol import Machine
from codemode_reference.strict_json import NotStrictError
from codemode_reference.values import encode
from codemode_spec.schemas import validator
from codemode_spec.tables import load_tables

from codemode_fuzz import reading
from codemode_fuzz.chunks import chunkings, held
from codemode_fuzz.decoder import ABSENT_RULES, OTHER_RULES, REFERENCE, RULES
from codemode_fuzz.finding import Finding
from codemode_fuzz.reading import SMALL_LINE
from codemode_fuzz.strict_text import LARGEST_SAFE

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_reference.frames import Frame, Rules

    from codemode_fuzz.decoder import Decoder, Lines

_T = TypeVar("_T")
_ENDPOINTS: Final = load_tables().endpoints
_MEMORY_SAMPLES = 32
_ENVELOPE = 1
# Kinds that only some profiles have; the values of a batch stand deeper in it.
_EXTRA = ("host_batch", "progress")
_BATCH_ENVELOPE = 3
# Processor time, generous: far above what any input takes, far below what a square would.
_SECONDS = 0.25
_SECONDS_A_BYTE = 4e-6
_SECONDS_A_CHUNK = 2e-5
_DOCUMENTED_CAUSES = (ValueError, StopIteration, RecursionError, type(None))


def check_frames(data: bytes, decoder: Decoder = REFERENCE) -> None:
    """Decode `data` as a stream in both directions. Raises Finding for the first broken rule."""
    _check_lines(data, SMALL_LINE, decoder)
    lines, oversized = _check_lines(data, reading.FRAME_BYTES, decoder)
    kinds = [_check_line(line, decoder) for line in lines]
    if oversized:
        kinds.append("oversized")
    _check_ends(kinds)


def _check_lines(data: bytes, limit: int, decoder: Decoder) -> tuple[list[bytes], bool]:
    """Chunks, memory, time and the second reading of lines."""
    expected, oversized, pending = reading.lines(data, limit)
    for chunks in chunkings(data):
        fed = decoder.lines(limit)
        found, spent = _timed(partial(_feed, fed, chunks, limit))
        if (found, fed.oversized) != (expected, oversized):
            raise Finding("lines", f"chunks of {_sizes(chunks)} give other lines than one read")
        if not fed.oversized and fed.pending != pending:
            raise Finding("lines", f"{fed.pending} bytes pending where {pending} are")
        _bound(spent, len(data), len(chunks), "cutting lines")
    return expected, oversized


def _feed(fed: Lines, chunks: list[bytes], limit: int) -> list[bytes]:
    found: list[bytes] = []
    step = len(chunks) // _MEMORY_SAMPLES + 1
    for number, chunk in enumerate(chunks, 1):
        found += fed.feed(chunk)
        looks = number % step == 0 or number == len(chunks)
        if looks and (kept := held(fed)) > limit + len(chunk):
            raise Finding("memory", f"holds {kept} bytes with a limit of {limit}")
    return found


def _check_line(line: bytes, decoder: Decoder) -> str:
    """Outcome, second reading, round trip, time; the kind under the rules of the reference."""
    _check_refusal(line, decoder)
    kinds: list[str] = []
    for rules, expected in zip((RULES, ABSENT_RULES), reading.frame(line), strict=True):
        (kind, frame), spent = _timed(partial(_parse, line, rules, decoder))
        _bound(spent, len(line), 1, "parsing a line")
        if kind != expected[0]:
            raise Finding("verdict", f"{kind} where the second reading has {expected[0]}")
        if frame != expected[1]:
            raise Finding("value", f"another {kind} than the second reading has")
        # A frame that both rules accept is the same frame: once is enough.
        if frame and kind not in kinds:
            _check_accepted(kind, frame, rules, decoder)
        kinds.append(kind)
    for rules in OTHER_RULES:
        # There is no second reading of these: outcome, schema and round trip alone.
        kind, frame = _parse(line, rules, decoder)
        if frame and kind in _EXTRA:
            _check_accepted(kind, frame, rules, decoder)
    return kinds[0]


def _parse(line: bytes, rules: Rules, decoder: Decoder) -> tuple[str, Frame]:
    try:
        kind, frame = decoder.parse(line, rules)
    except Exception as error:
        raise Finding("exception", f"parse raised {type(error).__name__}") from error
    if any(kind not in endpoint.events for endpoint in _ENDPOINTS.values()):
        raise Finding("outcome", f"{kind!r} is no event of the protocol")
    if bool(frame) != (kind not in ("malformed", "unknown")):
        raise Finding("outcome", f"{kind} with{'' if frame else 'out'} a frame")
    return kind, frame


def _check_refusal(line: bytes, decoder: Decoder) -> None:
    """Strict JSON is refused for a reason that the reader names, not for an accident of its own."""
    try:
        decoder.read(line, reading.DEPTH + _ENVELOPE)
    except NotStrictError as error:
        if not isinstance(error.__cause__, _DOCUMENTED_CAUSES):
            cause = type(error.__cause__).__name__
            raise Finding("exception", f"refused because of {cause}") from error
    except Exception as error:
        raise Finding("exception", f"read raised {type(error).__name__}") from error


def _check_accepted(kind: str, frame: Frame, rules: Rules, decoder: Decoder) -> None:
    if kind != frame["type"]:
        raise Finding("outcome", f"{kind} for a frame of type {frame['type']!r}")
    for name in ("invocation_id", "call_id"):
        if name in frame and not _is_id(frame[name]):
            raise Finding("id", f"{name} is {frame[name]!r}")
    for name, value in frame.items():
        if name != "calls":
            _check_value(name, value)
    if not validator("frame", kind).is_valid(frame):
        raise Finding("schema", f"an accepted {kind} does not match its schema")
    deepest = reading.DEPTH + (_BATCH_ENVELOPE if kind in _EXTRA else _ENVELOPE)
    encoded = encode(frame, deepest)
    again = decoder.parse(encoded, rules)
    if again != (kind, frame) or encode(again[1], deepest) != encoded:
        raise Finding("round-trip", f"a {kind} is another one after encoding and decoding")


def _is_id(found: Any) -> bool:
    return type(found) is int and 0 < found <= LARGEST_SAFE


def _check_value(name: str, value: Any) -> None:
    """Finite numbers, no lone surrogates, bounded depth, JSON types; without recursion."""
    level, depth = [value], 0
    while level:
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict | list):
                if depth == reading.DEPTH:
                    raise Finding("depth", f"{name} nests deeper than {reading.DEPTH}")
                inner += item
                inner += item.values() if isinstance(item, dict) else ()
            elif not _is_scalar(item):
                raise Finding("value", f"{name} holds a {type(item).__name__} that is no JSON")
        level, depth = inner, depth + 1


def _is_scalar(item: Any) -> bool:
    if isinstance(item, str):
        return not any("\ud800" <= character <= "\udfff" for character in item)
    if isinstance(item, int | float):
        # NaN fails every comparison.
        return float("-inf") < item < float("inf")
    return item is None


def _check_ends(kinds: list[str]) -> None:
    """Each end takes what it may take, and stops where it must stop, as the table says."""
    for name, endpoint in _ENDPOINTS.items():
        machine = Machine(endpoint)
        if name == "parent":
            machine.on("execute_sent")
        found: tuple[int, str | int | None] = len(kinds), None
        for number, kind in enumerate(kinds):
            step = machine.on(kind)
            if step.next is None:
                found = number, step.error or step.exit
                break
        if found != reading.taken(name, kinds):
            raise Finding("ends", f"the {name} stops at {found}")


def _timed(work: Callable[[], _T]) -> tuple[_T, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _bound(spent: float, size: int, chunks: int, what: str) -> None:
    most = _SECONDS + size * _SECONDS_A_BYTE + chunks * _SECONDS_A_CHUNK
    if spent > most:
        raise Finding("time", f"{what} of {size} bytes took {spent:.2f} s of processor time")


def _sizes(chunks: list[bytes]) -> str:
    sizes = ", ".join(str(len(chunk)) for chunk in chunks[:8])
    return sizes + (", ..." if len(chunks) > 8 else "")
