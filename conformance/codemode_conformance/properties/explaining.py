"""A disagreement for people: the program, what the model says and why, and what was seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from codemode_conformance.commands.ask import outcome_line, step_lines
from codemode_conformance.layers import describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec.cases import Behaviour, OperationSpec

    from codemode_conformance.properties.dialect import Dialect
    from codemode_conformance.properties.example import Example
    from codemode_conformance.properties.performing import Performed

_MARGIN = "  "
_SHOWN = 300


def explain(example: Example, performed: Performed, dialect: Dialect) -> Iterator[str]:
    """The lines that tell of one disagreement."""
    yield "the program, in steps:"
    yield from _indented(steps_text(list(example.steps)))
    yield "as it was put to the target:"
    yield from _indented(example.source(dialect))
    if example.policy:
        yield "policy: " + ", ".join(f"{row} = {value}" for row, value in example.policy.items())
    for spec in example.operations:
        if f'"{spec.name}"' in json.dumps(list(example.steps)):
            yield f"operation {spec.name}: {'; '.join(map(_answer, behaviours_of(spec)))}"
    foreseen = performed.foreseen
    if foreseen.script:
        told = ", ".join(f"call {one.number} after {one.after}" for one in foreseen.script)
        yield f"replies, each after so many calls: {told}"
    yield "the model, step by step:"
    yield from step_lines(foreseen.prediction.notes)
    yield f"  the model says: {outcome_line(foreseen.prediction)}"
    seen = ", ".join(f"{call.op}({_short(call.args.value)})" for call in performed.run.calls)
    yield f"  there was:      {describe(performed.run)}; calls [{seen}]"
    yield from (f"NOT THE SAME, {line}" for line in performed.compared.differs)
    yield f"orders of branches that were tried: {performed.compared.orders}"


class _Plain(yaml.SafeDumper):
    """Writes out what stands twice: a reader of steps knows no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Every value is written where it stands."""
        del data
        return True


def steps_text(value: Any) -> str:
    """Plain YAML, keys in the order of the value."""
    text: str = yaml.dump(value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=96)
    return text


def behaviours_of(spec: OperationSpec) -> list[dict[str, Any]]:
    """What an operation does, as a case document says it."""
    return list(map(_behaviour, spec.behaviour))


def _behaviour(one: Behaviour) -> dict[str, Any]:
    found: Mapping[str, dict[str, Any]] = {
        "value": {"value": one.value},
        "fail": {"fail": {"code": one.code, "message": one.message}},
        "odd": {"odd": one.value},
        "absent": {"absent": True},
        "never": {"never": True},
    }
    return found[one.kind]


def _answer(behaviour: dict[str, Any]) -> str:
    ((kind, what),) = behaviour.items()
    return f"{kind} {_short(what)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _indented(text: str) -> list[str]:
    return [_MARGIN + line for line in text.rstrip("\n").split("\n")]
