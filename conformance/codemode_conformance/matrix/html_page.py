"""The matrix as one page that needs nothing else.

Every text of a report goes through `for_html`; style and script are allowed by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_html
from codemode_conformance.matrix import words
from codemode_conformance.matrix.badge import told
from codemode_conformance.report.html_parts import bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MOST_FAILURES: Final = 40
"""Failures that are listed of one finding; the JSON has them all."""


def text(matrix: Mapping[str, Any]) -> str:
    """The page."""
    return "\n".join(_page(matrix)) + "\n"


@cache
def _own(package: str, name: str) -> str:
    return (files(f"codemode_conformance.{package}") / name).read_text(encoding="utf-8").strip()


def _hash(content: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() + "'"


def _page(matrix: Mapping[str, Any]) -> Iterator[str]:
    style = _own("report", "page.css") + "\n" + _own("matrix", "matrix.css")
    script = _own("matrix", "matrix.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{words.TITLE}: Code Mode Conformance</title>"
    yield f"<style>{style}</style></head><body>"
    yield from _head(matrix)
    yield from _overview(matrix)
    yield from _choices(matrix)
    yield from _areas(matrix)
    yield from _requirements(matrix)
    yield "<h2 id='targets'>Each implementation</h2>"
    for target in matrix["targets"]:
        yield from _target(target)
    yield f"<script>{script}</script></body></html>"


def _head(matrix: Mapping[str, Any]) -> Iterator[str]:
    yield f"<header><div><h1>{words.TITLE}</h1>"
    yield (
        f"<div class='soft'>Code Mode Conformance {for_html(matrix['suite_version'])}, "
        f"specification {for_html(matrix['spec_revision'])}, cases "
        f"<span class='mono'>{for_html(matrix['cases_digest'][:16])}</span>, "
        f"{for_html(words.days(matrix))}, {for_html(words.places(matrix))}</div></div>"
    )
    yield "<button id='theme' class='needs-script' hidden>light / dark</button></header>"
    for paragraph in words.READING:
        yield f"<p class='lead'>{paragraph}</p>"
    for paragraph in words.lead(matrix):
        yield f"<p class='lead'>{for_html(paragraph)}</p>"
    yield "<nav><a href='#overview'>Overview</a><a href='#choices'>Declared choices</a>"
    yield "<a href='#areas'>Areas</a><a href='#requirements'>Requirements</a>"
    yield "<a href='#targets'>Each implementation</a></nav>"


def _anchor(target: Mapping[str, Any]) -> str:
    return "t-" + for_html(target["key"].replace(" ", "-").strip("()"))


def _link(target: Mapping[str, Any]) -> str:
    return f"<a href='#{_anchor(target)}'>{for_html(target['key'])}</a>"


def _side(head: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    yield f"<div class='wide'><table class='side'><thead><tr>{''.join(head)}</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div>"


def _columns(matrix: Mapping[str, Any]) -> list[str]:
    return [f"<th class='c'>{_link(target)}</th>" for target in matrix["targets"]]


def _overview(matrix: Mapping[str, Any]) -> Iterator[str]:
    classes = words.classes(matrix)
    yield "<h2 id='overview'>Overview</h2>"
    yield "<p class='soft'>What held, of what was judged: layers of cases, by class; below it, of "
    yield "how many requirements they are: what is not declared is not asked.</p>"
    head = ["<th>implementation</th>", "<th>programs</th>", "<th>isolation</th>", "<th>met</th>"]
    head += ["<th class='why'>causes of failures</th>"]
    head += [f"<th class='n'>{for_html(name)}</th>" for name in classes]
    head += ["<th class='n'>not asked</th>", "<th class='n'>time</th>"]
    several = " to " in words.days(matrix)
    head += ["<th>run</th>"] if several else []

    def row(target: Mapping[str, Any]) -> str:
        cells = [
            f"<th>{_link(target)} <span class='soft'>{for_html(target['version'])}</span></th>",
            f"<td>{for_html(words.programs(target))}</td>",
            f"<td>{for_html(target['alternatives'].get('isolation', 'not declared'))}</td>",
            f"<td class='level level-{for_html(target['level'])}'>{told(target['level'])}</td>",
            f"<td class='why'>{for_html(words.causes(target))}</td>",
        ]
        asked_of = words.breadth(matrix, target)
        cells += [_held(target["classes"].get(name, {}), asked_of[name]) for name in classes]
        asked = target["cases"].get("unsupported", 0)
        cells.append(f"<td class='n'>{asked} cases</td>")
        cells.append(f"<td class='n'>{target['seconds']:.0f} s</td>")
        if several:
            cells.append(f"<td>{for_html(target['started'][:10])}</td>")
        return f"<tr>{''.join(cells)}</tr>"

    yield from _side(head, map(row, matrix["targets"]))


def _held(counts: Mapping[str, int], requirements: int) -> str:
    held, of = words.judged(counts)
    if not of:
        return "<td class='n soft'>not claimed</td>"
    meter = bar({name: counts.get(name, 0) for name in ("pass", "fail", "flaky")})
    return (
        f"<td class='n'><span class='held'>{held} / {of}</span>"
        f"<span class='meter'>{meter}</span><br>"
        f"<span class='soft'>{requirements} requirements</span></td>"
    )


def _choices(matrix: Mapping[str, Any]) -> Iterator[str]:
    targets = matrix["targets"]
    yield "<h2 id='choices'>Declared choices and limits</h2>"
    yield "<p class='soft'>Legal alternatives of the specification, and limits as they are by "
    yield "default; empty: not declared, or the documentation is silent.</p>"

    def rows() -> Iterator[str]:
        for what, title in (("alternatives", "Alternatives"), ("limits", "Limits")):
            names = sorted({name for target in targets for name in target[what]})
            yield f"<tr class='group'><th>{title}</th><td colspan='{len(targets)}'></td></tr>"
            for name in names:
                cells = "".join(
                    f"<td class='c'>{for_html(_value(target[what].get(name, '')))}</td>"
                    for target in targets
                )
                yield f"<tr><th class='mono'>{for_html(name)}</th>{cells}</tr>"

    yield from _side(["<th></th>", *_columns(matrix)], rows())


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _areas(matrix: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2 id='areas'>Areas</h2>"
    yield "<p class='soft'>What held, of what was judged; empty: nothing was.</p>"

    def rows() -> Iterator[str]:
        for area, title in matrix["areas"].items():
            if not words.area_judged(matrix, area):
                continue
            cells = []
            for target in matrix["targets"]:
                held, of = words.judged(target["areas"].get(area, {}))
                klass = "v-pass" if held == of else "v-fail"
                told_so = f"<span class='{klass}'>{held}/{of}</span>" if of else ""
                cells.append(f"<td class='c'>{told_so}</td>")
            yield f"<tr><th>{for_html(area)} <span class='soft'>{for_html(title)}</span></th>"
            yield f"{''.join(cells)}</tr>"

    yield from _side(["<th>area</th>", *_columns(matrix)], rows())


def _requirements(matrix: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2 id='requirements'>Requirements</h2><ul class='key soft'>"
    for symbol, meaning in words.MEANING.items():
        yield f"<li><b>{symbol}</b> {meaning}</li>"
    yield "</ul><p><label class='needs-script' hidden>"
    yield "<input type='checkbox' id='differing' checked> only those that were seen broken "
    yield "somewhere</label></p>"

    def rows() -> Iterator[str]:
        for entry in matrix["requirements"]:
            verdicts = entry["verdicts"]
            if set(verdicts.values()) <= {"unsupported"}:
                continue
            cells = []
            for target in matrix["targets"]:
                verdict = verdicts.get(target["key"], "unsupported")
                symbol = (
                    f"<span class='v-{verdict}' title='{verdict}'>{words.SYMBOLS[verdict]}</span>"
                )
                cells.append(f"<td class='c'>{symbol}</td>")
            about = f"{entry['class']}, {entry['level']}"
            yield f"<tr data-differs='{'yes' if words.differs(verdicts) else 'no'}'>"
            yield f"<th class='mono' title='{for_html(entry['text'])}'>{for_html(entry['id'])}</th>"
            yield f"{''.join(cells)}<td class='words'>{for_html(entry['text'])} "
            yield f"<span class='soft'>({for_html(about)})</span></td></tr>"

    yield from _side(["<th>requirement</th>", *_columns(matrix), "<th>text</th>"], rows())


def _target(target: Mapping[str, Any]) -> Iterator[str]:
    yield f"<section class='target' id='{_anchor(target)}'>"
    yield f"<h3>{for_html(target['title'])} "
    yield f"<span class='soft'>{for_html(target['version'])}</span></h3>"
    home = target["homepage"]
    if home.startswith("https://"):
        yield f"<p><a href='{for_html(home)}' rel='noreferrer'>{for_html(home)}</a></p>"
    counts = ", ".join(f"{number} {name}" for name, number in target["cases"].items())
    languages = for_html(", ".join(target["language"]))
    yield f"<p class='soft'>{for_html(target['role'])} role, {languages} programs, run in "
    yield f"{target['seconds']:.0f} s on {for_html(words.place(target))}, "
    yield f"{for_html(target['started'][:10])}. Cases: {for_html(counts)}.</p>"
    if target.get("note"):
        yield f"<p>{for_html(target['note'])}</p>"
    read = target.get("passes_read", [])
    if read:
        yield f"<p class='soft'>Of what holds, the suite's authors read {len(read)} cases "
        yield "message by message: "
        yield f"{for_html(target['passes_how'])}</p>"
    if not target["failures"]:
        yield "<p>No failure was seen.</p></section>"
        return
    for number, finding in enumerate(target["findings"]):
        found = [entry for entry in target["failures"] if entry["finding"] == number]
        if found:
            link = finding.get("link", "")
            more = f" <a href='{for_html(link)}' rel='noreferrer'>documentation</a>" if link else ""
            kind = finding["kind"]
            title = f"<span class='kind kind-{kind}'>{words.KINDS[kind]}</span> "
            how = finding.get("how", "")
            sure = f" <span class='soft how'>Confirmed by: {for_html(how)}</span>" if how else ""
            yield from _failures(f"{title}{for_html(finding['text'])}{more}{sure}", found)
    rest = [entry for entry in target["failures"] if entry["finding"] is None]
    if rest:
        yield from _failures(f"<span class='kind'></span> {words.UNCONFIRMED}", rest)
    yield "</section>"


def _failures(title: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"<p>{title}</p><details class='plain'><summary>{len(found)} "
    yield f"{'failure' if len(found) == 1 else 'failures'}</summary><ul class='fails'>"
    for entry in found[:MOST_FAILURES]:
        seen = "; ".join(for_html(part) for part in (entry["reason"], entry["observed"]) if part)
        yield f"<li><code>{for_html(entry['case'])}</code> {for_html(entry['title'])} "
        yield f"<span class='soft'>{for_html(entry['requirement'])}, {for_html(entry['class'])}, "
        yield f"{for_html(entry['level'])}; expected {for_html(entry['expected'])}; "
        yield f"observed {seen}</span>"
        yield f"<code class='line'>{for_html(entry['reproduce'])}</code></li>"
    if len(found) > MOST_FAILURES:
        yield f"<li class='soft'>and {len(found) - MOST_FAILURES} more in the JSON</li>"
    yield "</ul></details>"
