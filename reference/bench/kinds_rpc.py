"""What a soak of `worker-rpc` runs: programs by completion value, calls that wait their turn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kinds import BOMBS, CANCELLED, CRASH, LATE, SHORT, TOWERS, Kinds, Plan, scenarios

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


def _failed(code: str, operation: str) -> dict[str, Any]:
    return {"success": False, "code": code, "operation": operation}


_FAILURES = (
    ("codemode.fail()", _failed("operation_failed", "fail")),
    ("codemode.odd({})", _failed("host_result_invalid", "odd")),
)
_THROWN = (
    ("codemode.add(1, 'x')", {"code": "invalid_arguments", "operation": "add"}),
    ("codemode.add(1, 2, 3)", {"code": "invalid_arguments", "operation": "add"}),
    ("codemode.echo(() => 1)", {"code": "invalid_arguments"}),
    ("codemode.forbidden()", {"code": "capability_denied", "operation": "forbidden"}),
    ("codemode.call('nothing')", {"code": "unknown_operation"}),
    ("codemode.ekho()", {"code": "unknown_method", "suggestion": "echo"}),
    ("codemode.call('bytes', 102399)", {"code": "host_result_bytes_limit", "operation": "bytes"}),
    ("codemode.echo({q: '(SELECT 1)'})", {"code": "pattern_blocked", "pattern": "(SELECT"}),
    (
        "Promise.all(Array.from({length: 1001}, () => codemode.echo({})))",
        {"code": "host_calls_limit", "limit": 1000},
    ),
)


def _echo(random: Random) -> Plan:
    value = {"n": random.randrange(2**53), "text": "é" * random.randrange(2000), "list": [None, []]}
    return Plan("echo", f"await codemode.echo({json.dumps(value)})", ({"value": value},))


def _position(random: Random) -> Plan:
    a, b = random.randrange(100), random.randrange(100)
    return Plan("position", f"await codemode.add({a}, {b}) // sum", ({"value": {"a": a, "b": b}},))


def _queue(random: Random) -> Plan:
    count = random.randint(17, 60)
    source = (
        f"const all = Array.from({{length: {count}}}, (_, is) => codemode.slow({{ms: 2, is}}));\n"
        "await Promise.all(all)"
    )
    return Plan("queue", source, ({"value": list(range(count))},))


def _value(random: Random) -> Plan:
    call, wants = random.choice(_FAILURES)
    return Plan("failure", f"await {call};", ({"value": wants},))


def _caught(random: Random) -> Plan:
    call, wants = random.choice(_THROWN)
    source = f"let told;\ntry {{ await {call}; }} catch (error) {{ told = {{...error}}; }}\ntold"
    return Plan("caught", source, ({"value": wants},))


def _progress(random: Random) -> Plan:
    count = random.randrange(200)
    source = f"for (let n = 0; n < {count}; n++) codemode.reportProgress(n, {count}, 'é');\n'told'"
    return Plan("progress", source, ({"value": "told"},))


_ENDINGS = (
    ("null", {"value": None}),
    ("const a = 1; ({a, b: undefined})", {"value": {"a": 1}}),
    ("() => 1", {"code": "code_rejected", "reason": "not_json"}),
    ("throw new Error('x')", {"code": "code_rejected", "reason": "uncaught"}),
    ("1 +", {"code": "code_rejected", "reason": "syntax"}),
    ("return 1 })(); (async () => { return 2", {"code": "code_rejected", "reason": "syntax"}),
    ("await new Promise(() => {})", {"code": "code_rejected", "reason": "stalled"}),
    ("'b'.repeat(102399)", {"code": "final_result_bytes_limit"}),
    ("eval('1')", {"code": "pattern_blocked", "pattern": "eval"}),
    (" ", {"code": "source_empty"}),
    ("x" * 51201, {"code": "source_bytes_limit", "measured": 51201}),
)


def _ending(random: Random) -> Plan:
    source, wants = random.choice(_ENDINGS)
    return Plan("ending", source, (wants,))


_LOOPS = (
    "for (;;);",
    "for (;;) await null",
    "try { for (;;); } finally { for (;;); }",
    "/(z+z+)+y/.test('z'.repeat(34))",
    "({get a() { for (;;); }})",
)


def _loop(random: Random) -> Plan:
    return Plan("loop", random.choice(_LOOPS), (LATE,), SHORT)


def _processor(random: Random) -> Plan:
    wants = {"code": "cpu_time_exceeded", "limit": 150}
    return Plan("processor", random.choice(_LOOPS), (wants,), {"cpu_time_ms": 150})


def _memory(random: Random) -> Plan:
    wants = {"code": "code_rejected", "reason": "memory"}
    others = CRASH, {"code": "deadline_exceeded"}, {"code": "cpu_time_exceeded"}
    # A small heap: that of the profile would take longer to fill than the soak has.
    source = random.choice([bomb for bomb in BOMBS if "codemode" not in bomb])
    return Plan("memory bomb", source, (wants, *others), {"memory_bytes": 1 << 24})


def _stack(random: Random) -> Plan:
    wants = {"code": "code_rejected", "reason": "stack"}
    others = {"value": 60001}, {"value": 0}, {"reason": "syntax", "detail": "stack overflow"}
    return Plan("stack bomb", random.choice(TOWERS), (wants, CRASH, *others))


def _kill(random: Random) -> Plan:
    source = f"codemode.die({{ms: {random.randrange(30)}}}); await codemode.never()"
    return Plan("killed", source, (CRASH,))


def _cancel(random: Random) -> Plan:
    source = random.choice(("await codemode.never()", "for (;;);", "for (;;) await null"))
    ms, abandon = random.random() * 60, random.random() < 0.4
    return Plan("cancelled", source, (CANCELLED,), cancel_ms=ms, abandon=abandon)


_HEALTHY: list[Callable[[Random], Plan]] = [
    *[_echo, _echo, _position, _queue, _value, _caught, _caught, _progress, _ending, _ending],
]
_HOSTILE: list[Callable[[Random], Plan]] = [
    *[_loop, _loop, _processor, _memory, _memory, _stack, _stack, _kill, _kill, _cancel, _cancel],
]

KINDS = Kinds(
    _HEALTHY,
    _HOSTILE,
    scenarios({"code": "host_calls_limit", "operation": "never", "limit": 1000}),
)
