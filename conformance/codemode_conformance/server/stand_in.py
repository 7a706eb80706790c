"""Operations that a server's own API stands in for: their prelude, and the ledger of calls.

The prelude is one line of JavaScript that makes `host` of the templates of the target file; the
ledger is written by the calls themselves and read back by a direct tool call. No I/O.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import messages
from codemode_conformance.observation import Call, Value
from codemode_conformance.server.answer import at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec.cases import Behaviour, OperationSpec

CAPABILITIES: Final = {
    "op.value": ("value", "generate"),
    "op.fail": ("fail",),
    "op.delay": ("delay",),
    "op.never": ("never",),
    "op.ledger": ("ledger",),
    "op.many": (),
}
"""What a stand-in can do, by the entries of `[server.stand_in]` that it needs for it."""

_PLACEHOLDER: Final = re.compile(r"\{(op|args|json|text|times|code|message|ms)\}")


def capabilities(stand_in: Mapping[str, Any]) -> frozenset[str]:
    """The capabilities of operations that these entries make."""
    return frozenset(
        name for name, keys in CAPABILITIES.items() if all(key in stand_in for key in keys)
    )


def prelude(stand_in: Mapping[str, Any], operations: Iterable[OperationSpec]) -> str:
    """`const host = ...;` for these operations, on one line.

    Lookups are comparisons, and JSON is taken before the program runs, so that a program that
    changes prototypes or JSON does not change the operations.
    """
    counters, branches = [], []
    for index, operation in enumerate(operations):
        counters.append(f"n{index} = 0")
        *first, last = (
            _behaviour(stand_in, operation.name, behaviour) for behaviour in operation.behaviour
        )
        steps = [f"if (n === {number}) {{ {text} }}" for number, text in enumerate(first)]
        name = _literal(operation.name)
        body = " ".join([*steps, last])
        branches.append(f"if (name === {name}) {{ const n = n{index}++; {body} }}")
    declared = f"let {', '.join(counters)}; " if counters else ""
    return (
        "const host = (() => { const { parse, stringify } = JSON; "
        f"{declared}"
        "const call = async (name, value) => { "
        'const args = value === undefined ? "{}" : stringify(value); '
        f"{' '.join(branches)} "
        'throw new Error("there is no such operation"); }; '
        "return { call, all: (list) => "
        "Promise.all(list.map((entry) => call(entry[0], entry[1]))) }; })();"
    )


def _behaviour(stand_in: Mapping[str, Any], op: str, behaviour: Behaviour) -> str:
    known: dict[str, Any] = {
        "op": _literal(op),
        "args": "args",
        "json": _literal(_compact(behaviour.value)),
        "code": _literal(behaviour.code),
        "message": _literal(behaviour.message),
        "ms": str(behaviour.delay_ms),
    }
    kind = behaviour.kind
    value = behaviour.value
    if kind == "value" and isinstance(value, str) and len(value) > 1 and len(set(value)) == 1:
        # A long text is made by the server, not carried inside the program.
        kind = "generate"
        known |= {"text": _literal(value[0]), "times": str(len(value))}
    names = ["record"] if "record" in stand_in else []
    names += ["delay"] if behaviour.delay_ms else []
    parts = [f"await ({_filled(stand_in[name], known)});" for name in names]
    return " ".join([*parts, f"return await ({_filled(stand_in[kind], known)});"])


def _filled(template: str, known: Mapping[str, str]) -> str:
    # One line, whatever the file looks like: lines are counted from the program on.
    line = " ".join(template.split("\n"))
    return _PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), line)


def _literal(text: str) -> str:
    # As few escapes as possible: some servers refuse programs that contain any.
    return json.dumps(text, ensure_ascii=False)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def calls_of(ledger: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[Call, ...]:
    """The ledger's rows in the document of an answer; LookupError, ValueError if none are there.

    When a call came is not known: the times are zero, and overlap is not observed.
    """
    rows = at(answer, ledger["rows"])
    if not isinstance(rows, list):
        raise LookupError(ledger["rows"])  # noqa: TRY004  the server's fault, like a missing one
    calls = []
    for number, row in enumerate(rows, start=1):
        op, args = at(row, ledger["op"]), at(row, ledger["args"])
        value, cut = messages.parse(args) if isinstance(args, str) else (args, False)
        odd = (((), "unknown"),) if cut else ()
        calls.append(Call(number, str(op), Value(present=True, value=value, odd=odd), at_ms=0.0))
    return tuple(calls)
