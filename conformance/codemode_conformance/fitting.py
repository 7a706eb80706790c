"""What of a case a target can be asked: the policy and host it is given, and what it must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode_spec.cases import OPTION_OF_ROW

from codemode_conformance.channel import FaultError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.cases import Case, ReadyCase

    from codemode_conformance.identity import Identity


def host_of(case: Case, identity: Identity, rows: Mapping[str, int]) -> dict[str, Any]:
    """What the session is opened with: what the case says, and a filter and clock for it."""
    host = case.host(rows)
    if case.filtered and "host.filter" in identity.capabilities:
        host["filter"] = True
    if case.timed:
        host["clock"] = "scripted"
    return host


def check_asked(case: Case, identity: Identity) -> None:
    """UnsupportedError where a case asks for what the adapter does not know."""
    needed = set()
    for entry in case.data.get("operations", []):
        if not {"group", "shortcuts"}.isdisjoint(entry):
            needed.add("op.groups")
        # Where there are no groups, operations may have aliases all the same.
        if "aliases" in entry and "op.aliases" not in identity.capabilities:
            needed.add("op.groups")
        needed |= {f"op.{trait}" for trait in ("cost", "diagnostics") if trait in entry}
        if entry["effect"] == "unstated":
            needed.add("op.unstated")
    if case.timed:
        needed.add("host.clock")
    needed |= {f"options.{name.removesuffix('_ms')}" for name in case.given_options}
    missing = sorted(needed - identity.capabilities)
    if missing:
        raise UnsupportedError(f"the adapter lacks {', '.join(missing)}")


def policy_of(case: Case, identity: Identity) -> tuple[dict[str, Any], dict[str, Any]]:
    """The policy of the session and the options of its runs that a case sets.

    UnsupportedError where the target can set neither.
    """
    policy: dict[str, Any] = {}
    options: dict[str, Any] = {}
    capabilities = identity.capabilities
    for row, value in case.set.items():
        option = OPTION_OF_ROW.get(row, "")
        if f"policy.{row}" in capabilities or "policy.raw" in capabilities:
            policy[row] = value
        elif option and f"options.{option.removesuffix('_ms')}" in capabilities:
            options[option] = value
        else:
            raise UnsupportedError(f"the target cannot set {row}")
    return policy, options


def check_values(ready: ReadyCase, identity: Identity) -> None:
    """UnsupportedError where an operation gives a value that the adapter cannot build."""
    odd = {
        behaviour.value if behaviour.kind == "odd" else "undefined"
        for operation in ready.operations
        for behaviour in operation.behaviour
        if behaviour.kind in ("odd", "absent")
    }
    missing = sorted(odd - set(identity.host_values))
    if missing:
        raise UnsupportedError(f"the adapter cannot build {', '.join(missing)}")


def check_set(policy: Mapping[str, Any], effective: Mapping[str, Any]) -> None:
    """FaultError unless what a case sets holds: its expectations are computed from it."""
    for row, wanted in policy.items():
        there = effective.get(row, {}).get("value", wanted)
        if there not in (wanted, "unknown"):
            text = f"it was told {row} = {wanted}, and opened a session with {there}"
            raise FaultError("adapter", text)


def language_of(case: Case, identity: Identity) -> str:
    """The first language of the target in which the case has all its programs."""
    return next(
        (
            language
            for language in identity.languages
            if all(language in program for program in case.programs)
        ),
        identity.languages[0],
    )
