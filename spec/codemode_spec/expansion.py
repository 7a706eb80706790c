"""From one entry of a case document to its cases: variants, judged layers, implied needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_spec.cases import OPTION_CAPABILITY, OPTION_OF_ROW, Case
from codemode_spec.failures import TemplateError
from codemode_spec.templates import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

LAYER_KEYS: Final = {
    "category": ("category",),
    "code": ("error",),
    "value": ("value", "odd", "answers"),
    "calls": ("calls", "overlap", "cancelled", "progress"),
    "evidence": ("evidence",),
}
"""The keys of an expectation that each layer judges; `outcome` is always judged."""

LAID_OVER: Final = ("let", "set", "edges", "requirements")
"""Keys whose entries in a variant are laid over those of the case; others take their place."""


def expand(area: str, data: Mapping[str, Any]) -> list[Case]:
    """The case of one entry of a case document, or one case for each of its variants."""
    variants: Mapping[str, Any] = data.get("variants") or {"": {}}
    base = {key: value for key, value in data.items() if key != "variants"}
    cases = []
    for name, change in variants.items():
        merged = {**base, **{key: change[key] for key in change if key not in LAID_OVER}}
        for key in LAID_OVER:
            if key in base or key in change:
                merged[key] = {**base.get(key, {}), **change.get(key, {})}
        merged["id"] = f"{base['id']}.{name}" if name else base["id"]
        if name and "title" not in change:
            merged["title"] = f"{base['title']} ({name})"
        cases.append(expanded(area, name or None, merged))
    return cases


def blocks_of(data: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Every block of expectation in a case's document, with its path."""
    entries = [("", data)]
    for key in ("runs", "then"):
        entries += [(f"/{key}/{number}", entry) for number, entry in enumerate(data.get(key, []))]
    return [
        (f"{path}/expect/{number}", block)
        for path, entry in entries
        for number, block in enumerate(entry.get("expect", []))
    ]


def blocks_for(data: Mapping[str, Any], variant: str | None) -> list[Mapping[str, Any]]:
    """The blocks of expectation that concern this variant."""
    return [
        block
        for _, block in blocks_of(data)
        if variant is None or variant in _listed(block.get("when", {}).get("variant", variant))
    ]


def expected_layers(data: Mapping[str, Any], variant: str | None) -> set[str]:
    """The layers for which the blocks that concern this variant expect anything."""
    keys = {
        key
        for block in blocks_for(data, variant)
        for part in (block, *block.get("any_of", ()))
        for key in part
    }
    return {"outcome"} | {layer for layer, names in LAYER_KEYS.items() if keys & set(names)}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def expanded(area: str, variant: str | None, data: Mapping[str, Any]) -> Case:
    """The case of a document with its variant worked in; the bundle holds them like this."""
    data = _with_programs_it_has(data)
    requirements = data["requirements"]
    if variant is not None:
        there = expected_layers(data, variant)
        requirements = {layer: name for layer, name in requirements.items() if layer in there}
    needs = [
        (entry,) if isinstance(entry, str) else tuple(entry) for entry in data.get("needs", [])
    ]
    return Case(
        id=data["id"],
        area=area,
        variant=variant,
        title=data["title"],
        requirements=requirements,
        roles=tuple(data["roles"]),
        needs=tuple(needs + _implied_needs(data)),
        alternatives={name: tuple(value) for name, value in data.get("alternatives", {}).items()},
        effective=tuple(data.get("effective", ())),
        set=data.get("set", {}),
        prefer=data.get("prefer", {}),
        after=data.get("after", "healthy"),
        fresh_after=data.get("fresh_after", False),
        linger_ms=data.get("linger_ms", 0),
        reported=tuple(data.get("reported", ())),
        edges={row: tuple(sides) for row, sides in data.get("edges", {}).items()},
        data=data,
    )


def _with_programs_it_has(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document without the programs that this variant has not in their language.

    A program in which a `let` stands that is null is none: not everything that one language can
    say has a counterpart in another.
    """
    lacking = {name for name, value in data.get("let", {}).items() if value is None}
    if not lacking:
        return data

    def is_there(program: Any) -> bool:
        try:
            return not lacking & names_in(program)
        except TemplateError:
            return True  # the checks name the template that is wrong

    def spoken(entry: Mapping[str, Any]) -> Mapping[str, Any]:
        there = {language: p for language, p in entry.get("program", {}).items() if is_there(p)}
        return {**entry, "program": there} if "program" in entry else entry

    lists = {key: list(map(spoken, data[key])) for key in ("runs", "then") if key in data}
    return {**spoken(data), **lists}


def _implied_needs(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The capabilities that the data itself shows to be needed."""
    needs: list[tuple[str, ...]] = []
    for name, value in data.get("set", {}).items():
        raw = "policy.raw" in data.get("needs", ())
        if raw or isinstance(value, bool) or not isinstance(value, int):
            needs.append(("policy.raw",))
        elif name in OPTION_OF_ROW:
            needs.append((f"policy.{name}", OPTION_CAPABILITY[name]))
        else:
            needs.append((f"policy.{name}",))
    operations, runs = data.get("operations", []), data.get("runs", [])
    for operation in operations:
        needs += _needs_of_operation(operation)
    cancelled = "cancel" in data or any("cancel" in run for run in runs)
    further = {
        "op.many": len(operations) > 1,
        "op.ledger": bool(operations) and "calls" in data["requirements"],
        f"parallel.{len(runs)}": len(runs) > 1,
        "cancel.native": cancelled,
    }
    needs += [(name,) for name, needed in further.items() if needed]
    return list(dict.fromkeys(needs))


_NEED_OF_KIND: Final = {
    "value": "op.value",
    "generate": "op.value",
    "fail": "op.fail",
    "odd": "op.native",
    "absent": "op.native",
    "never": "op.never",
}


def _needs_of_operation(operation: Mapping[str, Any]) -> list[tuple[str, ...]]:
    needs: list[tuple[str, ...]] = [("op.delay",)] if operation.get("release") else []
    for behaviour in operation["behaviour"]:
        needs += [(_NEED_OF_KIND[key],) for key in behaviour if key in _NEED_OF_KIND]
        needs += [("op.delay",)] if behaviour.get("delay_ms") else []
    return needs
