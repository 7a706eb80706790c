"""Policies at and beyond the edges of their rows: seeds and mutations, pure functions of a seed."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.vectors import load_vectors

from codemode_fuzz.policy.oracle import PROFILES, policy_of, text_of
from codemode_fuzz.splicing import splice

if TYPE_CHECKING:
    from codemode_spec.tables import Profile, Row

_WRONG: Final[tuple[Any, ...]] = (
    *(0, -1, True, False, None, 1.0, 1.5, "1", "", [], {}, [1], {"a": 1}),
    *(2**31, 2**53 - 1, 2**53, 2**63, 10**30, float("nan"), float("inf"), -(2**53)),
)
_NAMES: Final = (
    "",
    "Host_calls",
    "host_calls ",
    "unknown",
    "__proto__",
    "zz",
    "host_calls\u0000",
    "é",
)
_MOST_CHANGES: Final = 4
_ONE_VECTOR_IN: Final = 11


def policy(rng: Random) -> bytes:
    """A policy of some profile with a few rows changed."""
    name = rng.choice(sorted(PROFILES))
    changes: dict[str, Any] = {}
    for _ in range(rng.randint(0, _MOST_CHANGES)):
        _change(rng, PROFILES[name], changes)
    return text_of(name, changes)


def mutate_policy(data: bytes, max_size: int, seed: int) -> bytes:
    """Another policy: a new one, one with one more change or one less, or other bytes."""
    rng = Random(seed)
    choice = rng.random()
    if choice < 0.4 or policy_of(data) is None:
        return policy(rng)[:max_size]
    if choice < 0.5:
        return splice(rng, data)[:max_size]
    try:
        name, changes = json.loads(data)
    except ValueError:
        return policy(rng)[:max_size]
    if changes and rng.random() < 0.3:
        del changes[rng.choice(sorted(changes))]
    else:
        _change(rng, PROFILES[name], changes)
    return text_of(name, changes)[:max_size]


def policy_seeds() -> dict[str, bytes]:
    """One vector in so many, which each profile and kind of fault has, and some made at random."""
    seeds = {}
    for vector in load_vectors("policy")["vectors"][::_ONE_VECTOR_IN]:
        changes = dict(vector.get("change", {})) | dict.fromkeys(vector.get("remove", ()))
        name = vector["id"].replace(".", "-")
        seeds[f"vector-{name}"] = text_of(vector["profile"], changes)
    for number in range(40):
        seeds[f"made-{number:02}"] = policy(Random(f"policy {number}"))
    return seeds


def _change(rng: Random, profile: Profile, changes: dict[str, Any]) -> None:
    if rng.random() < 0.1:
        changes[rng.choice(_NAMES)] = rng.choice(_WRONG)
        return
    row = rng.choice(list(profile.rows.values()))
    changes[row.name] = rng.choice(_WRONG) if rng.random() < 0.3 else _edge(rng, row, profile)


def _edge(rng: Random, row: Row, profile: Profile) -> int:
    least = profile.rows[row.minimum].default if isinstance(row.minimum, str) else row.minimum
    return rng.choice((least, row.absolute_maximum, row.default)) + rng.choice((-1, 0, 0, 1))
