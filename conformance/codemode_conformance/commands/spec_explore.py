"""`cmconf spec explore`: search the model's state spaces to their end."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

import codemode_spec
from codemode_spec.model.exploration import Explored, expected, explore
from codemode_spec.model.faults import FAULTS
from codemode_spec.model.searches import spaces
from codemode_spec.tables import load_tables
from codemode_spec.vectors import traces

from codemode_conformance.commands.planning import whole
from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from codemode_spec.model.exploration import Space

_FILE: Final = "traces.json"


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf spec explore`."""
    parser = actions.add_parser(
        "explore",
        help="search the model's state spaces to their end",
        description="Search every interleaving that small policies allow, check the invariants in "
        "every state, and hold the trace vectors against what was found.",
    )
    parser.add_argument(
        "--fault",
        choices=FAULTS,
        metavar="NAME",
        help=f"plant a fault, and print a shortest trace that shows it: {', '.join(FAULTS)}",
    )
    parser.add_argument("--space", metavar="NAME", help="search only this space")
    parser.add_argument(
        "--jobs",
        type=lambda text: whole(text, 1, 16),
        default=1,
        metavar="N",
        help="search N spaces at once (default: 1)",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the trace vectors again (for maintainers)"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print what was searched; exit 1 for a broken invariant or a rule that nothing exercised."""
    given = [name for name in ("fault", "space", "write") if getattr(arguments, name)]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} do not go together; leave one out")
    place = _path() if _path().exists() else _path().parent
    if arguments.write and not os.access(place, os.W_OK):  # minutes before it is written
        raise UsageError(f"{_path()}: it cannot be written; search in a checkout of the sources")
    if arguments.fault is not None:
        return _planted(arguments.fault)
    every = list(spaces())
    chosen = [space for space in every if arguments.space in (None, space.name)]
    if not chosen:
        raise UsageError(
            f"--space {arguments.space}: one of {', '.join(space.name for space in every)}"
        )
    started = time.monotonic()
    searched: list[tuple[Space, Explored]] = []
    for space, found in zip(chosen, _found(chosen, arguments.jobs), strict=True):
        searched.append((space, found))
        print(f"{space.name:44} {found.states:8,} states, {found.moves:9,} steps")
        if found.violation is not None:
            print(f"\n{found.violation}")
            return 1
    states = sum(found.states for _, found in searched)
    seconds = time.monotonic() - started
    print(f"{states:,} states in {seconds:.0f} s: every invariant holds, and every state can end")
    return 0 if arguments.space is not None else _complete(searched, write=arguments.write)


def _found(chosen: Sequence[Space], at_once: int) -> Iterator[Explored]:
    """What the spaces have in them, in their order."""
    if min(at_once, len(chosen)) == 1:
        yield from map(explore, chosen)
        return
    # A search that is interrupted ends by the signal, without a word.
    quiet = (signal.SIGINT, signal.SIG_DFL)
    with ProcessPoolExecutor(at_once, initializer=signal.signal, initargs=quiet) as pool:
        try:
            yield from pool.map(_search, [space.name for space in chosen])
        finally:
            pool.shutdown(cancel_futures=True)


def _search(name: str) -> Explored:
    """A space found by its name, in a process of a pool."""
    return explore(next(space for space in spaces() if space.name == name))


def _path() -> Path:
    return Path(str(files(codemode_spec))) / "vectors" / _FILE


def _planted(name: str) -> int:
    fault = FAULTS[name]
    print(f"planted: {fault.text}")
    space = next(s for s in spaces(fault.boundary, fault.shared) if s.name == fault.space)
    violation = explore(space).violation
    print(violation or "no invariant is broken")
    return 1


def _complete(searched: list[tuple[Space, Explored]], *, write: bool) -> int:
    """Every rule was exercised, and the committed traces are those that were found."""
    wanted = expected(load_tables())
    covered = frozenset().union(*(found.covered for _, found in searched))
    missing = [rule for rule in wanted if rule not in covered]
    for rule in missing:
        print(f"nothing exercises: {rule}")
    print(f"{len(wanted) - len(missing)} of {len(wanted)} cells and checks were exercised")
    text = traces.text(searched)
    path = _path()
    if write:
        path.write_text(text, encoding="utf-8")
        print(f"written: {path}")
    elif not path.is_file() or path.read_text(encoding="utf-8") != text:
        print(f"vectors/{_FILE} is not what was found: run `cmconf spec explore --write`")
        return 1
    return 1 if missing else 0
