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
    sized = st.one_of(*map(_near, limits), *map(_near, limits), *parts) if limits else None
    odd = [Behaviour("absent") if kind == "undefined" else Behaviour("odd", kind) for kind in kinds]
    odd += [Behaviour("fail", code="E_TEST", message="a text of the host")] if fails else []

    def chosen(lot: int) -> SearchStrategy[Behaviour]:
        # By a number, since one_of gives each branch within its branches the same weight.
        if lot == 0 and odd:
            return st.sampled_from(odd)
        if lot == 1 and depth is not None:
            levels = st.sampled_from(_NEAR).flatmap(lambda by: values_of_depth(depth + by))
            return levels.map(_value)
        return (sized if sized is not None and lot > 3 else json_values(4)).map(_value)

    return st.sampled_from((2, 3, 4, 5, 6, 7, 1, 0)).flatmap(chosen)


def _value(value: Any) -> Behaviour:
    return Behaviour("value", value=value)


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
