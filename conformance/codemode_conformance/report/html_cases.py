"""The cases of the HTML report: filters, and each case with its layers and its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_html
from codemode_conformance.report import words
from codemode_conformance.report.html_parts import verdict
from codemode_conformance.verdicts import LOOK_AT, WORST_FIRST, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MOST_CALLS: Final = 20
MOST_LINES: Final = 20


def link(case: str) -> str:
    """A link to a case on the page."""
    return f"<a href='#case-{for_html(case)}'>{for_html(case)}</a>"


def cases(report: Mapping[str, Any]) -> Iterator[str]:
    """The section."""
    found = report["cases"]
    yield "<h2 id='cases'>Cases</h2>"
    yield from _filters(report)
    areas: dict[str, list[dict[str, Any]]] = {}
    for case in found:
        areas.setdefault(case.get("area", ""), []).append(case)
    titles = report.get("areas", {})
    for area, entries in areas.items():
        heading = for_html(f"{area} {titles.get(area, '')}".strip())
        yield f"<section class='area'><h3>{heading}</h3>"
        for case in entries:
            yield from _case(case, report.get("requirements", {}))
        yield "</section>"


def _filters(report: Mapping[str, Any]) -> Iterator[str]:
    areas = dict.fromkeys(case.get("area", "") for case in report["cases"])
    there = [v for v in WORST_FIRST if report["totals"].get(v)]
    yield "<div class='filters needs-script' hidden>"
    yield "<input type='search' id='search' placeholder='Search ids, titles, evidence' "
    yield "aria-label='Search'>"
    yield from _choice("area", areas)
    yield from _choice("class", report["classes"])
    yield "<button id='trouble'>to look at</button><button id='reset'>all</button>"
    yield "<span id='shown' class='soft' role='status'></span><div class='chips'>"
    for name in there:
        # What was not asked is counted above; among the cases it would hide the others.
        chosen = "" if name == Verdict.UNSUPPORTED and there[1:] else " checked"
        yield (
            f"<label title='{for_html(words.MEANING[name])}'><input type='checkbox'{chosen} "
            f"value='{name}'>{verdict(name)}</label>"
        )
    yield "</div></div>"


def _choice(name: str, values: Iterable[str]) -> Iterator[str]:
    options = "".join(f"<option>{for_html(value)}</option>" for value in values)
    yield f"<select id='{name}' aria-label='{name}'><option value=''>every {name}</option>"
    yield f"{options}</select>"


def _case(case: Mapping[str, Any], requirements: Mapping[str, Any]) -> Iterator[str]:
    classes = " ".join(sorted({layer["class"] for layer in case["layers"]}))
    is_open = " open" if case["verdict"] in LOOK_AT else ""
    yield (
        f"<details class='case' id='case-{for_html(case['id'])}' "
        f"data-verdict='{case['verdict']}' data-area='{for_html(case.get('area', ''))}' "
        f"data-classes='{for_html(classes)}'{is_open}>"
    )
    yield f"<summary>{verdict(case['verdict'])}<code>{for_html(case['id'])}</code>"
    yield f"<span class='title'>{for_html(case['title'])}</span></summary><div class='inner'>"
    if repeats := case.get("repeats"):
        runs = sum(repeats.values())
        yield f"<p class='soft'>{runs} runs: {words.counted(repeats)}</p>"
    for layer in case["layers"]:
        yield from _layer(layer, requirements)
    yield from _evidence(case.get("evidence") or {})
    if line := case.get("reproduce"):
        yield f"<div class='run'><code>{for_html(line)}</code>"
        yield "<button data-copy class='needs-script' hidden>copy</button></div>"
    yield "</div></details>"


def _layer(layer: Mapping[str, Any], requirements: Mapping[str, Any]) -> Iterator[str]:
    name = for_html(layer["requirement"])
    told = requirements.get(layer["requirement"], {}).get("text", "")
    advice = ", advice" if words.advice(layer) else ""
    yield f"<div class='layer'><span>{for_html(layer['layer'])}</span>{verdict(layer['verdict'])}"
    yield f"<span class='what'><a href='#{name}'>{name}</a> {for_html(told)} "
    yield f"<span class='soft'>({for_html(layer['class'])}, {layer['level']}{advice})</span></span>"
    parts = [
        f"<dt>{part}</dt><dd class='mono'>{for_html(layer[part])}</dd>"
        for part in ("reason", "expected", "observed")
        if layer.get(part)
    ]
    yield f"<dl>{''.join(parts)}</dl></div>" if parts else "</div>"


def _evidence(evidence: Mapping[str, Any]) -> Iterator[str]:
    for run in evidence.get("runs", ()):
        yield f"<p>{for_html(run['described'])}; {run['elapsed_ms']:.0f} ms</p>"
        yield f"<pre>{for_html(run['program'], lines=True)}</pre>"
        calls = run.get("calls", ())
        shown = [
            f"{call.get('number', '')} {call.get('op', '')} {call.get('args', '')} at "
            f"{call.get('at_ms', 0):.0f} ms, {call.get('overlap', 0)} open"
            for call in calls[:MOST_CALLS]
        ]
        if calls[MOST_CALLS:]:
            shown.append(f"and {len(calls) - MOST_CALLS} more")
        yield from _list("calls", shown)
        yield from _list("log", list(run.get("logs", ())))
    if evidence.get("runs"):
        detail = evidence.get("after_detail", "")
        after = evidence.get("after", "").replace("_", " ")
        yield f"<p>afterwards: {for_html(after)}{for_html(f': {detail}') if detail else ''}</p>"
    yield from _list(
        "secrets seen",
        [
            f"{hit.get('canary', '')} ({hit.get('form', '')}) in {hit.get('where', '')}"
            for hit in evidence.get("canaries", ())
        ],
    )
    yield from _list("notes", list(evidence.get("notes", ())))


def _list(heading: str, entries: list[str]) -> Iterator[str]:
    if entries:
        yield f"<div class='soft'>{heading}</div><pre>"
        yield "\n".join(for_html(entry) for entry in entries[:MOST_LINES]) + "</pre>"
