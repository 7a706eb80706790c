"""Scripts written by hand: what a worker may do, and what is around, that chance does seldom."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.tables import load_tables

from codemode_fuzz.parent.books import CANARY
from codemode_fuzz.parent.making import call
from codemode_fuzz.parent.prophet import INVOCATION
from codemode_fuzz.parent.script import LINE_FEED, PROFILES, SMALL
from codemode_fuzz.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_fuzz.legal import Frame


def crafted() -> Iterator[tuple[str, list[bytes]]]:
    """What a worker may do that chance does seldom."""
    called = b"W" + spell(call(Random(0), 1) | {"operation": "list_all", "arguments": {}})
    ended = b"W" + spell(ended_by(value=1))
    yield "redacted", [called, b"A1 " + json.dumps({"last_error": CANARY, "n": 1}).encode(), ended]
    inner = {"cache": {"error": CANARY, "n": 1}}
    yield "redacted-inside", [called, b"A1 " + json.dumps(inner).encode(), ended]
    yield "calls-after-the-end", [called + LINE_FEED + b"{}" + LINE_FEED + called[1:]]
    yield "two-results", [ended + LINE_FEED + ended[1:]]
    yield "result-and-a-part", [b"w" + ended[1:] + LINE_FEED + b"{"]
    yield "result-and-a-call", [ended + LINE_FEED + called[1:], b"Eexit_zero"]
    yield "another-invocation", [ended.replace(b'"invocation_id":1', b'"invocation_id":2')]
    for number, written in enumerate((b"true", b"1.0", b'"1"', b"[1]")):
        for name in b"call_id", b"invocation_id":
            odd = called.replace(b'"%b":1' % name, b'"%b":%b' % (name, written))
            yield f"{name.decode().replace('_', '-')}-{number}", [odd, b"A1 1", ended]
    yield "no-value", [b"W" + spell(ended_by())]
    yield "no-value-where-legal", [b'P{"absent":true}', b"W" + spell(ended_by()), b"Eexit_zero"]
    yield "late", [called, b"T2000", b"A1 1", called.replace(b'"call_id":1', b'"call_id":2'), ended]
    yield "odd", [called, b'A1 {"@odd":"cycle"}', ended, b"Eexit_zero"]
    yield "no-turn", [called, b"Q1", ended, b"Eexit_zero"]
    write = b"W" + spell(call(Random(0), 1) | {"operation": "write", "arguments": {}})
    yield (
        "read-only",
        [b'P{"readonly":true}', write, called.replace(b'"call_id":1', b'"call_id":2')],
    )
    entries = [{"operation": "read", "arguments": {"n": n}} for n in (-1, 1, -1)]
    batched = {"type": "host_batch", "invocation_id": INVOCATION, "call_id": 1, "calls": entries}
    head = b'P{"profile":"inline-sync"}'
    yield "batch-refused-in-part", [head, b"W" + spell(batched), b"A2 1", ended, b"Eexit_zero"]
    write_too = {
        **batched,
        "calls": [{**entries[1], "operation": name} for name in ("write", "read")],
    }
    readonly = b'P{"profile":"inline-sync","readonly":true}'
    yield "batch-read-only", [readonly, b"W" + spell(write_too), b"A2 1", ended, b"Eexit_zero"]
    yield "batch-late", [head, b"W" + spell(write_too), b"T2000", b"A1 1", ended]
    yield "batch-fails", [head, b"W" + spell(write_too), b"F1", b"A2 1", ended, b"Eexit_zero"]
    report = spell({"type": "progress", "invocation_id": INVOCATION, "current": 1})
    many = LINE_FEED.join([report] * (load_tables().progress.most + 1))
    yield "too-many-reports", [b'P{"profile":"worker-rpc"}', b"W" + many, ended]
    spent = {"code": "cpu_time_exceeded", "limit": SMALL["cpu_time_ms"]}
    claimed = b"W" + spell(ended_by(error=spent))
    for number, profile in enumerate(PROFILES):
        policy = b"P" + json.dumps({"profile": profile}).encode()
        for word, steps in ("early", []), ("used", [b"T%d" % (SMALL["cpu_time_ms"] + 1)]):
            yield f"processor-{word}-{number}", [policy, *steps, claimed, b"Eexit_zero"]
    for number, error in enumerate(
        (
            {"code": "code_rejected", "reason": "uncaught", "detail": "a\x1b\n\u202eb"},
            {"code": "code_rejected", "reason": "syntax", "line": 1, "column": 2, "detail": "x"},
            {"code": "unknown_method", "suggestion": "listAll"},
            {"code": "unknown_method", "suggestion": "secret"},
            {"code": "invalid_arguments", "operation": "read", "measured": 80_000, "limit": 73_728},
            {"code": "invalid_arguments", "measured": 80_000, "limit": 5},
            {"code": "operation_failed", "operation": "list_all"},
        )
    ):
        yield f"claim-{number}", [called, b"F1", b"W" + spell(ended_by(error=error)), b"Eexit_zero"]


def ended_by(**content: Any) -> Frame:
    """The result frame of a worker: with a value, with an error, or without either."""
    ok = "error" not in content
    present = "value" in content
    frame: Frame = {"type": "result", "invocation_id": INVOCATION, "ok": ok}
    return frame | {"value_present": present, **content}


def _call(number: int, name: str, arguments: Any) -> bytes:
    frame = {"type": "host_call", "invocation_id": INVOCATION, "call_id": number}
    return b"W" + spell({**frame, "operation": name, "arguments": arguments})


def _batch(number: int, *entries: tuple[str, Any]) -> bytes:
    frame: Frame = {"type": "host_batch", "invocation_id": INVOCATION, "call_id": number}
    calls = [{"operation": name, "arguments": arguments} for name, arguments in entries]
    return b"W" + spell({**frame, "calls": calls})


_GOOD: Final = ("read", {"n": 1})
_BLOCKED: Final = ("read", {"n": 1, "path": "( SELECT"})
_DENIED: Final = ("write", {"denied": 1})
_END: Final = (b"W" + spell(ended_by(value=1)), b"Eexit_zero")
_TOLD_BLOCKED: Final = {"code": "pattern_blocked", "pattern": "(SELECT"}
_TOLD_DENIED: Final = {"code": "capability_denied", "operation": "write"}
_LARGE: Final = b'{"@text":[70000,"x"]}'
_LIMITS: Final = {"host_result_bytes": 80_000, "cumulative_host_result_bytes": 90_000}

AROUND: Final[dict[str, tuple[dict[str, Any], tuple[bytes, ...]]]] = {
    "blocked": ({"filtered": True}, (_call(1, *_BLOCKED), *_END)),
    "blocked-nowhere": ({}, (_call(1, *_BLOCKED), b"A1 1", *_END)),
    "blocked-key": ({"filtered": True}, (_call(1, "write", [{"x(\tselect": 1}]), *_END)),
    "blocked-and-denied": ({"filtered": True}, (_call(1, "write", {"denied": "(select"}), *_END)),
    "denied": ({}, (_call(1, *_DENIED), _call(2, "write", {}), b"A2 1", *_END)),
    "denied-in-doubt": ({}, (_call(1, "write", None), _call(2, "open", 1), *_END)),
    "denied-costs": ({}, (_call(1, "open", ["denied"]), _call(2, "open", []), *_END)),
    "denied-read-only": ({"readonly": True}, (_call(1, *_DENIED), *_END)),
    "batch-asked": (
        {"filtered": True},
        (_batch(1, _BLOCKED, _DENIED, _GOOD), b"A3 1", _call(4, *_GOOD), b"F4", *_END),
    ),
    "batch-hooks": ({"hooks": True}, (_batch(1, _GOOD, _GOOD), b"A1 1", b"A2 2", *_END)),
    "batch-hooks-late": ({"hooks": True}, (_batch(1, _GOOD, _GOOD), b"T2000", b"A1 1", *_END)),
    "batch-beside-a-call": ({}, (_call(1, *_GOOD), _batch(2, _DENIED, _GOOD), b"A1 1", *_END)),
    "batch-full": (
        {"host_calls": 5},
        (_call(1, *_GOOD), _call(2, *_GOOD), _batch(3, _GOOD, _GOOD), *_END),
    ),
    "batch-full-catchable": (
        {"terminal": False, "host_calls": 5},
        (_call(1, *_GOOD), _call(2, *_GOOD), _batch(3, _GOOD), b"A1 1", b"A2 1", *_END),
    ),
    "batch-spent": (
        {},
        (_batch(1, _GOOD, _GOOD), b"A2 1", b'A1 {"@text":[80,"x"]}', _call(3, *_GOOD), *_END),
    ),
    "kept": ({"history": 1000}, (_call(1, *_GOOD), b"A1 1", _batch(2, _GOOD, _DENIED), *_END)),
    "kept-of-a-batch": ({"history": 1000}, (_batch(1, _GOOD, _GOOD), b"A2 1", b"F1", *_END)),
    "kept-odd": (
        {"history": 1000},
        (_call(1, *_GOOD), b'A1 {"@odd":"cycle"}', _call(2, *_GOOD), b"Q2", *_END),
    ),
    "kept-late": (
        {"history": 1000},
        (_call(1, *_GOOD), _call(2, *_GOOD), b"T2000", b"F1", b"A2 1", _call(3, *_GOOD)),
    ),
    "kept-after-the-end": ({"history": 1000}, (_call(1, *_GOOD), *_END, b"A1 1")),
    "kept-without-a-large-result": (
        {"history": 300, **_LIMITS},
        (_call(1, *_GOOD), b"A1 " + _LARGE, _call(2, *_GOOD), b"A2 1", *_END),
    ),
    "kept-with-a-result": (
        {"history": 66_000, **_LIMITS},
        (_call(1, *_GOOD), b'A1 {"@text":[65534,"x"]}', _call(2, *_GOOD), *_END),
    ),
    "unsaved": (
        {"history": 1000, "unsaved": True},
        (_call(1, *_GOOD), b"A1 1", _batch(2, _GOOD, _GOOD), b"A2 1", b"A3 1", *_END),
    ),
    "counted": (
        {"history": 189, "counted": True},
        (_call(1, *_GOOD), b"A1 1", _call(2, *_GOOD), *_END),
    ),
    "no-room": ({"history": 0}, (_call(1, *_GOOD), *_END)),
    "no-room-for-a-batch": ({"history": 145}, (_batch(1, _GOOD, _GOOD), *_END)),
    "no-room-later": ({"history": 189}, (_call(1, *_GOOD), b"A1 1", _call(2, *_GOOD), *_END)),
    "room-to-the-byte": ({"history": 93}, (_call(1, *_GOOD), b"A1 1", *_END)),
    "room-but-for-a-byte": ({"history": 92}, (_call(1, *_GOOD), b"A1 1", *_END)),
    "too-much-at-once": (
        {"history": 1000, "batch_history_bytes": 60},
        (_call(1, *_GOOD), b"A1 1", _batch(2, _GOOD, _GOOD), *_END),
    ),
    "too-much-in-a-call": ({"history": 1000, "batch_history_bytes": 55}, (_call(1, *_GOOD), *_END)),
    "filtered-claim": (
        {"filtered": True},
        (_call(1, *_BLOCKED), b"W" + spell(ended_by(error=_TOLD_BLOCKED)), b"Eexit_zero"),
    ),
    "filtered-claim-of-another": (
        {"filtered": True},
        (
            _call(1, *_BLOCKED),
            b"W" + spell(ended_by(error={**_TOLD_BLOCKED, "pattern": "eval"})),
            b"Eexit_zero",
        ),
    ),
    "denied-claim": (
        {},
        (_call(1, *_DENIED), b"W" + spell(ended_by(error=_TOLD_DENIED)), b"Eexit_zero"),
    ),
    "denied-claim-of-nothing": (
        {"filtered": True},
        (
            _call(1, "write", "(select"),
            b"W" + spell(ended_by(error=_TOLD_DENIED)),
            b"Eexit_zero",
        ),
    ),
    "used-up": ({"profile": "worker-rpc"}, (_call(1, *_GOOD), b"U", b"A1 1", *_END)),
    "used-up-settled": ({"profile": "worker-rpc"}, (_END[0], b"U", _END[1])),
    "used-up-nothing": ({}, (b"U", *_END)),
}
"""What is around the parent, and the steps: of the profile with batches unless another is named."""


def around() -> Iterator[tuple[str, list[bytes]]]:
    """The scripts of `AROUND`."""
    for name, (said, steps) in AROUND.items():
        told = {"profile": "inline-sync", **said}
        yield name, [b"P" + json.dumps(told).encode(), *steps]
