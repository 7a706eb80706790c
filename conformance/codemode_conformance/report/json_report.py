"""The JSON report; its schema is `report.schema.json`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from codemode_conformance import compare, layers
from codemode_conformance.escape import for_shell
from codemode_conformance.roles import role_name
from codemode_conformance.summary import suite_version, this_platform
from codemode_conformance.target import SHIPPED

if TYPE_CHECKING:
    from collections import Counter

    from codemode_conformance.observation import Run
    from codemode_conformance.summary import Summary
    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict, Verdict


def reproduction(summary: Summary, case: str, program: str = "cmconf") -> str:
    """The command line that runs one case again."""
    target = summary.target
    name = target.name if target.folder.parent == SHIPPED else str(target.file)
    # Only where it is not the one that is taken by itself.
    role = [] if summary.role == role_name(target) else ["--role", summary.role]
    return for_shell([program, "run", "--target", name, *role, "--case", case])


def report(summary: Summary) -> dict[str, Any]:
    """The report as a JSON value."""
    identity = summary.identity
    return {
        "format": 1,
        "suite_version": suite_version(),
        "spec_revision": summary.specification.revision,
        "cases_digest": summary.specification.cases_digest,
        "target": {
            "name": summary.target.name,
            "title": summary.target.title,
            "version": summary.target.version,
            "file_digest": summary.target.digest,
            "identity": {
                "language": list(identity.languages),
                "mapping": identity.mapping,
                "typed": list(identity.typed),
                "settable": list(identity.settable),
                "capabilities": sorted(identity.capabilities),
                "alternatives": {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in identity.alternatives.items()
                },
                "sessions": identity.sessions,
                "runs_per_session": identity.runs_per_session,
                "host_values": list(identity.host_values),
            },
        },
        "effective": dict(summary.effective),
        "platform": this_platform(),
        "started": summary.started,
        "seconds": round(summary.seconds, 3),
        "selection": {
            "role": summary.role,
            "cases": len(summary.verdicts),
            "of": summary.of,
            "complete": len(summary.verdicts) == summary.of,
        },
        "interrupted": summary.interrupted,
        "exit_code": summary.exit_code,
        "totals": _counts(summary.totals),
        "classes": {name: _counts(counts) for name, counts in sorted(summary.classes.items())},
        "not_judged": [item.id for item in summary.not_judged],
        "cases": [_case(summary, entry) for entry in summary.verdicts],
    }


def text(summary: Summary) -> str:
    """The report as it is written to a file."""
    return json.dumps(report(summary), ensure_ascii=True, indent=1) + "\n"


def _counts(counts: Counter[Verdict]) -> dict[str, int]:
    return {str(verdict): number for verdict, number in sorted(counts.items())}


def _case(summary: Summary, entry: CaseVerdict) -> dict[str, Any]:
    seen = entry.observation
    return {
        "id": entry.case.id,
        "title": entry.case.title,
        "digest": summary.specification.digests.get(entry.case.id, ""),
        "verdict": str(entry.verdict),
        "seconds": round(entry.seconds, 3),
        "layers": [_layer(layer) for layer in entry.layers],
        "evidence": {
            "runs": [_run(run) for run in (*seen.runs, *seen.then)],
            "after": str(seen.after),
            "canaries": [asdict(hit) for hit in seen.canaries],
            "notes": list(seen.notes),
        },
        "reproduce": reproduction(summary, entry.case.id),
    }


def _layer(layer: LayerVerdict) -> dict[str, Any]:
    finding = layer.finding
    return {
        "layer": layer.layer,
        "requirement": layer.requirement.id,
        "class": layer.requirement.klass,
        "level": layer.requirement.level,
        "verdict": str(layer.verdict),
        **{
            name: text
            for name, text in (
                ("reason", finding.reason),
                ("expected", finding.expected),
                ("observed", finding.observed),
            )
            if text
        },
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "end": str(run.end),
        "stage": run.stage,
        "elapsed_ms": round(run.elapsed_ms, 1),
        "described": layers.describe(run),
        "program": run.program if len(run.program) <= 4_000 else run.program[:4_000] + "…",
        "calls": [
            {
                "number": call.number,
                "op": call.op[: compare.SHOWN],
                "args": compare.show(call.args.value),
                "at_ms": round(call.at_ms, 1),
                "overlap": call.overlap,
            }
            for call in run.calls[:50]
        ],
        "logs": [line[:500] for line in run.logs[:20]],
    }
