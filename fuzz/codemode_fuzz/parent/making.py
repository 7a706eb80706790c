"""Scripts for a parent: made at random and mutated, pure functions of their seed."""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import legal
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.parent.books import CANARY
from codemode_fuzz.parent.catalogue import NAMES
from codemode_fuzz.parent.prophet import INVOCATION, METHODS
from codemode_fuzz.parent.script import EVENTS, LINE_FEED, SMALL, header, small
from codemode_fuzz.spelling import spell
from codemode_fuzz.splicing import splice
from codemode_fuzz.value.making import text

if TYPE_CHECKING:
    from codemode_fuzz.legal import Frame

_MOST_LINES: Final = 24
_ROOM: Final = (0, 39, 40, 100, 150, 250, 1000)
_ASKED_ABOUT: Final = (
    *(
        b'{"denied":1}',
        b"null",
        b'{"n":1,"path":"(SELECT"}',
        b'{"n":1,"path":"( s elect"}',
        b'["denied"]',
    ),
    *(b'"denied"', b'{"(sel ect":1}', b'{"denied":"(select"}', b'{"n":7,"path":"select("}'),
)
_ARGUMENTS: Final = re.compile(rb'(?<="arguments":)\{"n":\d\}')
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
    if rng.random() < 0.3:
        _widen(rng, lines)
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


def _identifier(rng: Random, expected: int) -> Any:
    """The id that is expected; seldom another one, or the same in another type."""
    if rng.random() >= 0.04:
        return expected
    others = expected - 1, expected + 1, expected + 7
    return rng.choice((*others, bool(expected), float(expected), str(expected)))


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
    if choice == 10 and rng.random() < 0.15:
        return b"U"
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
    choice = rng.randrange(10)
    if choice == 9:
        _widen(rng, lines)
    elif choice == 8:
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


def _widen(rng: Random, lines: list[bytes]) -> None:
    """Something else around the parent, and arguments that make a difference there."""
    told = header(lines.pop(0)[1:]) if lines and lines[0].startswith(b"P") else {}
    said = {name: value for name, value in told.items() if not isinstance(value, dict | list)}
    for name in ("filtered", "hooks", "terminal", "unsaved", "counted"):
        if rng.random() < 0.4:
            said[name] = rng.random() < 0.7
    if rng.random() < 0.6:
        said["history"] = rng.choice(_ROOM)
        said.setdefault("profile", "inline-sync")
    for at, line in enumerate(lines):
        if line.startswith(b"W") and rng.random() < 0.5:
            parts = _ARGUMENTS.split(line)
            lines[at] = parts[0] + b"".join(rng.choice(_ASKED_ABOUT) + part for part in parts[1:])
    lines.insert(0, b"P" + json.dumps(said).encode())


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
