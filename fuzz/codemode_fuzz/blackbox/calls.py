"""Programs that call operations, whose answers, order and ledger are known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz.blackbox.expressions import anything

if TYPE_CHECKING:
    from random import Random

_OPERATIONS: Final = ("add", "list_orders", "fetch_1")
_MOST_CALLS: Final = 4


def calls(rng: Random) -> dict[str, Any]:
    """A few calls, one after the other; each answers or fails, and the program tells all."""
    names = rng.sample(_OPERATIONS, rng.randint(1, len(_OPERATIONS)))
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    asynchronous: list[str] = []
    synchronous: list[str] = []
    told: list[Any] = []
    ledger: list[dict[str, Any]] = []
    fails = rng.random() < 0.3
    for _ in range(rng.randint(1, _MOST_CALLS)):
        name = rng.choice(names)
        argument, answer = anything(rng, 2), anything(rng, 3).value
        sent: Any = {"v": argument.value}
        text = f"host.call({json.dumps(name)}, {{ v: {argument.text} }})"
        failed = fails and rng.random() < 0.5
        if failed:
            answers[name].append({"fail": {"code": "E1", "message": "no"}})
            told.append("failed")
        else:
            answers[name].append({"value": answer})
            told.append(answer)
        ledger.append({"op": name, "args": sent})
        for lines, word in ((asynchronous, "await "), (synchronous, "")):
            lines.append(f"try {{ told.push({word}{text}); }} catch (e) {{ told.push('failed'); }}")
    operations = [
        {"name": name, "effect": "read", "behaviour": behaviour or [{"value": None}]}
        for name, behaviour in answers.items()
    ]
    style = {
        word: "\n".join(("const told = [];", *lines, "return told;")).replace("@{", "@@{")
        for word, lines in (("async", asynchronous), ("sync", synchronous))
    }
    made: dict[str, Any] = {
        "requirements": {"outcome": "CM-VAL-001", "value": "CM-VAL-001", "calls": "CM-VAL-001"},
        "operations": operations,
        "program": {"javascript": style},
        "expect": [{"outcome": "value", "value": told, "calls": ledger}],
        "least": {"host_calls": _MOST_CALLS},
    }
    return made | ({"alternatives": {"operation_failure": ["throw"]}} if fails else {})
