"""What a target says of itself, checked against the tables and against its target file."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.tables import load_tables

from codemode_conformance.failures import ClaimError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_conformance.target import Target

MODULES: Final = frozenset(
    {
        *("contract", "batch", "evidence", "snapshots", "read-only", "admission"),
        *("script-api", "progress", "server"),
    }
)
"""Capabilities that promise something to a user; the others only say what can be asked."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The target's own words. `capabilities` includes `policy.<row>` for each settable row.

    `typed` names categories that rest on the target's codes although `mapping` is `text`.
    """

    target: str
    version: str
    languages: tuple[str, ...]
    settable: tuple[str, ...]
    alternatives: Mapping[str, str | tuple[str, ...]]
    capabilities: frozenset[str]
    mapping: str
    sessions: int = 1
    runs_per_session: int = 1
    host_values: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    effective: Mapping[str, Any] = field(default_factory=dict)

    @property
    def claims(self) -> frozenset[str]:
        """The keys that `[claims]` of the target file must have, each with a link.

        They are: `policy.<row>` for each settable row, `alternatives.<name>` for each declared
        alternative, and `contract` and the modules by name.
        """
        return frozenset(
            {f"policy.{row}" for row in self.settable}
            | {f"alternatives.{name}" for name in self.alternatives}
            | (self.capabilities & MODULES)
        )


def identity_of(data: Mapping[str, Any]) -> Identity:
    """The identity of an `identity` message or of `[server.identity]`; ClaimError says why not."""
    tables = load_tables()
    unknown = [
        *(f"row {row}" for row in data["settable"] if row not in tables.rows),
        *_unknown_alternatives(data["alternatives"]),
        *(
            f"capability {name}"
            for name in data["capabilities"]
            if name.startswith("policy.")
            and name != "policy.raw"
            and name.removeprefix("policy.") not in tables.rows
        ),
    ]
    if unknown:
        raise ClaimError(f"the target names what the specification does not: {_list(unknown)}")
    missing = [
        name
        for name in data["capabilities"]
        if name.startswith("policy.")
        and name != "policy.raw"
        and name.removeprefix("policy.") not in data["settable"]
    ]
    if missing:
        raise ClaimError(f"the target claims {_list(missing)}, which `settable` does not name")
    return Identity(
        target=data.get("target", ""),
        version=data.get("version", ""),
        languages=tuple(data["language"]),
        settable=tuple(data["settable"]),
        alternatives=MappingProxyType(
            {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in data["alternatives"].items()
            }
        ),
        capabilities=frozenset(
            [*data["capabilities"], *(f"policy.{row}" for row in data["settable"])]
        ),
        mapping=data["mapping"],
        sessions=data.get("sessions", 1),
        runs_per_session=data.get("runs_per_session", 1),
        host_values=tuple(data.get("host_values", ())),
        typed=tuple(data.get("typed", ())),
        effective=MappingProxyType(dict(data.get("effective", {}))),
    )


def reconcile(target: Target, identity: Identity, effective: Iterable[str] = ()) -> None:
    """Compare identity and target file; ClaimError names both sides of every difference.

    Name and version must be those of the file (a server's identity leaves them out). Every key of
    `Identity.claims` must stand in `[claims]`, itself or as `policy.*` or `alternatives.*`. Beyond
    these, `[claims]` may hold `policy.<row>` for rows in `effective` (limits that cannot be set)
    and other capabilities that the identity names; any further key is an error. `effective` names
    every settable row, and only rows. A profile that the file names has all its alternatives.
    """
    for what, there, here in (
        ("name", identity.target, target.name),
        ("version", identity.version, target.version),
    ):
        if there and there != here:
            raise ClaimError(
                f"{target.file}: target.{what} is {here!r}, the target says {there!r}; "
                "correct the one that is wrong"
            )
    named = {*effective, *identity.effective}
    unknown = named - set(load_tables().rows)
    if unknown:
        raise ClaimError(f"`effective` names what is no policy row: {_list(unknown)}")
    unnamed = set(identity.settable) - named
    if unnamed:
        raise ClaimError(
            f"`effective` must name every settable row, with a number, none or unknown; "
            f"it lacks: {_list(unnamed)}"
        )
    known = {f"policy.{row}" for row in named}
    whole = {name for name in target.claims if name.endswith(".*")}
    kinds = {_kind(name) for name in identity.claims}
    missing = {name for name in identity.claims - set(target.claims) if _kind(name) not in whole}
    extra = set(target.claims) - identity.claims - known - identity.capabilities - (whole & kinds)
    if missing or extra:
        parts = []
        if missing:
            parts.append(f"no link for what the target names: {_list(missing)}")
        if extra:
            parts.append(f"a link for what the target does not name: {_list(extra)}")
        raise ClaimError(f"{target.file}: claims: {'; '.join(parts)}")
    if target.profile is not None:
        _of_profile(target, identity, target.profile)


def _kind(claim: str) -> str:
    return f"{claim.partition('.')[0]}.*"


def _of_profile(target: Target, identity: Identity, profile: str) -> None:
    profiles = load_tables().profiles
    if profile not in profiles:
        known = _list(profiles)
        raise ClaimError(f"{target.file}: target.profile {profile!r}: it is one of {known}")
    chosen = profiles[profile].alternatives
    other = [name for name in chosen if identity.alternatives.get(name) != chosen[name]]
    if other:
        raise ClaimError(
            f"{target.file}: target.profile is {profile}, but the target has other "
            f"alternatives: {_list(other)}; correct them, or drop the key"
        )


def _unknown_alternatives(declared: Mapping[str, Any]) -> list[str]:
    tables = load_tables()
    unknown = []
    for name, value in declared.items():
        if name not in tables.alternatives:
            unknown.append(f"alternative {name}")
            continue
        known = tables.alternatives[name]
        values = value if isinstance(value, list | tuple) else [value]
        unknown += [f"{name} = {one}" for one in values if one not in known.values]
        if isinstance(value, list | tuple) is not known.is_set:
            unknown.append(f"{name} as {'a list' if not known.is_set else 'one value'}")
    return unknown


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def numbers_of(effective: Mapping[str, Any]) -> dict[str, int]:
    """The rows of `effective` that have a whole number."""
    return {
        row: int(entry["value"])
        for row, entry in effective.items()
        if isinstance(entry["value"], int | float) and entry["value"] == int(entry["value"])
    }
