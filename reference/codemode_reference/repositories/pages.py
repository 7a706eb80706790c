"""Pages: as many items as fit the bytes that were asked for, in a bounded amount of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import load_tables

from codemode_reference.values import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

# Bytes of files and entries of folders that one page may look at.
MOST_WORK = 8_388_608
# A page with less than this part of its bytes left says so.
_NEARLY_FULL = 10
_DEPTH = load_tables().rows["value_depth"].absolute_maximum


class StoppedError(Exception):
    """Nobody waits for the page any more."""


@dataclass(frozen=True, slots=True)
class Step:
    """The next thing of a listing: an item, or none where there was only work.

    A page can begin at `position`, with this step or what comes after it.
    """

    position: Any
    item: dict[str, Any] | None = None
    work: int = 1


@dataclass(frozen=True, slots=True)
class Page:
    """Items in order, and the position of the next page if there is one."""

    items: list[dict[str, Any]]
    next: Any = None


def fill(steps: Iterator[Step], max_bytes: int, stop: Event) -> Page:
    """Take steps until the next item would not fit or the work is done; one item always fits."""
    items: list[dict[str, Any]] = []
    size, work, moved = len("[]"), 0, False
    for step in steps:
        if stop.is_set():
            raise StoppedError
        work += step.work
        more = 0 if step.item is None else measure(step.item, _DEPTH) + len(",")
        if (items and size + more > max_bytes) or (moved and work > MOST_WORK):
            return Page(items, step.position)
        size, moved = size + more, True
        if step.item is not None:
            items.append(step.item)
    return Page(items)


def result(
    page: Page, max_bytes: int, cursor: Callable[[Any], str], shape: dict[str, Any]
) -> dict[str, Any]:
    """A page as a program sees it: `shape` is its content in the form that was asked for."""
    size = sum(measure(part, _DEPTH) for part in shape.values())
    found = {
        **shape,
        "serialized_bytes": size,
        "remaining_bytes": max(max_bytes - size, 0),
    }
    if page.next is not None:
        found["next_cursor"] = cursor(page.next)
    if found["remaining_bytes"] * _NEARLY_FULL < max_bytes:
        found["warning"] = "the page is nearly full; ask for less, or for a compact form"
    return found
