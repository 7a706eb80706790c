"""Scripts for a parent: seeds and mutations, pure functions of their seed."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.tables import load_tables
from codemode_spec.vectors import load_vectors

from codemode_fuzz import legal
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.parent.books import CANARY
from codemode_fuzz.parent.catalogue import NAMES
from codemode_fuzz.parent.prophet import INVOCATION, METHODS
from codemode_fuzz.parent.script import EVENTS, LINE_FEED, PROFILES, SMALL, small
from codemode_fuzz.spelling import spell
from codemode_fuzz.splicing import splice
from codemode_fuzz.value.making import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_fuzz.legal import Frame

_MOST_LINES: Final = 24
_VALUES: Final = {1: "5", 2: "10", 3: "100"}
_LIMIT_OF: Final = {
    "cpu_time_exceeded": "cpu_time_ms",
    "deadline_exceeded": "wall_time_ms",
    "final_result_bytes_limit": "final_result_bytes",
    "host_calls_limit": "host_calls",
    "host_concurrency_limit": "concurrent_host_calls",
    "pages_limit": "pages",
    "snapshots_limit": "snapshots",
}


def script(rng: Random) -> bytes:
    """A worker that is sensible most of the time, and what happens beside it."""
    lines: list[bytes] = []
    profile = rng.choice(("process-async", "process-async", "inline-sync", "worker-rpc"))
    policy = {name: limit for name, limit in SMALL.items() if name in small(profile)}
    if rng.random() < 0.4:
        policy = {name: rng.choice((1, 2, 3, limit)) for name, limit in policy.items()}
        policy["cumulative_host_result_bytes"] += policy["host_result_bytes"]
    said: dict[str, Any] = {"absent": True} if rng.random() < 0.1 else {}
    said |= {"readonly": True} if rng.random() < 0.1 else {}
    lines.append(b"P" + json.dumps({"profile": profile, **policy, **said}).encode())
    if rng.random() < 0.03:
        lines.append(b"S")
    calls = 0
    for _ in range(rng.randint(0, 9)):
        if profile == "inline-sync" and rng.random() < 0.3:
            made = batch(rng, calls + 1)
            calls += len(made["calls"])
            lines.append(_line(rng, made))
        elif profile == "worker-rpc" and rng.random() < 0.3:
            lines.append(_line(rng, progress(rng)))
        elif rng.random() < 0.6:
            calls += 1
            lines.append(_line(rng, call(rng, calls)))
        else:
            lines.append(step(rng, calls))
    if rng.random() < 0.85:
        lines.append(_line(rng, result(rng, policy)))
    lines += [step(rng, calls) for _ in range(rng.choice((0, 1, 1, 2)))]
    if rng.random() < 0.15:
        _join(rng, lines)
    return b"\n".join(lines)


def call(rng: Random, call_id: int) -> Frame:
    """A host call; its operation is in the catalogue and its arguments fit, most of the time."""
    return {
        "type": "host_call",
        "invocation_id": INVOCATION,
        "call_id": _identifier(rng, call_id),
        **_entry(rng),
    }


def batch(rng: Random, call_id: int) -> Frame:
    """A batch of calls from this id on."""
    calls = [_entry(rng) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
    first = _identifier(rng, call_id)
    return {"type": "host_batch", "invocation_id": INVOCATION, "call_id": first, "calls": calls}


def progress(rng: Random) -> Frame:
    """A message about progress, at the edge of its length now and then."""
    frame: Frame = {"type": "progress", "invocation_id": INVOCATION}
    frame["current"] = rng.choice((0, 1, 7, 2**53 - 1, -1, 1.5)) if rng.random() < 0.3 else 1
    if rng.random() < 0.5:
        frame["total"] = rng.choice((0, 7))
    if rng.random() < 0.5:
        frame["message"] = rng.choice(("", "half", "é" * 128, "x" * 257, "a\nb"))
    return frame


def _entry(rng: Random) -> Frame:
    name = rng.choice(NAMES[:4]) if rng.random() < 0.97 else rng.choice((*NAMES, "missing"))
    arguments: Any = {"n": rng.choice((0, 1, 7))}
    if rng.random() < 0.15:
        arguments = rng.choice(({}, {"n": -1}, {"n": 1.5}, {"n": True}, [], None, {"n": 1, "x": 2}))
    return {"operation": name, "arguments": arguments}


def _identifier(rng: Random, expected: int) -> int:
    return expected + rng.choice((-1, 1, 7)) if rng.random() < 0.03 else expected


def result(rng: Random, policy: dict[str, Any]) -> Frame:
    """A result: a value, also at the edge of its limit, or an error that the worker may name."""
    frame: Frame = {"type": "result", "invocation_id": INVOCATION}
    if rng.random() < 0.05:
        return frame | {"ok": True, "value_present": False}
    if rng.random() < 0.5:
        value: Any = legal.value(rng, 2)
        if rng.random() < 0.4:
            value = "x" * max(0, policy["final_result_bytes"] - 2 + rng.choice((-1, 0, 1)))
        return frame | {"ok": True, "value_present": True, "value": value}
    return frame | {"ok": False, "value_present": False, "error": claim(rng, policy)}


def claim(rng: Random, policy: dict[str, Any]) -> dict[str, Any]:
    """The error of a result, believable most of the time: limits and names of this invocation."""
    error = legal.error(rng, "result")
    limit = _LIMIT_OF.get(error["code"])
    if limit is not None and "limit" in error and rng.random() < 0.8:
        error["limit"] = policy.get(limit, error["limit"])
        if "measured" in error:
            error["measured"] = error["limit"] + rng.choice((0, 1, 5))
    for name in ("operation", "suggestion"):
        if name in error and rng.random() < 0.9:
            error[name] = rng.choice((*NAMES, *METHODS.values()))
    return error


def step(rng: Random, calls: int) -> bytes:
    """One step that is no line: an answer, time, an event, bytes."""
    call_id = rng.randint(1, max(calls, 1))
    choice = rng.randrange(12)
    if choice < 5:
        return b"A%d " % call_id + answer(rng)
    if choice == 5:
        return b"F%d" % call_id
    if choice == 6:
        return b"Q%d" % call_id if rng.random() < 0.3 else b"F%d" % call_id
    if choice in (7, 8):
        limit = SMALL["wall_time_ms"]
        return b"T%d" % rng.choice((1, limit - 1, limit, limit + 1, limit + 300))
    if choice == 9:
        return b"w" + rng.choice((b"{", b'{"type":', b"\xff", b" ", b"\r", b"}"))
    if choice == 10 and rng.random() < 0.1:
        return b"B%d" % rng.choice((1, 73_727, 73_728, 73_729))
    return b"E" + rng.choice(EVENTS).encode()


def answer(rng: Random) -> bytes:
    """The text of what an operation returns: with a field for people, at a limit, odd, or any."""
    choice = rng.randrange(6)
    if choice == 0:
        return json.dumps(
            {"last_error": CANARY, "cache": {"error": [CANARY], "n": 1}, "n": rng.randint(0, 9)}
        ).encode()
    if choice == 1:
        return json.dumps("x" * (SMALL["host_result_bytes"] - 2 + rng.choice((-1, 0, 1)))).encode()
    if choice == 2:
        return text(rng).encode("utf-8", "surrogatepass").replace(b"\n", b" ")
    return rng.choice((b"null", b"1", b"[]", b'{"a":1}', b'"\\u00e9"', b"1.0"))


def mutate_script(data: bytes, max_size: int, seed: int) -> bytes:
    """Another script: a new one, or `data` with a step added, dropped, moved or changed."""
    rng = Random(seed)
    if not data or rng.random() < 0.4:
        return script(rng)[:max_size]
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change(rng, lines)
    return b"\n".join(lines[:_MOST_LINES])[:max_size]


def _change(rng: Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines)) if lines else 0
    calls = sum(line.startswith(b"W") and b"host_call" in line for line in lines[:at])
    choice = rng.randrange(9)
    if choice == 8:
        _join(rng, lines)
    elif choice == 0 and lines:
        del lines[at]
    elif choice == 1 and lines:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif choice == 2 and lines:
        lines[at] = splice(rng, lines[at])
    elif choice == 3:
        rng.shuffle(lines)
    elif choice == 4:
        lines.insert(at, _line(rng, call(rng, calls + 1)))
    elif choice == 5:
        lines.append(_line(rng, result(rng, dict(SMALL))))
    elif choice == 6 and lines and lines[at].startswith(b"W"):
        _split(rng, lines, at)
    else:
        lines.insert(at, step(rng, calls))


def _split(rng: Random, lines: list[bytes], at: int) -> None:
    """One line of the worker in two writes."""
    cut = rng.randint(1, len(lines[at]))
    lines[at : at + 1] = [b"w" + lines[at][1:cut], b"W" + lines[at][cut:]]


def _join(rng: Random, lines: list[bytes]) -> None:
    """Two lines of the worker in one write, where two stand together."""
    places = [
        at
        for at in range(1, len(lines))
        if lines[at][:1] in (b"W", b"w") and lines[at - 1][:1] == b"W"
    ]
    if places:
        at = rng.choice(places)
        lines[at - 1 : at + 1] = [lines[at][:1] + lines[at - 1][1:] + LINE_FEED + lines[at][1:]]


def _line(rng: Random, frame: Frame) -> bytes:
    if rng.random() < 0.06:
        return b"W" + FAULTS[rng.choice(sorted(FAULTS))](rng, frame).replace(b"\n", b" ")
    return b"W" + spell(frame, rng if rng.random() < 0.1 else None).replace(b"\n", b" ")


def script_seeds() -> dict[str, bytes]:
    """The traces of the model that a parent takes, and scripts made at random."""
    seeds: dict[str, bytes] = {}
    for vector in load_vectors("traces")["vectors"]:
        if vector["end"] == "parent":
            said = {"profile": vector["profile"], **vector["policy"]}
            lines = [b"P" + json.dumps(said).encode(), *_steps(vector)]
            seeds[f"trace-{vector['id'].replace('.', '-')}"] = b"\n".join(lines)
    for name, steps in _crafted():
        seeds[f"crafted-{name}"] = b"\n".join(steps)
    for number in range(80):
        seeds[f"made-{number:02}"] = script(Random(f"script {number}"))
    return seeds


def _crafted() -> Iterator[tuple[str, list[bytes]]]:
    """What a worker may do that chance does seldom."""
    called = b"W" + spell(call(Random(0), 1) | {"operation": "list_all", "arguments": {}})
    ended = b"W" + spell(_ended(value=1))
    yield "redacted", [called, b"A1 " + json.dumps({"last_error": CANARY, "n": 1}).encode(), ended]
    inner = {"cache": {"error": CANARY, "n": 1}}
    yield "redacted-inside", [called, b"A1 " + json.dumps(inner).encode(), ended]
    yield "calls-after-the-end", [called + LINE_FEED + b"{}" + LINE_FEED + called[1:]]
    yield "two-results", [ended + LINE_FEED + ended[1:]]
    yield "result-and-a-part", [b"w" + ended[1:] + LINE_FEED + b"{"]
    yield "result-and-a-call", [ended + LINE_FEED + called[1:], b"Eexit_zero"]
    yield "another-invocation", [ended.replace(b'"invocation_id":1', b'"invocation_id":2')]
    yield "no-value", [b"W" + spell(_ended())]
    yield "no-value-where-legal", [b'P{"absent":true}', b"W" + spell(_ended()), b"Eexit_zero"]
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
    claimed = b"W" + spell(_ended(error=spent))
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
        yield f"claim-{number}", [called, b"F1", b"W" + spell(_ended(error=error)), b"Eexit_zero"]


def _ended(**content: Any) -> Frame:
    ok = "error" not in content
    present = "value" in content
    frame: Frame = {"type": "result", "invocation_id": INVOCATION, "ok": ok}
    return frame | {"value_present": present, **content}


def _steps(vector: dict[str, Any]) -> Iterator[bytes]:
    if vector["steps"][0]["event"] != "execute_sent":
        yield b"S"
    for number, part in enumerate(vector["steps"]):
        event, given = part["event"], part.get("given", {})
        if event == "time_up":
            yield b"T%d" % (SMALL["wall_time_ms"] + 100_000)
        elif event == "cpu_time_up":
            yield b"T%d" % (SMALL["cpu_time_ms"] + 1)
        elif event == "answer":
            yield _answered(given)
        elif event in EVENTS:
            if number or event != "execute_sent":
                yield b"E" + event.encode()
        elif event == "oversized":
            yield b"B73729"
        else:
            yield b"W" + _written(event, given)


def _answered(given: dict[str, Any]) -> bytes:
    if given.get("fault") == "failed":
        return b"F%d" % given["call_id"]
    value = "NaN" if "fault" in given else _VALUES[given["size"]]
    return b"A%d %s" % (given["call_id"], value.encode())


def _written(event: str, given: dict[str, Any]) -> bytes:
    frame: Frame = {"type": event, "invocation_id": INVOCATION}
    if event == "host_call":
        arguments = {"n": 1 if given.get("valid", True) else "1"}
        frame |= {"call_id": given["call_id"], "operation": given["operation"]}
        frame["arguments"] = arguments
    elif event == "host_batch":
        calls = [
            {
                "operation": one["operation"],
                "arguments": {"n": 1 if one.get("valid", True) else "1"},
            }
            for one in given["calls"]
        ]
        frame |= {"call_id": given["call_id"], "calls": calls}
    elif event == "progress":
        frame["current"] = 1
    elif event == "result":
        present, error = given.get("present", False), given.get("error")
        frame |= {"ok": error is None, "value_present": present}
        if present:
            frame["value"] = int(_VALUES[given["size"]])
        if error is not None:
            frame["error"] = error
    elif event == "unknown":
        frame["type"] = "mystery"
    elif event == "malformed":
        return b"{}"
    return spell(frame)
