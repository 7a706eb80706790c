"""What a soak runs: programs of many kinds, each with the outcomes that it may have."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

# Of all invocations.
HOSTILE_SHARE = 0.1
SHORT = {"wall_time_ms": 200}
CANCELLED = {"code": "cancelled"}


@dataclass(frozen=True)
class Plan:
    """One invocation. `wants` are outcomes, one of which it must have: fields that must be there.

    It is cancelled after `cancel_ms`, with `abandon` by cancelling the calling task.
    """

    kind: str
    source: str
    wants: tuple[Mapping[str, Any], ...]
    rows: Mapping[str, int] = field(default_factory=dict)
    cancel_ms: float | None = None
    abandon: bool = False


class Kinds(NamedTuple):
    """The kinds of one profile: programs, hostile ones, and what a worker that is none does."""

    healthy: list[Callable[[Random], Plan]]
    hostile: list[Callable[[Random], Plan]]
    scenario: Callable[[Random], Plan]


def plan(random: Random, kinds: Kinds, *, scripted: bool) -> Plan:
    """The next invocation; `scripted` workers can play scenarios too."""
    if random.random() >= HOSTILE_SHARE:
        return random.choice(kinds.healthy)(random)
    some = kinds.hostile + [kinds.scenario] * 12 if scripted else kinds.hostile
    return random.choice(some)(random)


# Programs that do what programs do

_OUTCOMES = (
    ("codemode.fail({})", {"code": "operation_failed", "operation": "fail"}),
    ("codemode.odd({})", {"code": "host_result_invalid", "operation": "odd"}),
    ("codemode.add({a: 1, b: 'x'})", {"code": "invalid_arguments", "operation": "add"}),
    ("codemode.echo(() => 1)", {"code": "invalid_arguments"}),
    ("codemode.forbidden({})", {"code": "capability_denied", "operation": "forbidden"}),
    ("codemode.bytes(65535)", {"code": "host_result_bytes_limit", "operation": "bytes"}),
    ("times(5, () => codemode.bytes(60000))", {"code": "cumulative_host_bytes_limit"}),
    ("times(9, () => codemode.page({}))", {"code": "pages_limit", "limit": 8}),
    ("times(3, () => codemode.open({}))", {"code": "snapshots_limit", "limit": 2}),
    ("times(17, (i) => codemode.echo(i))", {"code": "host_calls_limit", "limit": 16}),
    (
        "Promise.all([1, 2, 3, 4, 5].map((ms) => codemode.slow({ms, is: ms})))",
        {"code": "host_concurrency_limit", "operation": "slow", "limit": 4},
    ),
    ("codemode.ekho({})", {"code": "unknown_method", "suggestion": "echo"}),
    ("codemode.call('nothing', {})", {"code": "unknown_operation"}),
)
_TIMES = "const times = async (n, call) => { for (let i = 0; i < n; i++) await call(i); };\n"


def _echo(random: Random) -> Plan:
    value = {"n": random.randrange(2**53), "text": "é" * random.randrange(2000), "list": [None, []]}
    source = f"return codemode.echo({json.dumps(value)});"
    return Plan("echo", source, ({"value": value},))


def _several(random: Random) -> Plan:
    calls = [{"ms": random.randrange(20), "is": n} for n in range(random.randint(1, 4))]
    source = f"return Promise.all({json.dumps(calls)}.map((call) => codemode.slow(call)));"
    return Plan("several calls", source, ({"value": [call["is"] for call in calls]},))


def _caught(random: Random) -> Plan:
    call, wants = random.choice(_OUTCOMES)
    source = f"{_TIMES}try {{ await {call}; }} catch (error) {{ return {{...error}}; }}"
    return Plan("caught", source, ({"value": wants},))


def _uncaught(random: Random) -> Plan:
    call, wants = random.choice(_OUTCOMES)
    return Plan("uncaught", f"{_TIMES}return await {call};", (wants,))


def _not_awaited(random: Random) -> Plan:
    ms = random.randrange(100)
    source = f"codemode.never({{}}); codemode.slow({{ms: {ms}, is: 1}}); return 3;"
    return Plan("not awaited", source, ({"value": 3},))


def _ending(random: Random) -> Plan:
    source, wants = random.choice(
        (
            ("return null", {"value": None}),
            ("const nothing = 1;", {"code": "code_rejected", "reason": "no_value"}),
            ("return [() => 1]", {"code": "code_rejected", "reason": "not_json"}),
            ("throw new Error('x')", {"code": "code_rejected", "reason": "uncaught"}),
            ("return 1 +", {"code": "code_rejected", "reason": "syntax"}),
            ("await new Promise(() => {})", {"code": "code_rejected", "reason": "stalled"}),
            ("return 'b'.repeat(49151)", {"code": "final_result_bytes_limit", "measured": 49153}),
            (" ", {"code": "source_empty"}),
            ("x" * 32769, {"code": "source_bytes_limit", "measured": 32769}),
        )
    )
    return Plan("ending", source, (wants,))


HEALTHY: list[Callable[[Random], Plan]] = [
    *[_echo, _several, _caught, _caught, _uncaught, _uncaught, _not_awaited, _ending]
]


# Programs that do not

LATE = {"code": "deadline_exceeded", "limit": 200}
_LOOPS = (
    "for (;;);",
    "for (;;) await 0;",
    "try { for (;;); } finally { for (;;); }",
    "codemode.never({}); for (;;);",
    "return /(z+z+)+y/.test('z'.repeat(34));",
    "Array.prototype.reverse.call({ length: 2 ** 53 - 1 });",
)
BOMBS = (
    "const all = []; for (;;) all.push({});",
    "let text = 'seed'; for (;;) text += text;",
    "codemode.never({}); const all = new Map(); for (let i = 0; ; i++) all.set('k' + i, {i});",
    "return new ArrayBuffer(2 ** 31 - 1).byteLength;",
)
TOWERS = (
    "const dive = (n) => 1 + dive(n + 1); return dive(0);",
    "let v = 0; for (let i = 0; i < 30000; i++) v = [v]; return JSON.stringify(v).length;",
    f"return {'(' * 15000}0{')' * 15000};",
)
# A crash of an engine is a lost worker, and no more than that.
CRASH = {"code": "worker_exited"}


def _loop(random: Random) -> Plan:
    return Plan("loop", random.choice(_LOOPS), (LATE,), SHORT)


def _memory(random: Random) -> Plan:
    wants = {"code": "code_rejected", "reason": "memory"}
    # Slow machines, and engines that get slow when memory is short.
    late = {"code": "deadline_exceeded"}
    return Plan("memory bomb", random.choice(BOMBS), (wants, CRASH, late))


def _stack(random: Random) -> Plan:
    wants = {"code": "code_rejected", "reason": "stack"}
    # An engine that copes with the last two, and one whose parser says it as a syntax error.
    others = {"value": 60001}, {"value": 0}, {"reason": "syntax", "detail": "stack overflow"}
    return Plan("stack bomb", random.choice(TOWERS), (wants, CRASH, *others))


def _kill(random: Random) -> Plan:
    source = random.choice(
        (
            "await codemode.die({ms: %d}); return 1;",
            "codemode.die({ms: %d}); for (let i = 0; ; i++) if (i %% 1000 === 0) await 0;",
        )
    )
    return Plan("killed", source % random.randrange(30), (CRASH,))


def _cancel(random: Random) -> Plan:
    ms = random.random() * 60
    source = random.choice(("await codemode.never({})", "for (;;);", "for (;;) await 0;"))
    return Plan("cancelled", source, (CANCELLED,), cancel_ms=ms, abandon=random.random() < 0.4)


def _cancel_race(random: Random) -> Plan:
    ms = random.randrange(40)
    source = f"return codemode.slow({{ms: {ms}, is: 1}});"
    wants = (CANCELLED, {"value": 1})
    abandon = random.random() < 0.4
    return Plan("cancel race", source, wants, cancel_ms=ms + 40 * random.random(), abandon=abandon)


HOSTILE: list[Callable[[Random], Plan]] = [
    *[_loop, _loop, _memory, _memory, _stack, _stack, _kill, _kill, _cancel, _cancel],
    *[_cancel_race, _cancel_race],
]

_BROKEN = {"code": "worker_protocol_error"}
_SCENARIOS: dict[str, tuple[Mapping[str, Any], Mapping[str, int]]] = {
    "exits-with-nothing": (_BROKEN, {}),
    "exits-with-a-status": (CRASH, {}),
    "aborts": (CRASH, {}),
    "fails-after-its-result": (CRASH, {}),
    "half-a-frame": (_BROKEN, {}),
    "closes-its-output": (_BROKEN, {}),
    "floods-its-output": (_BROKEN, {}),
    "floods-of-calls": ({}, {}),
    "floods-stderr": (LATE, SHORT),
    "noise-on-stderr": ({"value": 7}, {}),
    "stops": (LATE, SHORT),
    "never-reads": (LATE, SHORT),
    "a-child-holds-the-pipes": ({"value": 7}, {}),
    "a-child-holds-the-pipes-of-a-failure": (CRASH, {}),
}


def scenarios(flooded: Mapping[str, Any]) -> Callable[[Random], Plan]:
    """Workers that are none: `switch.py` finds the name in the source.

    `flooded` is how one ends that sends calls without end.
    """

    def scenario(random: Random) -> Plan:
        name = random.choice(sorted(_SCENARIOS))
        wants, rows = _SCENARIOS[name]
        if name == "floods-of-calls":
            wants = flooded
        return Plan(name, f"// scenario {name}\n", (wants,), rows)

    return scenario


KINDS = Kinds(
    HEALTHY,
    HOSTILE,
    scenarios({"code": "host_calls_limit", "operation": "never", "limit": 16}),
)
"""Those of `process-async`."""
