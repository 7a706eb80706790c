"""The JSON report, from which all others are made; its schema is `report.schema.json`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemode_conformance import compare, layers
from codemode_conformance.escape import for_shell
from codemode_conformance.failure_kinds import kind_of
from codemode_conformance.outcomes import suite_version
from codemode_conformance.roles import role_name
from codemode_conformance.summary import evidence_level, this_platform
from codemode_conformance.target import SHIPPED
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemode_spec import Requirement

    from codemode_conformance.observation import Run
    from codemode_conformance.summary import Summary
    from codemode_conformance.target import Target
    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

PROGRAM_CHARACTERS = 4_000
_HEAD_CHARACTERS = 400
_FAILED = (Verdict.FAIL, Verdict.FLAKY, Verdict.XFAIL)


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
            "file": shown_file(summary.target),
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
        "platform": this_platform() | evidence_level(),
        "started": summary.started,
        "seconds": round(summary.seconds, 3),
        **_plan(summary),
        "interrupted": summary.interrupted,
        "exit_code": summary.exit_code,
        "totals": _counts(summary.totals),
        "classes": {name: _counts(counts) for name, counts in sorted(summary.classes.items())},
        "not_judged": [item.id for item in summary.not_judged],
        **_surroundings(summary),
        "areas": _area_titles({entry.case.area for entry in summary.verdicts}),
        "requirements": _requirements(summary),
        "cases": [_case(summary, entry) for entry in summary.verdicts],
    }


def shown_file(target: Target) -> str:
    """The target file as a report names it: relative where it lies below, else its name alone."""
    here = Path.cwd()
    if target.file.is_relative_to(here):
        return target.file.relative_to(here).as_posix()
    return f"{target.folder.name}/{target.file.name}"


def _plan(summary: Summary) -> dict[str, Any]:
    plan = summary.plan
    selection = {
        "role": summary.role,
        "cases": len(summary.verdicts),
        "of": summary.of,
        "complete": summary.complete,
    }
    if plan is None:
        return {"selection": selection}
    selection |= {"chosen": plan.chosen, "filters": list(plan.filters)}
    if plan.shard is not None:
        selection["shard"] = {"number": plan.shard[0], "of": plan.shard[1]}
    found = {"selection": selection, "seed": plan.seed, "repeat": plan.repeat}
    return found | ({"stopped": summary.stopped} if summary.stopped else {})


def _surroundings(summary: Summary) -> dict[str, Any]:
    """What stands beside the verdicts: baseline, disputes, powers, and the accuracy of limits."""
    found: dict[str, Any] = {}
    comparison, powers = summary.comparison, summary.powers
    if comparison.baseline is not None:
        found["baseline"] = {
            "file": comparison.baseline.file.name,
            "digest": comparison.baseline.digest,
            "entries": len(comparison.baseline.entries),
            "problems": [
                {
                    "case": one.entry.case,
                    **({"layer": one.entry.layer} if one.entry.layer else {}),
                    "problem": one.problem,
                    "text": one.text,
                }
                for one in comparison.complaints
            ],
        }
    found["disputed"] = [
        {name: value for name, value in asdict(one).items() if value is not None}
        for one in summary.disputed
    ]
    found["capabilities"] = {
        "declared": sorted(summary.identity.capabilities),
        "undeclared": [asdict(power) for power in powers.undeclared],
        "false_claims": [asdict(power) for power in powers.false_claims],
        "probed": list(powers.probed),
    }
    if summary.left:
        found["left"] = [
            {"command": command, "number": number} for command, number in summary.left.most_common()
        ]
    return found | {"accuracy": [asdict(measured) for measured in summary.accuracy]}


def _area_titles(areas: Iterable[str]) -> dict[str, str]:
    """The titles of areas, as their documents begin; reading all of YAML would take long."""
    found = {}
    for area in sorted(areas):
        entry = files("codemode_spec") / "requirements" / f"{area.lower()}.yaml"
        if entry.is_file():
            head = entry.read_text(encoding="utf-8")[:_HEAD_CHARACTERS]
            title = next((x for x in head.splitlines() if x.startswith("title: ")), "")
            found[area] = title.removeprefix("title: ")
    return found


def _requirements(summary: Summary) -> dict[str, Any]:
    named: dict[str, Requirement] = {item.id: item for item in summary.not_judged}
    named |= {layer.requirement.id: layer.requirement for layer in summary.layers}
    return {
        name: {
            "area": item.area,
            "class": item.klass,
            "level": item.level,
            "text": item.text,
            "why": item.why,
        }
        for name, item in sorted(named.items())
    }


def _counts(counts: Counter[Verdict]) -> dict[str, int]:
    return {str(verdict): number for verdict, number in sorted(counts.items())}


def _case(summary: Summary, entry: CaseVerdict) -> dict[str, Any]:
    seen = entry.observation
    return {
        "id": entry.case.id,
        "title": entry.case.title,
        "area": entry.case.area,
        "digest": summary.specification.digests.get(entry.case.id, ""),
        "verdict": str(entry.verdict),
        "seconds": round(entry.seconds, 3),
        **({"repeats": _counts(Counter(entry.repeats))} if entry.repeats else {}),
        "layers": [_layer(layer) for layer in entry.layers],
        "evidence": {
            "runs": [_run(run) for run in (*seen.runs, *seen.then)],
            "after": str(seen.after),
            "after_detail": seen.after_detail,
            "canaries": [asdict(hit) for hit in seen.canaries],
            "notes": list(seen.notes),
            **_level(seen.level),
        },
        "reproduce": reproduction(summary, entry.case.id),
    }


def _level(level: tuple[str, str]) -> dict[str, str]:
    """On what the evidence of worker processes rests, where there is any."""
    name, why = level
    return ({"level": name} if name else {}) | ({"level_reason": why} if why else {})


def _layer(layer: LayerVerdict) -> dict[str, Any]:
    finding = layer.finding
    return {
        "layer": layer.layer,
        "requirement": layer.requirement.id,
        "class": layer.requirement.klass,
        "level": layer.requirement.level,
        "verdict": str(layer.verdict),
        **({"kind": kind_of(layer)} if layer.verdict in _FAILED else {}),
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


def cut_program(program: str) -> str:
    """The program, or as much of its start as a report holds."""
    whole = len(program) <= PROGRAM_CHARACTERS
    return program if whole else program[:PROGRAM_CHARACTERS] + "…"


def _run(run: Run) -> dict[str, Any]:
    return {
        "end": str(run.end),
        "stage": run.stage,
        "elapsed_ms": round(run.elapsed_ms, 1),
        "described": layers.describe(run),
        "program": cut_program(run.program),
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
