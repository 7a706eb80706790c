"""`cmconf explain`: a requirement or a case at length, and what would make it fail."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import codemode_spec
from codemode_spec import DEFAULT_PROFILE, LAYERS, NotApplicable
from codemode_spec.cases import WRAPPER
from codemode_spec.programs import SCRIPTS

from codemode_conformance.commands.selection import nearest, variants_of
from codemode_conformance.doctor import choices, correct
from codemode_conformance.failures import UsageError
from codemode_conformance.wrongs import doctored

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from codemode_spec import Case, Requirement, Specification

_WIDTH = 100
_STEP = 300


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf explain`."""
    parser = commands.add_parser("explain", help="explain a requirement or a case")
    parser.add_argument("id", metavar="ID", help="as CM-TIM-003 or tim.sync-loop")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print the explanation."""
    specification = codemode_spec.shipped()
    wanted = arguments.id
    if wanted.upper() in specification.requirements:
        print("\n".join(_requirement(specification.requirements[wanted.upper()], specification)))
        return 0
    if wanted.upper().startswith("CM-"):
        near = nearest(wanted.upper(), specification.requirements)
        raise UsageError(f"{wanted}: there is no such requirement{near}")
    found = variants_of(wanted, specification.cases)
    if len(found) > 1:
        print(f"{wanted} has {len(found)} variants; here is the first, the others are")
        print(_wrapped(", ".join(case.id for case in found[1:]), "  ") + "\n")
    print("\n".join(_case(found[0], specification)))
    return 0


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _concerns(item: Requirement) -> Iterator[str]:
    """Of which targets it is asked, and the entries of the tables that it speaks of."""
    if item.capability is not None:
        yield f"  Asked only of a target that claims `{item.capability}`."
    for name, values in item.alternatives.items():
        yield f"  Only where {name} is {' or '.join(values)}."
    for key, names in (("Needs", item.needs), ("Codes", item.codes), ("Rows", item.rows)):
        if names:
            yield f"  {key}: {', '.join(names)}."


def _requirement(item: Requirement, specification: Specification) -> Iterator[str]:
    yield f"{item.id}  {item.klass}, {item.level}, since {item.since}"
    yield _wrapped(item.text, "  ")
    yield _wrapped(f"Why: {item.why}", "  ")
    yield f"  Promised by: {', '.join(item.origin)}. Judged in the roles: {', '.join(item.roles)}."
    yield from _concerns(item)
    if item.untestable is not None:
        yield f"  No case observes it ({item.untestable[0]}): {item.untestable[1]}"
    judged: dict[str, list[str]] = {}
    for case in specification.cases.values():
        for layer, name in case.requirements.items():
            if name == item.id:
                judged.setdefault(case.id, []).append(layer)
    for name, layers in judged.items():
        yield f"  {name} ({', '.join(layers)}): {specification.cases[name].title}"
    if item.id in specification.pending.groups["requirements"]:
        yield "  No case judges it yet."


def _conditions(case: Case) -> Iterator[str]:
    """To which targets the case is put, and what it sets there."""
    if case.needs:
        yield "Needs " + "; ".join(" or ".join(need) for need in case.needs)
    for name, values in case.alternatives.items():
        yield f"Only where {name} is {' or '.join(values)}"
    if case.effective:
        yield f"Only where the target names a number for {', '.join(case.effective)}"
    for name, number in case.data.get("least", {}).items():
        yield f"Only where {name} is {number} at least"
    for name, sides in case.edges.items():
        yield f"Stands {' and '.join(sides)} the limit of {name}"
    for name, value in case.set.items():
        yield f"Sets {name} to {value}"
    for name, value in case.prefer.items():
        yield f"Sets {name} to {value} where the target can set it"


def _case(case: Case, specification: Specification) -> Iterator[str]:
    yield f"{case.id}  roles: {', '.join(case.roles)}"
    yield _wrapped(case.title, "  ")
    if case.reported:
        yield f"  Reported faults of this kind: {', '.join(case.reported)}"
    for condition in _conditions(case):
        yield _wrapped(condition, "  ")
    data = case.filled(specification.tables.profiles[DEFAULT_PROFILE].defaults())
    for operation in data.get("operations", []):
        yield f"  Operation {operation['name']}: {json.dumps(operation['behaviour'])[:_WIDTH]}"
    yield from _programs(data)
    failing = _failing(case, specification)
    for layer in LAYERS:
        if layer not in case.requirements:
            continue
        item = specification.requirements[case.requirements[layer]]
        yield ""
        yield f"{layer}: {item.id} ({item.klass}, {item.level})"
        yield _wrapped(item.text, "  ")
        yield _wrapped(f"Why: {item.why}", "  ")
        yield _wrapped(f"Fails on: {'; '.join(failing.get(layer, []))}", "  ")
    yield ""
    yield "Expected, with the numbers of the default policy:"
    for block in data.get("expect", []):
        yield _wrapped(json.dumps(block, ensure_ascii=False), "  ")


def _programs(data: Mapping[str, Any]) -> Iterator[str]:
    runs = data.get("runs") or [data]
    for kind, entry in [*(("", e) for e in runs), *(("then ", e) for e in data.get("then", []))]:
        for end in SCRIPTS:
            if end in entry:
                yield f"  What we do as the {end}{f' ({kind.strip()})' if kind else ''}:"
                yield from (f"    | {json.dumps(step)[:_STEP]}" for step in _steps(entry[end]))
        for language, styles in entry.get("program", {}).items():
            plain = not isinstance(styles, dict) or "repeat" in styles
            for style, text in ({"": styles} if plain else styles).items():
                yield f"  Program, {kind}{language}{f' {style}' if style else ''}:"
                yield textwrap.indent(_text(text).rstrip("\n"), "    | ", lambda _: True)


def _steps(script: Any) -> list[Any]:
    return script if isinstance(script, list) else [{"command": script}]


def _text(program: Any) -> str:
    if isinstance(program, str):
        return program
    if isinstance(program, dict):
        if len(program["repeat"]) * program["times"] <= _WIDTH:
            return str(program["repeat"]) * int(program["times"])
        return f"<{program['repeat']!r} repeated {program['times']} times>"
    return "".join(map(_text, program))


def _failing(case: Case, specification: Specification) -> dict[str, list[str]]:
    """What the selftest doctors in each layer, under the default profile."""
    profile = specification.tables.profiles[DEFAULT_PROFILE]
    rows = {
        **profile.defaults(),
        WRAPPER: 0,
        **case.prefer,
        **{n: v for n, v in case.set.items() if v},
    }
    language = case.languages[0]
    found: dict[str, list[str]] = {}
    try:
        ready = case.resolve(rows, dict(profile.alternatives), language)
    except NotApplicable:
        return found
    for choice in range(choices(ready)):
        for layer, what, _ in doctored(ready, correct(ready, choice, rows)):
            found.setdefault(layer, []).append(what.replace("_", " "))
    return {layer: list(dict.fromkeys(names)) for layer, names in found.items()}
