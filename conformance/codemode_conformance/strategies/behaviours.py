"""Operations that behave as scripted: values, failures, and what no value is."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.cases import Behaviour, OperationSpec
from hypothesis import strategies as st

from codemode_conformance.strategies.values import json_values, values_of_depth, values_of_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from codemode_conformance.properties.dialect import Dialect

CATALOGUE: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("get", "read", {}),
    ("put", "write", {}),
    (
        "strict",
        "read",
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": False,
        },
    ),
)
"""The operations of every example: name, effect, schema of the arguments."""

UNKNOWN: Final = "nope"
"""A name outside of the catalogue."""

_NEAR: Final = (-1, 0, 1)


def behaviours(dialect: Dialect, limits: Sequence[int] = ()) -> SearchStrategy[Behaviour]:
    """What one call does: a value (near these sizes in bytes too), a failure, or no value."""
    json = dialect.has("values", "json")
    told = dialect.contract or dialect.has("operation_failure", "throw")
    kinds = {"NaN", "undefined", "bigint"} & set(dialect.host_values)
    native = told and json and "op.native" in dialect.capabilities
    return _behaviours(
        tuple(limits),
        dialect.rows.get("value_depth") if json else None,
        tuple(sorted(kinds)) if native else (),
        fails=told and "op.fail" in dialect.capabilities,
    )


@cache
def _behaviours(
    limits: tuple[int, ...], depth: int | None, kinds: tuple[str, ...], *, fails: bool
) -> SearchStrategy[Behaviour]:
    # Also parts of a limit: a few of them add up to it.
    parts = [values_of_size(limit // part) for limit in limits for part in (2, 3)]
    values = [json_values(4), *map(_near, limits), *map(_near, limits), *parts]
    if depth is not None:
        values.append(st.sampled_from(_NEAR).flatmap(lambda by: values_of_depth(depth + by)))
    odd = [Behaviour("absent") if kind == "undefined" else Behaviour("odd", kind) for kind in kinds]
    odd += [Behaviour("fail", code="E_TEST", message="a text of the host")] if fails else []
    found = [st.one_of(values).map(lambda value: Behaviour("value", value=value))]
    return st.one_of(*found * 4, *([st.sampled_from(odd)] if odd else []))


def _near(limit: int) -> SearchStrategy[Any]:
    return st.sampled_from(_NEAR).flatmap(lambda by: values_of_size(limit + by))


@st.composite
def operations(
    draw: DrawFn, dialect: Dialect, limits: Sequence[int] = ()
) -> tuple[OperationSpec, ...]:
    """The operations of the catalogue with up to three behaviours each, of which the last stays."""
    several = st.lists(behaviours(dialect, limits), min_size=1, max_size=3)
    return tuple(
        OperationSpec(name, effect, schema, tuple(draw(several)))
        for name, effect, schema in CATALOGUE
        if dialect.contract or not schema
    )
