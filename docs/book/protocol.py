"""The protocol: both ends as diagrams and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from book.diagram import draw, effect
from book.markdown import code, link, paragraphs, prose, table, words

if TYPE_CHECKING:
    from codemode_spec import Specification
    from codemode_spec.tables import Endpoint, Transition


def page(specification: Specification) -> str:
    """The page of the protocol."""
    tables = specification.tables
    return paragraphs(
        words("protocol", endings=link("Endings", "boundary-endings")),
        *(_endpoint(endpoint, set(tables.errors)) for endpoint in tables.endpoints.values()),
    )


def _endpoint(endpoint: Endpoint, errors: set[str]) -> str:
    states = list(endpoint.states)
    return paragraphs(
        f"(protocol-{endpoint.name})=\n## The {endpoint.name}",
        f"It begins in {code(endpoint.initial)} and has its one outcome in {code(endpoint.final)}.",
        f"```{{raw}} html\n{draw(endpoint)}\n```",
        "### Events\n" if endpoint.name == "parent" else "### Events of the worker\n",
        table(
            ("event", "what happened"),
            ((code(name), prose(text)) for name, text in endpoint.events.items()),
        ),
        f"### Every transition of the {endpoint.name}",
        table(
            ("event", *(code(state) for state in states)),
            (
                (
                    code(event),
                    *(_cell(state, endpoint.transitions[state][event], errors) for state in states),
                )
                for event in endpoint.events
            ),
        ),
    )


def _cell(state: str, transition: Transition, errors: set[str]) -> str:
    kind, target = effect(state, transition)
    if kind == "error":
        return link(code(target), f"error-{target}") if target in errors else code(target)
    if kind == "ignore":
        return "ignored"
    if kind == "stay":
        return "stays"
    return target if kind == "exit" else f"to {code(target)}"
