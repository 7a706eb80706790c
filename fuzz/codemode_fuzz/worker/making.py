"""What a parent tells a worker: `execute` and replies, right or with faults; pure functions."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz import legal
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.reading import LIMITS
from codemode_fuzz.spelling import spell
from codemode_fuzz.splicing import splice

if TYPE_CHECKING:
    from codemode_fuzz.legal import Frame

_INVOCATION: Final = 7
_WALL_MS: Final = 1_500
_MOST_LINES: Final = 8
_OPERATIONS: Final = [
    {"name": "add", "method": "add", "effect": "read", "arguments": {"type": "object"}},
    {"name": "list_orders", "method": "listOrders", "effect": "write"},
]
_SOURCES: Final = (
    *("return 1", "return null", "", "return (", "throw new Error('x')", "return undefined"),
    *("return await codemode.add({})", "return [await codemode.add({a: 1}), await codemode.add()]"),
    "return Promise.all([codemode.add({}), codemode.listOrders({b: 'é'})])",
    (
        "const told = []; for (let i = 0; i < 20; i++) { try { told.push(await codemode.add({ i }))"
        "; } catch (e) { told.push(e.code); } } return told;"
    ),
    "codemode.add({}); codemode.add({}); return 2",
    "await codemode.add({}).catch(() => 0); return codemode.help()",
    "return codemode.no_such({})",
    "try { return await codemode.call('nothing', {}); } catch (e) { return e.code; }",
    "return 'x'.repeat(60000)",
    "return await codemode.add({ v: 'x'.repeat(80000) }).catch((e) => e.code)",
)


def stream(rng: Random) -> bytes:
    """An `execute` frame and replies to the calls that its program makes."""
    frames = [execute(rng), *(reply(rng, number) for number in range(1, rng.randint(1, 5)))]
    lines = [spell(frame, rng if rng.random() < 0.2 else None) for frame in frames]
    if rng.random() < 0.5:
        at = rng.choice((0, rng.randrange(len(lines))))
        lines[at] = FAULTS[rng.choice(sorted(FAULTS))](rng, frames[at])
    return b"\n".join(line.replace(b"\n", b" ") for line in lines)


def execute(rng: Random) -> Frame:
    """A legal first frame with small limits, so that no program lives long."""
    limits = {name: row.default for name, row in LIMITS.items()} | {"wall_time_ms": _WALL_MS}
    if rng.random() < 0.3:
        limits |= {"host_calls": rng.choice((1, 2)), "concurrent_host_calls": 1}
    made = legal.frame(rng, "execute")
    return made | {
        "invocation_id": _INVOCATION,
        "source": rng.choice(_SOURCES),
        "limits": limits,
        "operations": _OPERATIONS,
    }


def reply(rng: Random, call_id: int) -> Frame:
    """A reply, to the call that is waiting most of the time."""
    made = legal.frame(rng, "host_result")
    right = {"invocation_id": _INVOCATION, "call_id": call_id}
    if rng.random() < 0.06:
        right[rng.choice(sorted(right))] = legal.identifier(rng)
    return made | right


def mutate_stream(data: bytes, max_size: int, seed: int) -> bytes:
    """Another stream: a new one, or `data` with a line changed, repeated, dropped or added."""
    rng = Random(seed)
    if not data or rng.random() < 0.5:
        return stream(rng)[:max_size]
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    choice = rng.randrange(6)
    if choice == 0:
        lines[at] = splice(rng, lines[at])
    elif choice == 1:
        lines.insert(at, lines[at])
    elif choice == 2 and len(lines) > 1:
        del lines[at]
    elif choice == 3:
        lines[at] = _faulty(rng, lines[at])
    elif choice == 4:
        rng.shuffle(lines)
    else:
        lines.append(spell(reply(rng, len(lines))).replace(b"\n", b" "))
    return b"\n".join(lines[:_MOST_LINES])[:max_size]


def _faulty(rng: Random, line: bytes) -> bytes:
    try:
        frame: Any = json.loads(line)
    except (ValueError, RecursionError):
        frame = None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        frame = reply(rng, 1)
    return FAULTS[rng.choice(sorted(FAULTS))](rng, frame).replace(b"\n", b" ")


def stream_seeds() -> dict[str, bytes]:
    """Each program with an answer to each of its calls, and streams made at random."""
    seeds: dict[str, bytes] = {"empty": b"", "noise": b"hello"}
    for number, source in enumerate(_SOURCES):
        rng = Random(f"source {number}")
        first = execute(rng) | {"source": source}
        lines = [first, *({**reply(Random(0), n), "call_id": n} for n in (1, 2, 3))]
        seeds[f"source-{number:02}"] = b"\n".join(map(spell, lines))
    for number in range(30):
        seeds[f"made-{number:02}"] = stream(Random(f"stream {number}"))
    return seeds
