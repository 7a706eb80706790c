"""What must hold for every policy: both readings name the same field, and never raise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from codemode_reference.policy import invalid_field
from codemode_spec import limits
from codemode_spec.tables import load_tables

from codemode_fuzz.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

Validate = Callable[["Mapping[str, object]", Any], "str | None"]
PROFILES: Final = load_tables().profiles
_EXECUTE: Final = {
    name: [row for row in profile.rows.values() if row.in_execute]
    for name, profile in PROFILES.items()
}


def policy_of(data: bytes) -> tuple[str, dict[str, object]] | None:
    """`[PROFILE, {ROW: VALUE, ...}]`: rows of a profile, changed; null takes a row out."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not (isinstance(found, list) and len(found) == 2 and isinstance(found[1], dict)):
        return None
    name, changes = found
    if not isinstance(name, str) or name not in PROFILES:
        return None
    values: dict[str, object] = {**PROFILES[name].defaults(), **changes}
    return name, {key: value for key, value in values.items() if value is not None}


def check_policy(data: bytes, validate: Validate = invalid_field) -> None:
    """Validate a policy as a parent does at its start and as a worker does. Raises Finding."""
    policy = policy_of(data)
    if policy is None:
        return
    name, values = policy
    profile = PROFILES[name]
    _same(values, profile.rows.values(), limits.invalid_field(values, profile), validate)
    rows = _EXECUTE[name]
    names = {row.name for row in rows}
    inside = {key: value for key, value in values.items() if key in names}
    expected = _expected(inside, rows)
    _same(inside, rows, expected, validate)


def _expected(values: Mapping[str, Any], rows: Any) -> str | None:
    """The rows that a worker is told, one by one."""
    for row in rows:
        value = values.get(row.name)
        least = values[row.minimum] if isinstance(row.minimum, str) else row.minimum
        if type(value) is not int or not least <= value <= row.absolute_maximum:
            return str(row.name)
    return None


def _same(
    values: Mapping[str, object], rows: Any, expected: str | None, validate: Validate
) -> None:
    try:
        found = validate(values, rows)
    except Exception as error:
        raise Finding("exception", f"the validation raised {type(error).__name__}") from error
    if found != expected:
        raise Finding("model", f"{_named(found)} is named where the model has {_named(expected)}")


def _named(field: str | None) -> str:
    known = any(field in profile.rows for profile in PROFILES.values())
    return "nothing" if field is None else field if known else "an unknown field"


def text_of(name: str, changes: Mapping[str, Any]) -> bytes:
    """The bytes of a policy."""
    return json.dumps([name, dict(changes)]).encode()
