"""What a target says of itself must be known, and be the same as in its target file."""

from collections.abc import Callable
from typing import Any

import pytest
from codemode_conformance.failures import ClaimError
from codemode_conformance.identity import identity_of, reconcile
from codemode_conformance.target import Target
from codemode_spec.tables import load_tables

LINK = "https://example.org/page"
DATA: dict[str, Any] = {
    "target": "fake",
    "version": "1.0",
    "language": ["javascript"],
    "settable": ["wall_time_ms"],
    "alternatives": {"script_style": "async", "options": ["timeout"]},
    "capabilities": ["read-only", "op.value", "options.timeout"],
    "mapping": "typed",
}
CLAIMS = {
    "policy.wall_time_ms": LINK,
    "alternatives.script_style": LINK,
    "alternatives.options": LINK,
    "read-only": LINK,
}


def test_a_settable_row_is_a_capability() -> None:
    """`settable` and `policy.<row>` are one thing."""
    identity = identity_of(DATA)
    assert "policy.wall_time_ms" in identity.capabilities
    assert identity.alternatives["options"] == ("timeout",)
    assert (identity.sessions, identity.runs_per_session) == (1, 1)


def test_rows_alternatives_and_modules_need_a_link() -> None:
    """What can be asked of the adapter only, like op.value, needs none."""
    assert identity_of(DATA).claims == set(CLAIMS)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"settable": ["walltime"]}, "row walltime"),
        ({"alternatives": {"style": "async"}}, "alternative style"),
        ({"alternatives": {"script_style": "fast"}}, "script_style = fast"),
        ({"alternatives": {"script_style": ["async"]}}, "script_style as a list"),
        ({"alternatives": {"options": "timeout"}}, "options as one value"),
        ({"capabilities": ["policy.walltime"]}, "capability policy.walltime"),
        ({"capabilities": ["policy.memory_bytes"]}, "policy.memory_bytes, which `settable`"),
    ],
)
def test_unknown_names_are_refused(change: dict[str, Any], named: str) -> None:
    """A name that the tables do not have is an error, not ignored."""
    with pytest.raises(ClaimError, match=named):
        identity_of(DATA | change)


def test_equal_claims_pass(targets: Callable[..., Target]) -> None:
    """Links beyond the needed ones may stand for fixed rows and other capabilities."""
    reconcile(targets(claims=CLAIMS), identity_of(DATA), DATA["settable"])
    more = CLAIMS | {"policy.memory_bytes": LINK, "op.value": LINK}
    reconcile(targets(claims=more), identity_of(DATA), [*DATA["settable"], "memory_bytes"])


@pytest.mark.parametrize(
    ("claims", "named"),
    [
        ({k: v for k, v in CLAIMS.items() if k != "read-only"}, "no link for .*: read-only"),
        (CLAIMS | {"evidence": LINK}, "does not name: evidence"),
        (CLAIMS | {"policy.memory_bytes": LINK}, "does not name: policy.memory_bytes"),
    ],
)
def test_a_difference_names_both_sides(
    targets: Callable[..., Target], claims: dict[str, str], named: str
) -> None:
    """A claim without a link and a link without a claim are errors of the target file."""
    with pytest.raises(ClaimError, match=named) as caught:
        reconcile(targets(claims=claims), identity_of(DATA), DATA["settable"])
    assert "fake.toml" in str(caught.value)


def test_one_link_may_stand_for_all_of_a_kind(targets: Callable[..., Target]) -> None:
    """`policy.*` and `alternatives.*` cover what is not there by name; nothing covers a module."""
    whole = {"policy.*": LINK, "alternatives.*": LINK, "read-only": LINK}
    reconcile(targets(claims=whole), identity_of(DATA), DATA["settable"])
    modules = {name: link for name, link in whole.items() if name != "read-only"}
    with pytest.raises(ClaimError, match=r"no link for .*: read-only"):
        reconcile(targets(claims=modules), identity_of(DATA), DATA["settable"])
    without = identity_of(DATA | {"settable": []})
    with pytest.raises(ClaimError, match=r"does not name: policy\.\*"):
        reconcile(targets(claims=whole), without)


def _profiled(targets: Callable[..., Target], profile: str) -> Target:
    about = {"name": "fake", "version": "1.0", "profile": profile}
    return targets(claims=CLAIMS, target=about)


def test_a_profile_that_is_declared_has_all_its_alternatives(
    targets: Callable[..., Target],
) -> None:
    """A target that differs in one of them, or leaves one out, does not have the profile."""
    chosen = load_tables().profiles["inline-sync"].alternatives
    whole = {
        name: list(value) if isinstance(value, tuple) else value for name, value in chosen.items()
    }
    claims = {"policy.*": LINK, "alternatives.*": LINK, "read-only": LINK}
    about = {"name": "fake", "version": "1.0", "profile": "inline-sync"}
    target = targets(claims=claims, target=about)
    reconcile(target, identity_of(DATA | {"alternatives": whole}), DATA["settable"])
    other = whole | {"exhaustion": "catchable"}
    with pytest.raises(ClaimError, match=r"inline-sync, but .* other alternatives: exhaustion;"):
        reconcile(target, identity_of(DATA | {"alternatives": other}), DATA["settable"])
    with pytest.raises(ClaimError, match="'inline': it is one of inline-sync"):
        reconcile(_profiled(targets, "inline"), identity_of(DATA), DATA["settable"])


def test_effective_names_every_settable_row_and_only_rows(targets: Callable[..., Target]) -> None:
    """A row that is left out would silently open no case."""
    target, identity = targets(claims=CLAIMS), identity_of(DATA)
    with pytest.raises(ClaimError, match=f"it lacks: {DATA['settable'][0]}"):
        reconcile(target, identity, [])
    with pytest.raises(ClaimError, match="what is no policy row: foo"):
        reconcile(target, identity, [*DATA["settable"], "foo"])


@pytest.mark.parametrize("what", ["target", "version"])
def test_another_name_or_version_is_refused(targets: Callable[..., Target], what: str) -> None:
    """The target file and the target must speak of the same thing."""
    with pytest.raises(ClaimError, match="'other'"):
        reconcile(targets(claims=CLAIMS), identity_of(DATA | {what: "other"}))
