"""`cmconf fuzz`: generated cases for any target, from a seed, bounded and resumable."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import codemode_spec
from codemode_spec.schemas import problems

from codemode_conformance.failures import UsageError
from codemode_conformance.install import cache_folder, install
from codemode_conformance.roles import role_name, role_of
from codemode_conformance.target import find_target
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    import argparse

    from codemode_fuzz.blackbox.session import Session

_RUNS: Final = 200
_SECONDS: Final = 600
FOUND, NOTHING = 1, 0


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf fuzz`."""
    parser = commands.add_parser(
        "fuzz",
        help="put generated cases to a target",
        description="Put generated programs or streams to a target, a pure function of the seed. "
        "A session that was ended goes on where it was. Exit: 0 nothing found, 1 findings.",
    )
    parser.add_argument("--target", required=True, metavar="NAME|FILE", help="the target")
    parser.add_argument(
        "--role",
        choices=("engine", "server", "worker", "parent"),
        help="default: the first it offers",
    )
    parser.add_argument("--runs", type=_positive, default=_RUNS, metavar="N", help="cases in all")
    parser.add_argument("--seed", type=int, default=1, metavar="K", help="default: 1")
    parser.add_argument(
        "--seconds", type=_positive, default=_SECONDS, metavar="S", help="the longest time, now"
    )
    parser.add_argument("--fresh", action="store_true", help="begin anew, forget what was found")
    parser.add_argument(
        "--replay", type=Path, metavar="CASE", help="put the case of a finding, and nothing else"
    )
    parser.set_defaults(execute=execute)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def execute(arguments: argparse.Namespace) -> int:
    """Run a session and print what it found."""
    # Here, because the kit is no part of the suite: it uses the suite.
    from codemode_fuzz.blackbox.session import Plan, Session  # noqa: PLC0415

    target = find_target(arguments.target)
    name = role_name(target, arguments.role)
    made = _case(arguments.replay) if arguments.replay else None
    folder = cache_folder() / "fuzz" / "blackbox" / f"{target.name}-{name}-{arguments.seed}"
    if arguments.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    plan = Plan(arguments.target, name, arguments.seed, arguments.runs, arguments.seconds)
    installed = install(target, _tell)
    with role_of(installed, name) as role:
        session = Session(plan, role, role.start(), codemode_spec.shipped(), folder)
        if made is not None:
            return _replay(session, made)
        why = session.run(_tell)
    return _summary(session, why, folder)


def _replay(session: Session, made: dict[str, Any]) -> int:
    verdict, found = session.put(made)
    print(f"{made['id']}: {verdict}")
    if found is not None:
        print(f"{found.layer}: expected {found.expected}; observed {found.observed}")
    return NOTHING if verdict in (Verdict.PASS, Verdict.UNSUPPORTED) else FOUND


def _summary(session: Session, why: str, folder: Path) -> int:
    progress = session.progress
    for home, found in sorted(session.homes.items()):
        print(f"{found.verdict}: {found.kind}, {found.layer}: {home}")
    verdicts = ", ".join(f"{number} {name}" for name, number in sorted(progress.verdicts.items()))
    print(f"{progress.next} cases in {progress.seconds:.0f} s: {verdicts or 'none'}; {why}")
    kept = [path for path in (folder / "findings").glob("*") if path.is_dir()]
    if kept:
        print(f"{len(kept)} different findings are in {folder / 'findings'}")
    return FOUND if kept else NOTHING


def _case(path: Path) -> dict[str, Any]:
    try:
        made = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--replay {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"--replay {path}: it is no JSON: {error}") from None
    wrong = problems("case", {"format": 1, "area": "ISO", "cases": [made]}, str(path))
    if wrong:
        raise UsageError(f"--replay {wrong[0]}")
    return dict(made)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
