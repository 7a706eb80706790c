"""The reference's validation of a policy, beside the specification's own."""

from __future__ import annotations

from typing import Final

from codemode_fuzz.policy.making import mutate_policy, policy_seeds
from codemode_fuzz.policy.oracle import check_policy
from codemode_fuzz.targets import Target

TARGET: Final = Target(
    title="policies: the field that makes one invalid, at the parent and at the worker",
    check=check_policy,
    mutate=mutate_policy,
    seeds=policy_seeds,
    max_bytes=4096,
)
