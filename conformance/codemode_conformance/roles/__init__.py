"""The roles in which the suite can test a target, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, Self

from codemode_conformance.engine import Engine
from codemode_conformance.failures import UsageError
from codemode_conformance.roles.parent import ParentRole
from codemode_conformance.roles.worker import WorkerRole

if TYPE_CHECKING:
    import argparse
    from collections import Counter
    from collections.abc import Iterable, Mapping
    from typing import Any

    from codemode_spec import Case

    from codemode_conformance.identity import Identity
    from codemode_conformance.install import Installed
    from codemode_conformance.target import Target
    from codemode_conformance.transcript import Transcript
    from codemode_conformance.trial import Attempt

BUILT: Final = ("engine", "server", "worker", "parent")
ALL: Final = "all"
"""Stands on the command line for each role that a target offers."""


class Role(Protocol):
    """What takes cases: a context manager that starts its target when needed.

    With `traces` it may follow the processes of its target by a tracer. `left` counts the command
    lines of processes that ran on when the target had been closed.
    """

    traces: bool
    left: Counter[str]

    @property
    def effective(self) -> Mapping[str, Any]:
        """What the target says of each row of its default policy."""

    def start(self) -> Identity:
        """Start it unless it runs; StartError, ClaimError."""

    def run(self, case: Case) -> Attempt:
        """Put one case to it."""

    def restart(self) -> None:
        """Take a fresh process for the next case."""

    def close(self) -> None:
        """End it and all that came from it."""

    def __enter__(self) -> Self:
        """The role itself."""

    def __exit__(self, *_: object) -> None:
        """Closes it."""


def add_role(parser: argparse.ArgumentParser, *, or_all: bool = False) -> None:
    """The argument that chooses one, `or_all` of them."""
    more = "; all: each that it offers, one after the other" if or_all else ""
    parser.add_argument(
        "--role",
        choices=(*BUILT, ALL) if or_all else BUILT,
        help=f"which role to test (default: the first it offers{more})",
    )


def role_name(target: Target, wanted: str | None = None) -> str:
    """The wanted role, or the first that the target offers; UsageError when it has it not."""
    offered = [name for name in target.roles if name in BUILT]
    if wanted is None and offered:
        return offered[0]
    if wanted in offered:
        return wanted
    have = ", ".join(offered) or "none that the suite can test"
    raise UsageError(f"--role {wanted or '...'}: {target.file} offers {have}")


def role_for(target: Target, wanted: str | None, cases: Iterable[Case]) -> str:
    """The role in which these cases are put to the target; UsageError where none of them can be.

    Without a wish it is the first that the target offers and any of the cases is for.
    """
    there = {role for case in cases for role in case.roles}
    name = role_name(target, wanted)
    if wanted is None and name not in there:
        offered = [role for role in target.roles if role in BUILT and role in there]
        name = offered[0] if offered else name
    if name not in there:
        raise UsageError(
            f"no chosen case is for the {name} role; they are for: {', '.join(sorted(there))}"
        )
    return name


def roles_for(target: Target, wanted: str | None, cases: Iterable[Case]) -> list[str]:
    """As `role_for`; with ALL each that the target offers and any of the cases is for."""
    cases = list(cases)
    if wanted != ALL:
        return [role_for(target, wanted, cases)]
    there = {role for case in cases for role in case.roles}
    offered = [name for name in target.roles if name in BUILT]
    found = [name for name in offered if name in there]
    if not found:
        have = ", ".join(offered) or "none that the suite can test"
        raise UsageError(
            f"--role {ALL}: {target.file} offers {have}; the chosen cases are for: "
            f"{', '.join(sorted(there))}"
        )
    return found


def role_of(installed: Installed, name: str, transcript: Transcript | None = None) -> Role:
    """The role of this name, not started; `transcript` gets every message of it."""
    if name == "server":
        # Here, because the SDK is slow to load and only this role needs it.
        from codemode_conformance.server.role import ServerRole  # noqa: PLC0415

        return ServerRole(installed, transcript=transcript)
    if name == "parent":
        return ParentRole(installed, transcript)
    if name == "worker":
        return WorkerRole(installed, transcript)
    return Engine(installed, transcript)
