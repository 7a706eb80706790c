"""Whether a case can be put to a target, by what the target declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec import Case

    from codemode_conformance.identity import Identity

_ODD_KEY: Final = "odd"


def obstacle(case: Case, identity: Identity, role: str) -> str | None:
    """Why the case cannot be put to the target in this role, or None if it can.

    The reason is short and the same for like cases, so that a report can count by it.
    """
    if role not in case.roles:
        return f"not for the {role} role"
    for need in case.needs:
        if not any(_has(identity, name) for name in need):
            return f"needs {' or '.join(need)}"
    other = other_choice(case, identity.alternatives)
    if other is not None:
        return other
    if identity.languages and not any(
        all(language in program for program in case.programs) for language in identity.languages
    ):
        return f"no program in {' or '.join(identity.languages)}"
    return _odd_values(case, identity)


def other_choice(case: Case, chosen: Mapping[str, str | tuple[str, ...]]) -> str | None:
    """The first alternative that the case is not for, as it is chosen, or None."""
    for name, allowed in case.alternatives.items():
        declared = chosen.get(name)
        if declared is None:
            return f"{name} is not declared"
        if not isinstance(declared, str):
            if not set(allowed) & set(declared):
                return f"{name} is {', '.join(declared) or 'empty'}"
        elif declared not in allowed:
            return f"{name} is {declared}"
    return None


def _has(identity: Identity, need: str) -> bool:
    if need.startswith("parallel."):
        return any(
            int(name.removeprefix("parallel.")) >= int(need.removeprefix("parallel."))
            for name in identity.capabilities
            if name.startswith("parallel.")
        )
    return need in identity.capabilities


def _odd_values(case: Case, identity: Identity) -> str | None:
    """Host values that the adapter would have to build and cannot."""
    lets = case.data.get("let", {})
    for operation in case.data.get("operations", []):
        for behaviour in operation["behaviour"]:
            kind = "undefined" if "absent" in behaviour else behaviour.get(_ODD_KEY)
            if kind is None:
                continue
            kind = lets.get(str(kind)[2:-1], kind)
            if kind not in identity.host_values:
                return f"the adapter builds no {kind}"
    return None
