"""Small parts of the HTML report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from codemode_conformance.escape import for_html
from codemode_conformance.report.words import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

WIDTH: Final = 240
_OCTAVES: Final = 2


def verdict(name: str) -> str:
    """A verdict in its color."""
    return f"<span class='v v-{for_html(name)}'>{for_html(name.replace('_', ' '))}</span>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], klass: str = "") -> Iterator[str]:
    """A table of cells that are HTML already."""
    yield f"<div class='wide'><table class='{klass}'><thead><tr>{''.join(head)}</tr></thead><tbody>"
    for row in rows:
        yield f"<tr>{''.join(row)}</tr>"
    yield "</tbody></table></div>"


def bar(counts: Mapping[str, int]) -> str:
    """Counts by verdict as one bar; the numbers stand beside it."""
    total = sum(counts.values())
    parts, at = [], 0.0
    for name in COLUMNS:
        if number := counts.get(name, 0):
            width = WIDTH * number / total
            parts.append(
                f"<rect class='f-{name}' x='{at:.1f}' y='0' width='{width:.1f}' height='8'/>"
            )
            at += width
    return (
        f"<svg viewBox='0 0 {WIDTH} 8' preserveAspectRatio='none' height='8' aria-hidden='true'>"
        f"{''.join(parts)}</svg>"
    )


def chart(claimed: float | str, observed: float | None) -> str:
    """The claim as a line and what was observed as a dot, on a scale of powers of two."""
    middle = WIDTH / 2
    claim = "" if isinstance(claimed, str) else _line(middle)
    dot = ""
    if observed and claimed and not isinstance(claimed, str):
        octaves = max(-_OCTAVES, min(math.log2(observed / claimed), _OCTAVES))
        at = middle + octaves * (middle - 8) / _OCTAVES
        dot = f"<circle class='f-dot' cx='{at:.1f}' cy='11' r='5'/>"
    track = f"<rect class='f-track' x='0' y='9' width='{WIDTH}' height='4' rx='2'/>"
    return f"<svg viewBox='0 0 {WIDTH} 22' aria-hidden='true'>{track}{claim}{dot}</svg>"


def _line(at: float) -> str:
    return f"<line class='s-claim' x1='{at}' x2='{at}' y1='2' y2='20'/>"
