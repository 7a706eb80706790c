"""The strict reader beside `json.loads`: frames, ten shapes of 70 KB, the worst that was found."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from codemode_reference.lines import LineDecoder
from codemode_reference.strict_json import NotStrictError, read
from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from lines import Line, against, median, spent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 70_000
_PROFILE = load_tables().profiles[DEFAULT_PROFILE]
DEPTH = _PROFILE.rows["value_depth"].absolute_maximum + 1
FEEDS = _PROFILE.rows["ipc_frame_bytes"].absolute_maximum
_RANDOM = Random(1)
# A time of one read is too short to measure.
TOGETHER = 50


def filled(item: Callable[[int], str], ends: str = "[]") -> bytes:
    """An array or object of items, as many as fit."""
    items: list[str] = []
    left = SIZE
    while left > 0:
        items.append(item(len(items)))
        left -= len(items[-1].encode()) + 1
    return f"{ends[0]}{','.join(items[:-1])}{ends[1]}".encode()


SHAPES = {
    "integers": filled(lambda _: str(_RANDOM.randrange(10**6))),
    "doubles": filled(lambda _: repr(_RANDOM.random())),
    "short strings": filled('"item {}"'.format),
    "one long string": json.dumps("x" * SIZE).encode(),
    "escapes": filled(lambda _: r'"a\n\"b\\"'),
    "surrogate pairs": filled(lambda _: r'"\ud83d\ude00 smile"'),
    "unicode": filled(lambda _: '"h\u00e9llo \u4e16\u754c"'),
    "nesting": filled(lambda _: "[" * 100 + "1" + "]" * 100),
    "many keys": filled('"key{0}":{0}'.format, "{}"),
    "many objects": filled('{{"id":{0},"name":"n{0}"}}'.format),
}
HOSTILE = (
    filled(lambda _: "[]"),
    filled(lambda _: "{}"),
    filled(lambda _: '""'),
    filled(lambda _: "9007199254740993"),
    filled(lambda _: "1e5"),
    filled(lambda _: "-0.0"),
    filled(lambda _: '{"a":1}'),
    filled(lambda _: r'{"\ud83d\ude00":1}'),
    filled(lambda _: "[" * 127 + "]" * 127),
    b"[" * SIZE,
    b'{"a":' * (SIZE // 5),
    b"[" + b" " * SIZE + b"]",
    b"1" * SIZE,
)
_ID = _RANDOM.randrange(10**15)
FRAMES = {
    "host_call": {"operation": "add", "arguments": {"a": 1, "b": 2}},
    "result": {"ok": True, "value_present": True, "value": 1},
    "result of 1 KiB": {
        "ok": True,
        "value_present": True,
        "value": {"lines": [{"line": n, "text": "some text of a file"} for n in range(20)]},
    },
    "host_call of 1 KiB": {"operation": "write", "arguments": {"path": "a", "text": "x" * 880}},
}

# `json.loads` looks neither for a key twice nor for a depth: each object costs a call of ours.
_MOST = {"host_call": 1.2, "result": 1.2, "result of 1 KiB": 1.9, "host_call of 1 KiB": 1.5}


def lines(rounds: int) -> Iterator[Line]:
    """What is judged of the reader."""
    for name, fields in FRAMES.items():
        kind = name.split()[0]
        frame: dict[str, Any] = {"type": kind, "invocation_id": _ID, **fields}
        if kind == "host_call":
            frame["call_id"] = 1
        yield compared(name, json.dumps(frame, separators=(",", ":")).encode(), rounds, _MOST[name])
    for name, text in SHAPES.items():
        yield compared(f"70 KB: {name}", text, max(rounds // 10, 5), 4.0)
    times = [min(spent(partial(refused, text)) for _ in range(3)) for text in HOSTILE]
    yield Line("70 KB: hostile shapes", times, max(times), "ms, the worst", 10)
    yield median(
        f"{FEEDS} feeds of one byte", [spent(feed) for _ in range(max(rounds // 10, 3))], 50
    )


def compared(name: str, text: bytes, rounds: int, target: float) -> Line:
    """Reading `text` beside `json.loads`, in turns."""
    calls: list[Callable[[bytes], object]] = [json.loads, lambda text: read(text, DEPTH)]
    times: list[list[float]] = [[], []]
    count = max(1, TOGETHER * 1000 // len(text))
    for _ in range(rounds):
        for call, found in zip(calls, times, strict=True):
            found.append(spent(lambda call=call: [call(text) for _ in range(count)]) / count)  # type: ignore[misc]
    return against(name, times[1], times[0], "json.loads", target)


def refused(text: bytes) -> None:
    """Read what may be no JSON."""
    with contextlib.suppress(NotStrictError):
        read(text, DEPTH)


def feed() -> None:
    """A frame that comes byte by byte."""
    decoder = LineDecoder(FEEDS)
    for _ in range(FEEDS):
        decoder.feed(b"x")
