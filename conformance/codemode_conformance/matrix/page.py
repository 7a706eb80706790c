"""The matrix as a page of the book, in Markdown without HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_markdown, for_xml
from codemode_conformance.matrix import words
from codemode_conformance.matrix.badge import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")


def prose(text: str) -> str:
    """Text in which Markdown finds nothing of its own, on one line."""
    return _MARKUP.sub(r"\\\1", for_xml(text))


def text(matrix: Mapping[str, Any]) -> str:
    """The page; it is made by `cmconf matrix` and not edited."""
    return "\n".join(_page(matrix)) + "\n"


def _page(matrix: Mapping[str, Any]) -> Iterator[str]:
    targets = matrix["targets"]
    keys = [for_markdown(target["key"]) for target in targets]
    yield f"# {words.TITLE}"
    yield ""
    yield (
        f"Specification {for_markdown(matrix['spec_revision'])}, cases "
        f"{for_markdown(matrix['cases_digest'][:16])}, run {prose(words.days(matrix))} on "
        f"{prose(words.places(matrix))}."
    )
    for paragraph in words.READING:
        yield ""
        yield paragraph
    for paragraph in words.lead(matrix):
        yield ""
        yield prose(paragraph)
    yield "\n## Overview\n"
    classes = words.classes(matrix)
    head = [
        "implementation",
        "version",
        "programs",
        "isolation",
        "met",
        "causes of failures",
        *classes,
        "not asked",
        "time",
    ]
    rows = []
    for target, key in zip(targets, keys, strict=True):
        chosen = target["alternatives"].get("isolation", "not declared")
        cells = [
            key,
            for_markdown(target["version"]),
            for_markdown(words.programs(target)),
        ]
        cells += [for_markdown(chosen), told(target["level"]), words.causes(target)]
        asked_of = words.breadth(matrix, target)
        for name in classes:
            held, of = words.judged(target["classes"].get(name, {}))
            cells.append(f"{held} / {of}, {asked_of[name]} R" if of else "not claimed")
        asked = target["cases"].get("unsupported", 0)
        rows.append([*cells, f"{asked} cases", f"{target['seconds']:.0f} s"])
    yield from _table(head, rows)
    yield "\nNumbers: what held, of what was judged, in layers of cases, and how many requirements"
    yield "(R) these are of. What is not declared is not asked."
    yield "\n## Areas\n"
    rows = []
    for area, title in matrix["areas"].items():
        if not words.area_judged(matrix, area):
            continue
        found = [words.judged(target["areas"].get(area, {})) for target in targets]
        rows.append(
            [prose(f"{area} {title}".strip()), *(f"{h}/{of}" if of else "" for h, of in found)]
        )
    yield from _table(["area", *keys], rows)
    yield "\n## Requirements that were seen broken\n"
    symbols = ", ".join(f"{symbol} {meaning}" for symbol, meaning in words.MEANING.items())
    yield f"{symbols}.\n"
    rows = [
        [
            entry["id"],
            *(words.SYMBOLS[entry["verdicts"].get(t["key"], "unsupported")] for t in targets),
            prose(entry["text"]),
        ]
        for entry in matrix["requirements"]
        if words.differs(entry["verdicts"])
    ]
    yield from _table(["requirement", *keys, "text"], rows)
    yield "\n## Each implementation\n"
    yield "Failures by cause, each with a line that reproduces one of them. "
    yield (
        "; ".join(f"*{words.KINDS[kind]}*: {told}" for kind, told in words.KIND_MEANING.items())
        + "."
    )
    for target in targets:
        yield from _target(target)


def _target(target: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n### {for_markdown(target['key'])}\n"
    home = target["homepage"]
    counts = ", ".join(f"{number} {name}" for name, number in target["cases"].items())
    link = f" <{home}>" if home.startswith("https://") and not set(home) & set("<> ") else ""
    note = prose(target.get("note", ""))
    yield f"{prose(target['title'])}{link}: {counts} cases. {note}".rstrip()
    read = target.get("passes_read", [])
    if read:
        yield (
            f"\nOf what holds, the suite's authors read {len(read)} cases message by message: "
            f"{prose(target['passes_how'])}"
        )
    if not target["failures"]:
        yield "\nNo failure was seen."
        return
    yield ""
    causes = [*enumerate(target["findings"]), (None, {"kind": "", "text": words.UNCONFIRMED})]
    rows = []
    for number, finding in causes:
        found = [entry for entry in target["failures"] if entry["finding"] == number]
        if found:
            kind = words.KINDS.get(finding["kind"], "")
            cases = len({entry["case"] for entry in found})
            how = prose(finding.get("how", ""))
            line = for_markdown(found[0]["reproduce"])
            rows.append([kind, prose(finding["text"]), how, str(cases), line])
    yield from _table(["kind", "cause", "confirmed by", "cases", "run one"], rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
