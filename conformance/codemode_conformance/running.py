"""Running cases against a target, one after the other, and judging each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from codemode_conformance.applicability import obstacle
from codemode_conformance.judge import Standing, judge, unasked
from codemode_conformance.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from codemode_spec import Case, Specification

    from codemode_conformance.identity import Identity
    from codemode_conformance.roles import Role
    from codemode_conformance.verdicts import CaseVerdict


def run_cases(
    role: Role,
    identity: Identity,
    specification: Specification,
    cases: Iterable[Case],
    name: str = "engine",
) -> Iterator[CaseVerdict]:
    """The verdict of each case in the role of this name, in order, as soon as it is there.

    A case that the target cannot be asked is not put to it. Only KeyboardInterrupt comes through.
    """
    standing = Standing(identity.capabilities, identity.mapping, frozenset(identity.typed))
    requirements = specification.requirements
    for case in cases:
        reason = obstacle(case, identity, name)
        if reason is not None:
            yield unasked(case, Observation(case.id, unsupported=reason), requirements, reason)
            continue
        started = time.monotonic()
        attempt = role.run(case)
        seconds = time.monotonic() - started
        yield judge(case, attempt.ready, attempt.observation, requirements, standing, seconds)
