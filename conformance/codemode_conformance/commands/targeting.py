"""Choosing a target on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import codemode_spec

from codemode_conformance.failures import UsageError
from codemode_conformance.target import REFERENCE, find_target, reference_of

if TYPE_CHECKING:
    from codemode_conformance.target import Target


def target_of(name: str | None, profile: str | None) -> Target:
    """The target of `--target` and `--profile`; UsageError where they do not fit."""
    known = codemode_spec.shipped().tables.profiles
    if profile is not None and profile not in known:
        raise UsageError(f"--profile {profile}: it is one of {', '.join(sorted(known))}")
    if name is None:
        return find_target(REFERENCE if profile is None else reference_of(profile))
    target = find_target(name)
    if profile not in (None, target.profile):
        has = f"the profile {target.profile}" if target.profile else "no profile"
        raise UsageError(f"--profile {profile}: {target.file} declares {has}")
    return target
