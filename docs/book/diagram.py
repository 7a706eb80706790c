"""A state diagram as SVG, laid out from a transition table.

Each state is a card that lists what every event does there. Endings stand beside the line that
leads to them, so that no two lines cross there; moves between states run in lanes on the left.
Colors are those of the page, so that it is legible in light and in dark.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from codemode_spec.tables import Endpoint, Transition

WIDTH: Final = 760
_LEFT, _CARD, _PILL, _PILL_WIDTH = 96, 400, 540, 212
_LINE, _PAD, _GAP, _TITLE = 18, 12, 34, 26
_CHARACTERS: Final = 50  # of 13 px monospace that fit into a card
_LANES: Final = 36  # from a card to the first lane; inside of that stand the loops
_LANE: Final = 18


@dataclass(frozen=True, slots=True)
class _Row:
    """Events of one state with the same effect."""

    kind: str  # next | stay | error | exit | ignore
    target: str
    events: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        words = {"stay": "stays: ", "ignore": "ignored: ", "next": f"to {self.target}: "}
        text = words.get(self.kind, "") + ", ".join(self.events)
        return textwrap.wrap(
            text,
            _CHARACTERS,
            break_long_words=False,
            break_on_hyphens=False,
            subsequent_indent="  ",
        )


@dataclass(slots=True)
class _Card:
    """One state with its place."""

    name: str
    text: list[str]
    rows: list[_Row]
    top: int = 0
    ports: list[int] = field(default_factory=list)

    @property
    def height(self) -> int:
        lines = len(self.text) + sum(len(row.lines) for row in self.rows)
        return _TITLE + lines * _LINE + (len(self.rows) + 1) * 6 + _PAD


def draw(endpoint: Endpoint) -> str:
    """The diagram of one endpoint: every transition of its table is in it."""
    cards = [
        _Card(name, textwrap.wrap(text, _CHARACTERS + 6), _rows(name, endpoint))
        for name, text in endpoint.states.items()
    ]
    top = 34
    for card in cards:
        card.top = top
        top += card.height + _GAP
    shapes = [_start(cards, endpoint.initial)]
    for card in cards:
        shapes += _card(card, final=card.name == endpoint.final)
    shapes += _moves(cards)
    height = top - _GAP + 12
    label = escape(f"States of the {endpoint.name}; the table below says the same.")
    return (
        f'<div class="diagram"><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}" '
        'xmlns="http://www.w3.org/2000/svg">'
        f"<defs>{_markers(endpoint.name)}</defs>"
        + "".join(shapes).replace("url(#arrow", f"url(#{endpoint.name}-arrow")
        + "</svg></div>"
    )


def _markers(name: str) -> str:
    shape = 'viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    return "".join(
        f'<marker id="{name}-arrow{kind}" {shape} orient="auto-start-reverse">'
        f'<path class="head{kind}" d="M0 0L10 5L0 10z"/></marker>'
        for kind in ("", "-end")
    )


def _rows(state: str, endpoint: Endpoint) -> list[_Row]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for event, transition in endpoint.transitions[state].items():
        grouped.setdefault(effect(state, transition), []).append(event)
    order = ("next", "stay", "error", "exit", "ignore")
    rows = [_Row(kind, target, tuple(events)) for (kind, target), events in grouped.items()]
    return sorted(rows, key=lambda row: order.index(row.kind))


def effect(state: str, transition: Transition) -> tuple[str, str]:
    """What a transition does: its kind, and the state, code or status that it leads to."""
    if transition.next is not None:
        return ("stay" if transition.next == state else "next"), transition.next
    if transition.error is not None:
        return "error", transition.error
    if transition.exit is not None:
        return "exit", f"exit {transition.exit}"
    return "ignore", ""


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _box(kind: str, x: int, y: int, width: int, height: int, radius: int) -> str:  # noqa: PLR0913, PLR0917
    place = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"'
    return f'<rect class="{kind}" {place}/>'


def _line(path: str, kind: str = "") -> str:
    return f'<path class="line{kind}" d="{path}" marker-end="url(#arrow{kind})"/>'


def _start(cards: list[_Card], initial: str) -> str:
    card = next(card for card in cards if card.name == initial)
    x = _LEFT + _CARD / 2
    return f'<circle class="start" cx="{x}" cy="{card.top - 24}" r="6"/>' + _line(
        f"M{x} {card.top - 18}V{card.top - 2}"
    )


def _card(card: _Card, *, final: bool) -> list[str]:
    kind = "card final" if final else "card"
    shapes = [
        _box(kind, _LEFT, card.top, _CARD, card.height, 8),
        _text(_LEFT + _PAD, card.top + 20, card.name, "name"),
    ]
    y = card.top + _TITLE
    for line in card.text:
        y += _LINE
        shapes.append(_text(_LEFT + _PAD, y - 5, line, "note"))
    for row in card.rows:
        y += 6
        port = y + len(row.lines) * _LINE // 2
        card.ports.append(port)
        for line in row.lines:
            y += _LINE
            shapes.append(_text(_LEFT + _PAD, y - 5, line.replace("  ", "\u00a0\u00a0"), row.kind))
        if row.kind in ("error", "exit"):
            shapes += _ending(row, port)
        elif row.kind == "stay":
            shapes.append(_line(f"M{_LEFT} {port - 6}c-30 -6 -30 18 -1 12"))
    return shapes


def _ending(row: _Row, port: int) -> list[str]:
    return [
        _line(f"M{_LEFT + _CARD} {port}H{_PILL - 2}", "-end"),
        _box("pill", _PILL, port - 11, _PILL_WIDTH, 22, 11),
        _text(_PILL + _PILL_WIDTH / 2, port + 4, row.target, "ending", "middle"),
    ]


def _moves(cards: list[_Card]) -> list[str]:
    """Lines to other states: the longest ones in the outermost lanes."""
    places = {card.name: card for card in cards}
    wanted = [
        (port, places[row.target])
        for card in cards
        for row, port in zip(card.rows, card.ports, strict=True)
        if row.kind == "next"
    ]
    wanted.sort(key=lambda move: abs(move[1].top - move[0]))
    shapes = []
    arrived: dict[str, int] = {}
    lanes: list[list[tuple[int, int]]] = []
    for port, target in wanted:
        arrived[target.name] = arrived.get(target.name, 0) + 1
        y = target.top + 6 + 10 * arrived[target.name]
        x = _LEFT - _LANES - _LANE * _lane(lanes, min(port, y), max(port, y))
        turn = 8 if y > port else -8
        shapes.append(
            _line(
                f"M{_LEFT} {port}H{x + 8}Q{x} {port} {x} {port + turn}"
                f"V{y - turn}Q{x} {y} {x + 8} {y}H{_LEFT - 2}"
            )
        )
    return shapes


def _lane(lanes: list[list[tuple[int, int]]], top: int, bottom: int) -> int:
    """The innermost lane that is free from `top` to `bottom`; it is taken."""
    for number, taken in enumerate(lanes):
        if all(bottom < start or end < top for start, end in taken):
            taken.append((top, bottom))
            return number
    lanes.append([(top, bottom)])
    return len(lanes) - 1
