"""The seed corpus, made from the mutators: small, named, and the same each time."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import legal, reading
from codemode_fuzz.faults import DEPTHS, EDGES, FAULTS, NUMBERS, TAILS, TEXTS
from codemode_fuzz.mutators import STREAM_FAULTS
from codemode_fuzz.reading import SMALL_LINE
from codemode_fuzz.spelling import Raw, spell
from codemode_fuzz.wrong import WRONG_ERRORS, WRONG_EXECUTE

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRIES = 40
_LARGEST = 2048
_CALL: Final[dict[str, Any]] = {
    "type": "host_call",
    "invocation_id": 1,
    "call_id": 1,
    "operation": "add",
    "arguments": {},
}
_FAILURE: Final[dict[str, Any]] = {
    "type": "result",
    "invocation_id": 1,
    "ok": False,
    "value_present": False,
}


def frame_seeds() -> dict[str, bytes]:
    """The seeds of the target `frames` by name.

    One for each kind of frame, fault and verdict that the mutators make, the smallest of many; one
    for each spelling in the lists of faults. Larger ones are made where they are tested.
    """
    seeds = dict(_legal())
    for name, line in (*_faulty(), *_spelled(), *_of_other_profiles()):
        if len(line) <= _LARGEST and len(line) < len(seeds.get(name, line + b"\n\n")):
            seeds[name] = line + b"\n"
    return seeds | dict(_streams())


def _legal() -> Iterator[tuple[str, bytes]]:
    for end in ("parent", "worker"):
        for number in range(4):
            frames = legal.conversation(Random(f"{end} {number}"), end)
            yield f"legal-{end}-{number}", b"".join(spell(frame) + b"\n" for frame in frames)


def _faulty() -> Iterator[tuple[str, bytes]]:
    for kind in legal.KINDS:
        for name, fault in FAULTS.items():
            for number in range(_TRIES):
                rng = Random(f"{kind} {name} {number}")
                line = fault(rng, legal.frame(rng, kind))
                if b"\n" not in line:
                    (verdict, _), (lenient, _) = reading.frame(line)
                    yield f"{kind}-{name}-{_verdict(verdict, lenient)}", line


def _verdict(verdict: str, lenient: str) -> str:
    return verdict if verdict == lenient else f"{verdict}-or-{lenient}"


def _spelled() -> Iterator[tuple[str, bytes]]:
    for number, text in enumerate(NUMBERS):
        yield f"number-argument-{number:02}", spell({**_CALL, "arguments": Raw(text)})
        yield f"number-id-{number:02}", spell({**_CALL, "call_id": Raw(text)})
    for number, text in enumerate(TEXTS):
        yield f"text-argument-{number:02}", spell({**_CALL, "arguments": [Raw(text)]})
        yield f"text-operation-{number:02}", spell({**_CALL, "operation": Raw(text)})
    for number, edge in enumerate(EDGES):
        yield f"edge-{number:02}", edge + spell(_CALL)
    for number, tail in enumerate(TAILS):
        yield f"tail-{number:02}", spell(_CALL) + tail
    for number, (name, part) in enumerate(WRONG_EXECUTE):
        execute = legal.frame(Random(number), "execute")
        yield f"execute-{name}-{number:02}", spell({**execute, name: part})
    for number, error in enumerate(WRONG_ERRORS):
        yield f"error-{number:02}", spell({**_FAILURE, "error": error})
    for depth in DEPTHS:
        yield (
            f"depth-array-{depth}",
            spell({**_CALL, "arguments": Raw(b"[" * depth + b"]" * depth)}),
        )
        nested = b'{"":' * depth + b"0" + b"}" * depth
        yield f"depth-object-{depth}", spell({**_CALL, "arguments": Raw(nested)})


def _of_other_profiles() -> Iterator[tuple[str, bytes]]:
    """Batches and progress, which only some profiles have."""
    ids = {"invocation_id": 1, "call_id": 1}
    entry = {"operation": "add", "arguments": {}}
    deep = Raw(b"[" * reading.DEPTH + b"]" * reading.DEPTH)
    batches: tuple[Any, ...] = (
        *([entry], [entry, entry], [], {}, [1], [{}], [{**entry, "more": 1}], None),
        *([{**entry, "operation": 1}], [{**entry, "arguments": deep}]),
        [{**entry, "arguments": [deep]}],
    )
    for number, calls in enumerate(batches):
        yield f"batch-{number:02}", spell({"type": "host_batch", **ids, "calls": calls})
    parts: tuple[dict[str, Any], ...] = (
        *({"current": 1}, {"current": 1, "total": 2, "message": "x"}, {"current": -1}, {}),
        *({"current": 1, "message": "é" * 128}, {"current": 1, "message": "é" * 129}),
        *({"current": 1, "total": 1.5}, {"current": 1, "message": 1}, {"current": True}),
    )
    for number, part in enumerate(parts):
        yield f"progress-{number:02}", spell({"type": "progress", "invocation_id": 1, **part})
    nested = b"[" * (reading.DEPTH + 2) + b"]" * (reading.DEPTH + 2)
    yield "deeper-elsewhere", spell({**_CALL, "arguments": Raw(nested)})


def _streams() -> Iterator[tuple[str, bytes]]:
    call = spell({**_CALL, "operation": "", "arguments": 1})
    for size in (SMALL_LINE - 1, SMALL_LINE, SMALL_LINE + 1):
        line = b'{"type":"x"}'.ljust(size)
        yield f"line-{size}", line + b"\n"
        yield f"line-{size}-open", line
        yield f"line-{size}-between", b"{}\n" + line + b"\n{}\n"
    for name, fault in STREAM_FAULTS.items():
        rng = Random(f"stream {name}")
        yield f"stream-{name}", b"\n".join(fault(rng, [call, call])) + b"\n"
    yield "stream-empty", b""
    yield "stream-line-feeds", b"\n\n\n"
    yield "stream-without-end", call
