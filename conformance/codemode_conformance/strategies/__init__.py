"""Hypothesis strategies for everything that crosses a boundary, for the tests of others too.

They need the package hypothesis, which is not installed with this one: it comes with
`pip install codemode-conformance[property]`.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis
except ImportError as missing:
    raise ImportError(
        "codemode_conformance.strategies needs the package hypothesis: "
        "pip install 'codemode-conformance[property]'"
    ) from missing

from codemode_conformance.strategies.behaviours import behaviours, operations
from codemode_conformance.strategies.examples import examples
from codemode_conformance.strategies.frames import (
    Broken,
    broken_frames,
    broken_lines,
    frames,
)
from codemode_conformance.strategies.policies import broken_policies, policies
from codemode_conformance.strategies.programs import programs
from codemode_conformance.strategies.values import (
    json_values,
    nested,
    scalars,
    texts_of_size,
    values_of_depth,
    values_of_size,
)

del _hypothesis

__all__ = [
    "Broken",
    "behaviours",
    "broken_frames",
    "broken_lines",
    "broken_policies",
    "examples",
    "frames",
    "json_values",
    "nested",
    "operations",
    "policies",
    "programs",
    "scalars",
    "texts_of_size",
    "values_of_depth",
    "values_of_size",
]
