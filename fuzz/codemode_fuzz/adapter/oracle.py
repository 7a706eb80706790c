"""What must hold for whatever an adapter prints: messages, noise or a fault, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import messages
from codemode_conformance.escape import quoted
from codemode_conformance.failures import ClaimError
from codemode_conformance.identity import identity_of
from codemode_conformance.lines import Line, LineSplitter
from codemode_conformance.liverun import value_of
from codemode_spec.schemas import validator

from codemode_fuzz import strict_text
from codemode_fuzz.chunks import chunkings, held
from codemode_fuzz.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KEY: Final = "k-0123456789abcdef0123456789abcdef"
LIMIT: Final = 4_096
"""How much of a line the splitter holds here; more than any message of the corpus."""
_DEPTH: Final = messages.READ_DEPTH - 1
"""Deeper parts are replaced by null, so that the second reading has nothing to say to them."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The code under test, as functions that a test can replace by broken ones."""

    splitter: Callable[[int, bytes], LineSplitter] = LineSplitter
    decode: Callable[[bytes, str], dict[str, Any] | None] = messages.decode


REFERENCE: Final = Protocol()


def check_adapter(data: bytes, subject: Protocol = REFERENCE) -> None:
    """Take `data` as the stdout of an adapter. Raises Finding."""
    lines = _marked([data], subject)
    for chunks in chunkings(data):
        if _marked(chunks, subject) != lines:
            raise Finding("lines", "other messages than in one read")
    for line in data.split(b"\n"):
        if len(line) <= LIMIT:
            _check_line(line, subject)


def _marked(chunks: list[bytes], subject: Protocol) -> list[bytes | None]:
    """The lines that carry the key, None for one that is too long."""
    splitter = subject.splitter(LIMIT, KEY.encode())
    found: list[Line] = []
    for chunk in chunks:
        found += splitter.feed(chunk)
        if held(splitter) > LIMIT + len(chunk) + 2 * len(KEY) + 4_096:
            raise Finding("memory", f"holds more than its limit of {LIMIT} bytes")
    rest = splitter.rest()
    found += [] if rest is None else [rest]
    return [None if line.cut else line.data for line in found if line.marked]


def _check_line(line: bytes, subject: Protocol) -> None:
    try:
        message = subject.decode(line, KEY)
    except messages.BrokenLineError as error:
        if "\n" in str(error) or not str(error):
            raise Finding("words", "a fault that is not told in one line") from error
        message, broken = None, True
    except Exception as error:
        raise Finding("exception", f"decode raised {type(error).__name__}") from error
    else:
        broken = False
    expected = _expected(line)
    if message is None:
        if expected is not None and not broken:
            raise Finding("verdict", "a message with the key is taken for noise")
        if expected is not None and _legal(expected):
            raise Finding("verdict", "a legal message is refused")
        return
    if message.get("k") != KEY or not _legal(message):
        raise Finding("verdict", "a line that is no message of the protocol is taken for one")
    if expected is not None and _plain(expected) != _plain(message):
        raise Finding("value", "another message than the second reading has")
    _use(message)


def _expected(line: bytes) -> dict[str, Any] | None:
    """The object of a line with the key at its place, by the second reading; None for no such.

    A line in which the key is spelled with escapes is noise: a kit writes it as it got it.
    """
    if KEY.encode() not in line:
        return None
    try:
        found = strict_text.read(line, _DEPTH)
    except strict_text.Refused:
        return None
    right = isinstance(found, dict) and found.get("k") == KEY
    return found if right else None


def _legal(message: Mapping[str, Any]) -> bool:
    kind = message.get("m")
    if not isinstance(kind, str) or kind not in messages.ANSWERS:
        return False
    return bool(validator("adapter", kind).is_valid(message))


def _use(message: dict[str, Any]) -> None:
    """What the suite makes of a message never fails in another way than it says."""
    try:
        quoted(str(message))
        if message["m"] == "identity":
            identity_of(message)
        elif message["m"] == "outcome" and message["ok"]:
            value_of(message)
    except ClaimError:
        pass
    except Exception as error:
        raise Finding("exception", f"a message raised {type(error).__name__}") from error


def _plain(item: Any) -> Any:
    """Numbers as doubles, and none of them true."""
    if isinstance(item, dict):
        return {key: _plain(element) for key, element in item.items()}
    if isinstance(item, list):
        return [_plain(element) for element in item]
    if isinstance(item, bool) or not isinstance(item, int | float):
        return item
    return float(item)
