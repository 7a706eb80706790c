"""The report of all roles of a target: the report of each, one after the other.

Its schema is `roles.schema.json`; each part is a report as of a run of that role alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode_conformance.outcomes import CANNOT_START, suite_version
from codemode_conformance.report import json_report
from codemode_conformance.report.parts import ROLES
from codemode_conformance.summary import exit_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_conformance.summary import Summary
    from codemode_conformance.target import Target


def report(
    target: Target, summaries: Sequence[Summary], failures: Mapping[str, str]
) -> dict[str, Any]:
    """The report as a JSON value. `failures` says of each role that did not start, why."""
    return {
        "format": 1,
        "suite_version": suite_version(),
        "target": {"name": target.name, "version": target.version, "title": target.title},
        "exit_code": _exit_code(summaries, failures),
        ROLES: [json_report.report(summary) for summary in summaries],
        "not_started": [{"role": role, "reason": why} for role, why in failures.items()],
    }


def _exit_code(summaries: Sequence[Summary], failures: Mapping[str, str]) -> int:
    """That of all layers of all roles together; a role that does not start hides no failure."""
    if failures and not any(summary.interrupted for summary in summaries):
        return CANNOT_START
    return exit_code(
        ((layer.verdict, layer.decides) for summary in summaries for layer in summary.layers),
        interrupted=any(summary.interrupted for summary in summaries),
        stale=any(summary.comparison.complaints for summary in summaries),
    )
