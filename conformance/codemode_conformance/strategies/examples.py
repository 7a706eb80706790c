"""Examples: a policy, operations, a program within them, and an order of replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from codemode_conformance.properties.example import Example
from codemode_conformance.strategies.behaviours import operations
from codemode_conformance.strategies.policies import SMALL, policies
from codemode_conformance.strategies.programs import programs

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from codemode_conformance.properties.dialect import Dialect

_SIZED = ("host_result_bytes", "cumulative_host_result_bytes")


@st.composite
def examples(draw: DrawFn, dialect: Dialect) -> Example:
    """An example that may be put to a target which speaks this dialect."""
    rows = sorted(dialect.settable & SMALL.keys() & dialect.rows.keys())
    policy = draw(policies(rows, dialect.profile))
    limits = [policy[name] for name in _SIZED if name in policy]
    values = dialect.has("source_form", "completion_value")
    return Example(
        steps=draw(programs(dialect, policy)),
        policy=policy,
        operations=draw(operations(dialect, limits)),
        order=tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))),
        form=draw(st.sampled_from(("body", "value"))) if values else "body",
        together=draw(st.booleans()),
    )
