"""The HTML report: one page that needs nothing else, and runs no script but its own.

Every text of a report goes through `for_html`; style and script are allowed by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_html
from codemode_conformance.report import html_cases, words
from codemode_conformance.report.html_parts import bar, chart, table, verdict
from codemode_conformance.report.parts import parts, role_of
from codemode_conformance.verdicts import WORST_FIRST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_LISTED: Final = 12
_LEVELS: Final = {0: "pass", 1: "fail", 4: "xpass"}


def text(report: Mapping[str, Any]) -> str:
    """The page."""
    return "\n".join(_page(_title(report), _part(report))) + "\n"


def whole(report: Mapping[str, Any]) -> str:
    """The page of all roles: a section for each, with links to them at its head."""
    return "\n".join(_page(_title(report), _parts(report))) + "\n"


@cache
def _own(name: str) -> str:
    """A file that stands in the page as it is: it holds nothing that would end its element."""
    return (files(__package__) / name).read_text(encoding="utf-8").strip()


def _hash(content: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() + "'"


def _title(report: Mapping[str, Any]) -> str:
    return for_html(f"{report['target']['name']} {report['target']['version']}")


def _page(title: str, body: Iterator[str]) -> Iterator[str]:
    style, script = _own("page.css"), _own("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{title}: Code Mode Conformance</title>"
    yield f"<style>{style}</style></head><body>"
    yield from body
    yield f"<script>{script}</script></body></html>"


def _parts(report: Mapping[str, Any]) -> Iterator[str]:
    level = _LEVELS.get(report["exit_code"], "error")
    yield f"<p class='conclusion'><span class='badge v-{level}'>{words.conclusion(report)}</span>"
    yield "in all roles</p><nav>"
    for part in parts(report):
        role = for_html(role_of(part))
        yield f"<a href='#{role}-report'>{role}: {words.conclusion(part)}</a>"
    yield "</nav>"
    for one in report["not_started"]:
        told = f"<b>{for_html(one['role'])} role</b>: it did not start: {for_html(one['reason'])}"
        yield f"<div class='note'>{told}</div>"
    for part in parts(report):
        role = for_html(role_of(part))
        yield f"<section id='{role}-report'>"
        for line in _part(part, f"{role}-"):
            # No text of a report has a bare quote: these are the names that the page itself gives.
            yield line.replace(" id='", f" id='{role}-").replace("href='#", f"href='#{role}-")
        yield "</section>"


def _part(report: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """All there is to say of one role; `before` stands before each name in it, for the script."""
    yield f"<div data-before='{before}' class='report'>"
    yield from _head(report)
    yield from _warnings(report)
    yield from _classes(report)
    yield from _areas(report)
    yield from _powers(report)
    yield from _accuracy(report)
    yield from html_cases.cases(report)
    yield from _requirements(report)
    yield from _pins(report)
    yield "</div>"


def _head(report: Mapping[str, Any]) -> Iterator[str]:
    target = report["target"]
    name = for_html(target.get("title") or target["name"])
    level = _LEVELS.get(report["exit_code"], "error")
    yield f"<header><div><h1>{name} <span class='soft'>{for_html(target['version'])}</span></h1>"
    yield (
        f"<div class='soft'>Code Mode Conformance {for_html(report['suite_version'])}, "
        f"specification {for_html(report['spec_revision'])}, "
        f"{for_html(report['selection']['role'])} role</div></div>"
    )
    yield "<button id='theme' class='needs-script' hidden>light / dark</button></header>"
    extent = words.extent(report)
    yield (
        f"<p class='conclusion'><span class='badge v-{level}'>{words.conclusion(report)}</span>"
        f"{words.counted(report['totals'])} in {report['seconds']:.1f} s</p>"
    )
    if extent:
        yield f"<p class='soft'>{for_html(extent)}</p>"
    if ill := words.troubled(report):
        yield f"<div class='note'><b>To look at: {len(ill)}</b><ul>"
        for case in ill[:MOST_LISTED]:
            yield f"<li>{verdict(case['verdict'])}{html_cases.link(case['id'])} "
            yield f"{for_html(case['title'])}</li>"
        more = len(ill) - MOST_LISTED
        yield f"</ul>{f'and {more} more, below' if more > 0 else ''}</div>"
    yield "<nav><a href='#classes'>Classes</a><a href='#areas'>Areas</a>"
    yield "<a href='#capabilities'>Capabilities</a>"
    if report.get("accuracy"):
        yield "<a href='#limits'>Limits</a>"
    yield "<a href='#cases'>Cases</a><a href='#requirements'>Requirements</a>"
    yield "<a href='#pins'>What is pinned</a></nav>"


def _warnings(report: Mapping[str, Any]) -> Iterator[str]:
    lists = {
        "The baseline does not hold": [
            f"{html_cases.link(one['case'])} {for_html(one.get('layer', ''))}: "
            f"<b>{for_html(one['problem'])}</b>, {for_html(one['text'])}"
            for one in report.get("baseline", {}).get("problems", ())
        ],
        "Disputed cases: shown, and not judged": [
            f"{html_cases.link(one['case'])} {for_html(one.get('layer', ''))}: "
            f"{for_html(one['reason'])} ({for_html(one['link'])}, since {for_html(one['since'])})"
            for one in report.get("disputed", ())
        ],
        words.LEFT: [for_html(words.left(one)) for one in report.get("left", ())],
    }
    for heading, entries in lists.items():
        if entries:
            items = "".join(f"<li>{entry}</li>" for entry in entries)
            yield f"<div class='note'><b>{heading}</b><ul>{items}</ul></div>"


def _classes(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2 id='classes'>Classes</h2>"
    yield "<p class='soft'>Layers of cases: a case counts once for each thing that it judges. "
    yield "Each class stands for itself; there is no score.</p>"
    yield from _counts("class", report["classes"])
    reasons = words.not_asked(report)
    if reasons:
        yield "<details class='plain'><summary>Why cases were not asked</summary>"
        rows = [(f"<td class='n'>{n}</td>", f"<td>{for_html(r)}</td>") for r, n in reasons.items()]
        yield from table(("<th class='n'>cases</th>", "<th>reason</th>"), rows)
        yield "</details>"


def _areas(report: Mapping[str, Any]) -> Iterator[str]:
    found: dict[str, dict[str, int]] = {}
    for case in report["cases"]:
        counts = found.setdefault(case.get("area", ""), {})
        counts[case["verdict"]] = counts.get(case["verdict"], 0) + 1
    titles = report.get("areas", {})
    named = {f"{name} {titles.get(name, '')}".strip(): counts for name, counts in found.items()}
    yield "<h2 id='areas'>Areas</h2><p class='soft'>Cases.</p>"
    yield from _counts("area", named)


def _counts(what: str, counted: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    there = [v for v in words.COLUMNS if any(counts.get(v) for counts in counted.values())]
    head = [f"<th>{what}</th>", "<th class='bar'></th>"]
    head += [f"<th class='n v-{v}'>{v}</th>" for v in there]
    rows = []
    for name, counts in counted.items():
        numbers = [f"<td class='n'>{counts.get(v) or ''}</td>" for v in there]
        rows.append((f"<td>{for_html(name)}</td>", f"<td class='bar'>{bar(counts)}</td>", *numbers))
    yield from table(head, rows, "cases-by")


def _powers(report: Mapping[str, Any]) -> Iterator[str]:
    powers = report.get("capabilities", {})
    probed = powers.get("probed", ())
    yield "<h2 id='capabilities'>Capabilities</h2>"
    for heading, name, none in (
        ("Undeclared powers", "undeclared", "None was seen."),
        ("False claims", "false_claims", "Nothing that is declared was seen to be missing."),
    ):
        found = powers.get(name, ())
        yield f"<h3>{heading}</h3>"
        if not found:
            told = none if name == "false_claims" or probed else "Not probed in this run."
            yield f"<p class='soft'>{told}</p>"
            continue
        items = (
            f"<li><b>{for_html(one['name'])}</b>: {for_html(one['text'])}</li>" for one in found
        )
        yield f"<div class='note'><ul>{''.join(items)}</ul></div>"
    declared = ", ".join(map(for_html, powers.get("declared", ()))) or "nothing"
    yield f"<p class='soft'>Declared: {declared}.</p>"
    if probed:
        yield f"<p class='soft'>Looked for: {', '.join(map(for_html, probed))}.</p>"


def _accuracy(report: Mapping[str, Any]) -> Iterator[str]:
    measured = report.get("accuracy", ())
    if not measured:
        return
    yield "<h2 id='limits'>Where limits stop a program</h2>"
    yield "<p class='soft'>Measured, not judged. The line is the claim, the dot what was observed, "
    yield "from a quarter to four times the claim.</p>"
    for one in measured:
        yield "<div class='limit'>"
        yield f"<span class='mono'>{for_html(one['row'])}</span>"
        yield chart(one["claimed"], one["observed"])
        yield f"<span class='soft'>{for_html(words.measured(one))}</span></div>"


def _requirements(report: Mapping[str, Any]) -> Iterator[str]:
    judged: dict[str, list[tuple[str, str]]] = {}
    for case in report["cases"]:
        for layer in case["layers"]:
            judged.setdefault(layer["requirement"], []).append((case["id"], layer["verdict"]))
    yield "<h2 id='requirements'>Requirements</h2>"
    missing = report["not_judged"]
    if missing:
        yield f"<p class='soft'>{len(missing)} of them were not judged: no case yet, another role, "
        yield "or not asked of this target.</p>"
    rows = []
    for name, item in report.get("requirements", {}).items():
        found = judged.get(name, [])
        there = {told for _, told in found}
        worst = next((v for v in WORST_FIRST if v in there), None)
        ids = list(dict.fromkeys(case for case, _ in found))
        links = ", ".join(html_cases.link(case) for case in ids[:60])
        more = f" and {len(ids) - 60} more" if ids[60:] else ""
        cases = f"<details class='plain'><summary>{len(ids)} cases</summary>{links}{more}</details>"
        told = verdict(worst) if worst else "<span class='soft'>not judged</span>"
        about = f"{item['class']}, {item['level']}. {item['why']}"
        text = f"{for_html(item['text'])}<br><span class='soft'>{for_html(about)}</span>"
        head = f"<td id='{for_html(name)}'><code>{for_html(name)}</code><br>{told}</td>"
        rows.append((head, f"<td>{text}{cases if ids else ''}</td>"))
    yield from table(("<th>requirement</th>", "<th>text</th>"), rows)


def _pins(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2 id='pins'>What is pinned</h2><dl class='facts'>"
    for name, told in words.pins(report):
        yield f"<dt>{for_html(name)}</dt><dd class='mono'>{for_html(told)}</dd>"
    yield "</dl>"
    rows = [
        (
            f"<td class='mono'>{for_html(row)}</td>",
            f"<td class='n'>{for_html(str(entry.get('value', '')))}</td>",
            f"<td>{for_html(str(entry.get('from', '')))}</td>",
        )
        for row, entry in report.get("effective", {}).items()
        if isinstance(entry, dict)
    ]
    if rows:
        yield "<h3>Policy</h3>"
        yield from table(("<th>row</th>", "<th class='n'>value</th>", "<th>from</th>"), rows)
    yield "<p class='soft'>Targets are not confined by the suite, and a report proves nothing by "
    yield "itself: run it again.</p>"
