"""Requirements and cases, both ways: what nothing observes, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_spec.failures import Problem

if TYPE_CHECKING:
    from codemode_spec.specification import Specification


def gaps(specification: Specification) -> list[Problem]:
    """Requirements of level MUST with neither a case nor a typed reason."""
    judged = {name for case in specification.cases.values() for name in case.requirements.values()}
    return [
        Problem(f"requirements/{item.area.lower()}.yaml", f"/{item.id}", "no case judges it")
        for item in specification.requirements.values()
        if item.level == "MUST" and item.untestable is None and item.id not in judged
    ]
