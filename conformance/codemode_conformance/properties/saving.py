"""A disagreement as a case that the suite can run: what the model says is what it expects."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.model import prediction
from codemode_spec.model.steps import program

from codemode_conformance.failures import UsageError
from codemode_conformance.properties.dialect import NEEDED, OPEN
from codemode_conformance.properties.explaining import behaviours_of, steps_text

if TYPE_CHECKING:
    from pathlib import Path

    from codemode_spec.cases import OperationSpec
    from codemode_spec.model.prediction import Made, Prediction

    from codemode_conformance.properties.agreement import Foreseen
    from codemode_conformance.properties.dialect import Dialect
    from codemode_conformance.properties.example import Example

AREA: Final = "CAL"
REQUIREMENTS: Final = {"outcome": "CM-LIF-004", "value": "CM-RET-001", "calls": "CM-CAL-032"}
"""What a saved case is taken to judge until somebody names the rule that was broken."""

CATEGORIES: Final = {
    "calls": "CM-CAL-013",
    "data": "CM-DAT-010",
    "script": "CM-ERR-010",
    "result": "CM-RET-005",
}
CODE: Final = "CM-ERR-026"
STEP_MS: Final = 50
_HEAD: Final = """\
# Written by `cmconf property`. The requirements are general ones: name the rule that was broken.
# The program in steps, for `steps/`:
"""


def save(example: Example, foreseen: Foreseen, dialect: Dialect, folder: Path) -> Path:
    """Write the case into a folder and return its file; UsageError where that cannot be done."""
    case = document(example, foreseen, dialect)
    name = case["cases"][0]["id"]
    steps = steps_text({name: {"steps": list(example.steps)}})
    head = _HEAD + "".join(f"#   {line}\n" for line in steps.splitlines())
    file = folder / f"{name}.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(head + steps_text(case), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--save {folder}: {error.strerror}; choose another place") from None
    return file


def document(example: Example, foreseen: Foreseen, dialect: Dialect) -> dict[str, Any]:
    """The case document of an example, with the expectation that the model has of it."""
    source = example.source(dialect)
    expected = _expectation(foreseen, dialect)
    blocks = expected.get("any_of", [expected])
    wanted = dict(REQUIREMENTS)
    category = blocks[0].get("category", {}).get("want", [""])[0]
    if category in CATEGORIES:
        wanted["category"] = CATEGORIES[category]
    else:
        for block in blocks:
            block.pop("category", None)
    if not {"value", "odd"} & set(blocks[0]):
        del wanted["value"]
    if "error" in blocks[0]:
        wanted["code"] = CODE
    digest = hashlib.sha256(json.dumps([source, example.policy], sort_keys=True).encode())
    used = {call.operation for call in foreseen.prediction.calls}
    case = {
        "id": f"{AREA.lower()}.property-{digest.hexdigest()[:10]}",
        "title": "What the model says of a program that was found by search",
        "requirements": wanted,
        "roles": ["engine"],
        "alternatives": {
            name: [dialect.alternatives[name]]
            for name in (*NEEDED, *OPEN)
            if isinstance(dialect.alternatives.get(name), str)
        },
        **({"set": dict(example.policy)} if example.policy else {}),
        "operations": [
            _operation(spec, foreseen, delays=not _natural(example, foreseen))
            for spec in example.operations
            if spec.name in used or f'"{spec.name}"' in source
        ],
        "program": {"javascript": {dialect.style: source + "\n"}},
        "expect": [expected],
    }
    return {"format": 1, "area": AREA, "cases": [_escaped(case)]}


def _expectation(foreseen: Foreseen, dialect: Dialect) -> dict[str, Any]:
    said = foreseen.prediction
    error = said.outcome.error
    block: dict[str, Any] = {"outcome": "value" if error is None else "failure"}
    if error is not None:
        category = foreseen.rules.tables.errors[error.code].category_of(error.reason)
        block["category"] = {"want": [category]}
        if dialect.contract:
            block["error"] = error.fields()
    elif not said.outcome.present:
        block["value"] = {"absent": True}
    else:
        block["value"] = said.outcome.value
        if said.odd:
            block["odd"] = [[list(path), kind] for path, kind in said.odd]
    made = [_call(call) for call in said.calls]
    # The last calls may be cancelled before they are dispatched.
    lists = [made[:count] for count in range(foreseen.certain, len(made) + 1)]
    if len(lists) == 1:
        return {**block, "calls": made}
    return {"any_of": [{**block, "calls": calls} for calls in lists]}


def _call(call: Made) -> dict[str, Any]:
    odd = {"odd": [[list(path), kind] for path, kind in call.odd]} if call.odd else {}
    return {"op": call.operation, "args": call.arguments, **odd}


def _natural(example: Example, foreseen: Foreseen) -> bool:
    """Whether replies at once lead to the same end, so that no order need be written down."""
    said = prediction.predict(foreseen.rules, program(list(example.steps)), example.scripted)
    return _end(said) == _end(foreseen.prediction)


def _end(said: Prediction) -> tuple[Any, ...]:
    return said.outcome, said.calls, said.odd


def _operation(spec: OperationSpec, foreseen: Foreseen, *, delays: bool) -> dict[str, Any]:
    behaviours = behaviours_of(spec)
    if delays:
        numbers = [
            number
            for number, call in enumerate(foreseen.prediction.calls, 1)
            if call.operation == spec.name
        ]
        last = len(behaviours) - 1
        behaviours = [
            {**behaviours[min(index, last)], "delay_ms": _delay(foreseen, number)}
            for index, number in enumerate(numbers)
        ] or behaviours
    entry = {"name": spec.name, "effect": spec.effect, "behaviour": behaviours}
    return {**entry, "arguments": dict(spec.arguments)} if spec.arguments else entry


def _delay(foreseen: Foreseen, number: int) -> int:
    """The reply comes in its turn: each turn is a step later than the one before."""
    turns = [release.number for release in foreseen.script]
    begun = sum(release.after < number for release in foreseen.script)
    turn = turns.index(number) + 1 if number in turns else len(turns) + 1
    return STEP_MS * (turn - begun)


def _escaped(value: Any) -> Any:
    """The same value with no template in it."""
    if isinstance(value, str):
        return value.replace("@{", "@@{")
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list | tuple) else value
