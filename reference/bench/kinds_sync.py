"""What a soak of `inline-sync` runs: synchronous programs, batches among them."""

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
    ("tools.call('fail')", _failed("operation_failed", "fail")),
    ("tools.call('odd')", _failed("host_result_invalid", "odd")),
)
_CAUGHT = (
    ("tools.call('add', {a: 1, b: 'x'})", {"code": "invalid_arguments", "operation": "add"}),
    ("tools.call('echo', () => 1)", {"code": "invalid_arguments"}),
    ("tools.call('forbidden')", {"code": "capability_denied", "operation": "forbidden"}),
    ("tools.call('nothing')", {"code": "unknown_operation"}),
    ("tools.cal", {"code": "unknown_method", "suggestion": "call"}),
    ("tools.callAll([{name: 'echo'}, {name: 'ekho'}])", {"code": "unknown_operation"}),
)
# Terminal: no catch and no finally runs after them.
_SPENT = (
    ("tools.call('bytes', 1048575)", {"code": "host_result_bytes_limit", "operation": "bytes"}),
    ("for (;;) tools.call('bytes', 1000000)", {"code": "cumulative_host_bytes_limit"}),
    ("for (;;) tools.call('echo', 1)", {"code": "host_calls_limit", "limit": 200}),
    (
        "tools.callAll(Array.from({length: 201}, () => ({name: 'echo'})))",
        {"code": "host_calls_limit", "limit": 200},
    ),
)


def _echo(random: Random) -> Plan:
    value = {"n": random.randrange(2**53), "text": "é" * random.randrange(2000), "list": [None, []]}
    return Plan("echo", f"return tools.call('echo', {json.dumps(value)});", ({"value": value},))


def _batch(random: Random) -> Plan:
    entries = []
    for number in range(random.randint(1, 12)):
        name = random.choice(("slow", "slow", "put"))
        entries.append({"name": name, "args": {"ms": random.randrange(8), "is": number}})
    source = f"return tools.callAll({json.dumps(entries)});"
    return Plan("batch", source, ({"value": list(range(len(entries)))},))


def _mixed(random: Random) -> Plan:
    names = [random.choice(("echo", "fail", "odd")) for _ in range(random.randint(1, 20))]
    entries = [{"name": name, "args": number} for number, name in enumerate(names)]
    codes = {"fail": "operation_failed", "odd": "host_result_invalid"}
    value = [_failed(codes[n], n) if n in codes else i for i, n in enumerate(names)]
    return Plan("mixed", f"return tools.callAll({json.dumps(entries)});", ({"value": value},))


def _value(random: Random) -> Plan:
    call, wants = random.choice(_FAILURES)
    return Plan("failure", f"return {call};", ({"value": wants},))


def _caught(random: Random) -> Plan:
    call, wants = random.choice(_CAUGHT)
    source = f"try {{ {call}; }} catch (error) {{ return {{...error}}; }}"
    return Plan("caught", source, ({"value": wants},))


def _spent(random: Random) -> Plan:
    call, wants = random.choice(_SPENT)
    return Plan("spent", f"try {{ {call}; }} finally {{ return 'went on'; }}", (wants,))


def _waits(random: Random) -> Plan:
    # Starting a worker on a busy machine is time of the program, waiting is not.
    ms = 1700 + random.randrange(100)
    source = f"return tools.call('slow', {{ms: {ms}, is: 1}});"
    return Plan("waits", source, ({"value": 1},), {"wall_time_ms": 1500})


def _ending(random: Random) -> Plan:
    source, wants = random.choice(
        (
            ("return null", {"value": None}),
            ("return {a: undefined, b: 1}", {"value": {"b": 1}}),
            ("return [() => 1]", {"code": "code_rejected", "reason": "not_json"}),
            ("return Promise.resolve(1)", {"code": "code_rejected", "reason": "not_json"}),
            ("throw new Error('x')", {"code": "code_rejected", "reason": "uncaught"}),
            ("return 1 +", {"code": "code_rejected", "reason": "syntax"}),
            ("return 'b'.repeat(262143)", {"code": "final_result_bytes_limit"}),
            (" ", {"code": "source_empty"}),
            ("x" * 65537, {"code": "source_bytes_limit", "measured": 65537}),
        )
    )
    return Plan("ending", source, (wants,))


_LOOPS = (
    "for (;;);",
    "try { for (;;); } finally { for (;;); }",
    "return /(z+z+)+y/.test('z'.repeat(34));",
    "return {get a() { for (;;); }};",
    "tools.call('slow', {ms: 50, is: 1}); for (;;);",
)


def _loop(random: Random) -> Plan:
    return Plan("loop", random.choice(_LOOPS), (LATE,), SHORT)


def _memory(random: Random) -> Plan:
    source = random.choice([bomb for bomb in BOMBS if "codemode" not in bomb])
    wants = {"code": "code_rejected", "reason": "memory"}
    return Plan("memory bomb", source, (wants, CRASH, {"code": "deadline_exceeded"}))


def _stack(random: Random) -> Plan:
    wants = {"code": "code_rejected", "reason": "stack"}
    others = {"value": 60001}, {"value": 0}, {"reason": "syntax", "detail": "stack overflow"}
    return Plan("stack bomb", random.choice(TOWERS), (wants, CRASH, *others))


def _kill(random: Random) -> Plan:
    source = f"tools.call('die', {{ms: {random.randrange(30)}}}); return 1;"
    return Plan("killed", source, (CRASH,))


def _cancel(random: Random) -> Plan:
    source = random.choice(
        (
            "for (;;) try { tools.call('never'); } finally { continue; }",
            "for (;;);",
            "tools.callAll([{name: 'never'}, {name: 'never'}]);",
        )
    )
    ms, abandon = random.random() * 60, random.random() < 0.4
    return Plan("cancelled", source, (CANCELLED,), cancel_ms=ms, abandon=abandon)


def _cancel_race(random: Random) -> Plan:
    ms = random.randrange(40)
    source = f"return tools.call('slow', {{ms: {ms}, is: 1}});"
    wants = (CANCELLED, {"value": 1})
    late = ms + 40 * random.random()
    return Plan("cancel race", source, wants, cancel_ms=late, abandon=random.random() < 0.4)


_HEALTHY: list[Callable[[Random], Plan]] = [
    *[_echo, _batch, _batch, _mixed, _value, _caught, _caught, _spent, _ending] * 3,
    _waits,
]
_HOSTILE: list[Callable[[Random], Plan]] = [
    *[_loop, _loop, _memory, _memory, _stack, _stack, _kill, _kill, _cancel, _cancel],
    *[_cancel_race, _cancel_race],
]

# A worker that has more calls open than it may ends its invocation by that.
KINDS = Kinds(
    _HEALTHY,
    _HOSTILE,
    scenarios({"code": "host_concurrency_limit", "operation": "never", "limit": 4}),
)
