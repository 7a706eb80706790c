"""A badge for one target: which classes of requirements hold, of which revision, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_html
from codemode_conformance.matrix.joining import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COLORS: Final = {
    "contract": "#1a7f37",
    "budgets": "#2f7d5b",
    "containment": "#3f7a80",
    "none": "#8a5a12",
    "incomplete": "#57606a",
}
_HEIGHT: Final = 20
_PAD: Final = 6
_CHARACTER: Final = 6.6
"""Pixels that a character of the badge's font takes at most."""


def told(level: str) -> str:
    """A level in the words of a badge."""
    if level in LEVELS:
        return " + ".join(LEVELS[: LEVELS.index(level) + 1])
    return "containment not met" if level == "none" else "incomplete run"


def badge(matrix: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """The badge as SVG, without anything from elsewhere."""
    label = f"code mode {matrix['spec_revision']}"
    text = told(target["level"])
    day = target["started"][:10]
    name = (
        f"{target['name']} {target['version']}: {text}, revision {matrix['spec_revision']}, {day}"
    )
    cells = [(label, "#3b434d"), (text, _COLORS[target["level"]]), (day, "#59636e")]
    return _svg(name, [(one, color) for one, color in cells if one])


def _svg(name: str, cells: Sequence[tuple[str, str]]) -> str:
    parts, at = [], 0.0
    for text, color in cells:
        room = len(text) * _CHARACTER + 2 * _PAD
        middle = at + room / 2
        parts.append(f'<rect x="{at:.1f}" width="{room:.1f}" height="{_HEIGHT}" fill="{color}"/>')
        parts.append(
            f'<text x="{middle:.1f}" y="14" textLength="{room - 2 * _PAD:.1f}">'
            f"{for_html(text)}</text>"
        )
        at += room
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{at:.0f}" height="{_HEIGHT}" role="img" '
        f'aria-label="{for_html(name)}"><title>{for_html(name)}</title>'
        f'<clipPath id="r"><rect width="{at:.0f}" height="{_HEIGHT}" rx="3"/></clipPath>'
        '<g clip-path="url(#r)" text-anchor="middle" fill="#fff" font-size="11" '
        'font-family="Verdana,Geneva,DejaVu Sans,sans-serif">'
        f"{''.join(parts)}</g></svg>\n"
    ).replace("<text x=", '<text fill="#fff" x=')
