"""`cmconf ask`: what the model says of a case, and its reasons one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import codemode_spec
from codemode_spec import DEFAULT_PROFILE, NotApplicable
from codemode_spec.model.readings import load_readings

from codemode_conformance.asking import Answered, answer
from codemode_conformance.commands.selection import variants_of
from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from codemode_spec import Specification
    from codemode_spec.model.prediction import Prediction
    from codemode_spec.model.terms import Note, Refusal

_SHOWN = 70
_SAME = 2


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf ask`."""
    parser = commands.add_parser(
        "ask", help="ask the model for a case: its answer and its reasons, step by step"
    )
    parser.add_argument("case", metavar="CASE", help="as cal.total or dat.host-result-edge.over")
    parser.add_argument(
        "--profile", default=DEFAULT_PROFILE, help=f"the profile (default: {DEFAULT_PROFILE})"
    )
    parser.add_argument(
        "--with",
        dest="changes",
        action="append",
        default=[],
        metavar="ALTERNATIVE=VALUE",
        help="another choice than the profile's; may be repeated, as for options=timeout",
    )
    parser.add_argument(
        "--all-steps", action="store_true", help="print every check of every place, and every place"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print the model's answer; exit 1 where it is not what the case expects."""
    specification = codemode_spec.shipped()
    profiles = specification.tables.profiles
    if arguments.profile not in profiles:
        raise UsageError(f"--profile {arguments.profile}: it is one of {', '.join(profiles)}")
    chosen = {
        **profiles[arguments.profile].alternatives,
        **_changes(arguments.changes, specification),
    }
    if chosen["host_wait"] == "excluded" and chosen["script_style"] != "sync":
        raise UsageError("host_wait is excluded only where calls return: add script_style=sync")
    cases = specification.cases
    exact = variants_of(arguments.case, cases)
    readings = load_readings(cases)
    parted = asked = False
    for position, case in enumerate(exact):
        if position:
            print()
        print(f"{case.id}: {case.title}")
        try:
            answers = answer(case, specification, readings, arguments.profile, chosen)
        except NotApplicable as reason:
            print(f"  not asked under {arguments.profile}: {reason}")
            continue
        asked = True
        for number, said in enumerate(answers, 1):
            if len(answers) > 1:
                print(f"  program {number} of {len(answers)}")
            print("\n".join(_lines(said, every=arguments.all_steps)))
            parted = parted or bool(said.differs)
    if not asked:
        raise UsageError(f"the model has no answer for {arguments.case} here; why is said above")
    return 1 if parted else 0


def _changes(words: list[str], specification: Specification) -> dict[str, str | tuple[str, ...]]:
    """What `--with` changes; several values of a set add up, and `NAME=` alone empties it."""
    known = specification.tables.alternatives
    changes: dict[str, str | tuple[str, ...]] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in known:
            raise UsageError(f"--with {word}: the alternatives are {', '.join(known)}")
        empty = known[name].is_set and word == f"{name}="
        if value not in known[name].values and not empty:
            raise UsageError(f"--with {word}: {name} is one of {', '.join(known[name].values)}")
        before = changes.get(name, () if known[name].is_set else value)
        if isinstance(before, tuple):
            changes[name] = tuple(dict.fromkeys((*before, *(() if empty else (value,)))))
        elif before != value:
            raise UsageError(f"--with {word}: {name} is {before} already; choose one")
        else:
            changes[name] = value
    return changes


def _lines(said: Answered, *, every: bool) -> Iterator[str]:
    if said.policy is not None:
        yield f"  the policy is invalid at {said.policy}: nothing is started"
    if said.prediction is not None:
        yield from step_lines(said.prediction.notes, every=every)
        made = said.prediction.calls
        told = [f"{call.operation}({_short(call.arguments)})" for call in made[:_SAME]]
        more = f", and {len(made) - _SAME} more" if len(made) > _SAME else ""
        yield f"  dispatched: {len(made)}" + (f": {', '.join(told)}{more}" if made else "")
        yield f"  the model says: {outcome_line(said.prediction)}"
    if said.expectation is None:
        yield "  the case judges only what all of its programs did together"
    elif said.differs:
        yield from (f"  NOT what the case expects: {line}" for line in said.differs)
    else:
        yield "  the case expects the same"


def outcome_line(said: Prediction) -> str:
    """The predicted outcome in words."""
    outcome = said.outcome
    if outcome.error is not None:
        return f"failure, {_error(outcome.error)}"
    if not outcome.present:
        return "success without a value"
    odd = "".join(f", {kind} at {list(path)}" for path, kind in said.odd)
    return f"value {_short(outcome.value)}{odd}"


def _error(error: Refusal) -> str:
    return ", ".join(str(v) if k == "code" else f"{k} {v}" for k, v in error.fields().items())


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _blocks(notes: tuple[Note, ...]) -> list[list[Note]]:
    """The notes of one walk through a place together."""
    blocks: list[list[Note]] = []
    for note in notes:
        same = blocks and blocks[-1][0].place == note.place
        if same and note.check not in {other.check for other in blocks[-1]}:
            blocks[-1].append(note)
        else:
            blocks.append([note])
    return blocks


def step_lines(notes: tuple[Note, ...], *, every: bool = False) -> Iterator[str]:
    """One line a place, with what is used and what failed; what is like lines before is left out.

    With `every`, each check of each place.
    """
    seen: dict[tuple[Any, ...], int] = {}
    left_out = 0
    for number, block in enumerate(_blocks(notes), 1):
        shape = tuple((note.rule, note.error, note.limit and note.said) for note in block)
        seen[shape] = seen.get(shape, 0) + 1
        if not every and seen[shape] > _SAME:
            left_out += 1
            continue
        if left_out:
            yield f"        ... {left_out} more like these"
            left_out = 0
        yield f"  {number:4}  {block[0].place.replace('_', ' '):18} {_summary(block)}"
        if every:
            for note in block:
                yield f"          {'yes' if note.passed else ' no'}  {note.check}: {note.text}"
    if left_out:
        yield f"        ... {left_out} more like these"


def _summary(block: list[Note]) -> str:
    """The check that failed, else what the budgets had used when they were looked at."""
    failed = [note for note in block if not note.passed]
    if failed:
        return f"{failed[0].check}: not so: {failed[0].text}"
    used = [f"{n.check} {n.used} of {n.limit} used" for n in block if n.used is not None]
    if used:
        return f"{len(block)} checks hold; {', '.join(used)}"
    return block[0].text if len(block) == 1 else f"{len(block)} checks hold"
