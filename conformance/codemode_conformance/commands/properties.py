"""`cmconf property`: programs that nobody wrote by hand, compared with the model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from codemode_conformance.commands.targeting import target_of
from codemode_conformance.escape import for_terminal
from codemode_conformance.failures import UsageError
from codemode_conformance.install import install

if TYPE_CHECKING:
    import argparse

    from codemode_conformance.properties.hunting import Hunt
    from codemode_conformance.properties.performing import Performer

MOST_EXAMPLES = 1_000_000
EXTRA = "pip install 'codemode-conformance[property]'"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf property`."""
    parser = commands.add_parser(
        "property",
        help="compare a target with the model on generated programs",
        description="Generate programs, run them on the target, and compare outcome, calls and "
        "error with what the model says. A disagreement is shrunk and explained. Exit: 0 none, 1 "
        "found, 2 usage, 3 the target could not start, 5 the suite failed, 130 interrupted.",
    )
    parser.add_argument(
        "--target",
        metavar="NAME|FILE",
        help="a shipped target, or a target file (default: reference)",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="the reference with this profile; with --target, the profile that it must declare",
    )
    parser.add_argument(
        "--examples", type=int, default=200, metavar="N", help="so many programs (default: 200)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="where the search starts (default: 0)"
    )
    parser.add_argument(
        "--save", type=Path, metavar="DIR", help="write a disagreement as a case file into DIR"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Hunt, and tell what was found; 1 where target and model disagree."""
    if not 1 <= arguments.examples <= MOST_EXAMPLES:
        raise UsageError(f"--examples {arguments.examples}: give 1 to {MOST_EXAMPLES}")
    try:
        from codemode_conformance.properties.hunting import hunt  # noqa: PLC0415  optional
    except ImportError as missing:
        if missing.name != "hypothesis":
            raise
        raise UsageError(f"this command needs the package hypothesis: {EXTRA}") from None
    from codemode_conformance.properties.performing import Performer  # noqa: PLC0415  with it

    target = target_of(arguments.target, arguments.profile)
    installed = install(target, _say)
    with Performer(installed) as performer:
        found = hunt(performer, arguments.examples, arguments.seed, _progress)
    for line in _summary(found, performer, arguments.seed):
        print(for_terminal(line, backslash=False))
    if found.example is None:
        return 0
    _tell(found, performer)
    if arguments.save is not None and found.performed is not None:
        from codemode_conformance.properties.saving import save  # noqa: PLC0415  with it

        file = save(found.example, found.performed.foreseen, performer.dialect, arguments.save)
        print(f"saved: cmconf run --target {target.name} --cases {file}")
    return 1


def _summary(found: Hunt, performer: Performer, seed: int) -> list[str]:
    identity = performer.identity
    rate = found.programs / found.seconds if found.seconds else 0.0
    what = f"{identity.target} {identity.version}, profile {performer.dialect.profile}"
    speed = f"{found.programs} programs in {found.seconds:.1f} s, {rate:.1f} a second"
    agreed = f"{found.agreed} do what the model says, {found.reordered} of them"
    lines = [
        f"{what}, seed {seed}: {speed}, {performer.starts} processes",
        f"{agreed} in another order of branches; {found.undecided} undecided",
    ]
    if found.first_at is not None:
        shown = "seen once and not again when it was shrunk" if found.flaky else "shrunk"
        lines.append(f"program {found.first_at} does not; {shown}:")
    return lines


def _tell(found: Hunt, performer: Performer) -> None:
    from codemode_conformance.properties.explaining import explain  # noqa: PLC0415  with it

    assert found.example is not None
    assert found.performed is not None
    for line in explain(found.example, found.performed, performer.dialect):
        print(for_terminal(line, backslash=False))


def _progress(found: Hunt) -> None:
    rate = found.programs / found.seconds if found.seconds else 0.0
    _say(f"{found.programs} programs, {rate:.1f} a second, no disagreement")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
