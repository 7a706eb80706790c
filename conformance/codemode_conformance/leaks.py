"""Where in what a target handed over a planted secret stands."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.observation import CanaryHit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from codemode_conformance.observation import Run


HOST_PATH: Final = "host_path"
"""The name under which a case asks that a failure tells the client no file of the host."""

HOST_PLACE: Final = re.compile(
    r"(?:^|[\s\"'`(\[=:,;@<])"
    r"/(?:home|usr|tmp|root|opt|var|work|srv|app|nix|Users|private|mnt|data)/[^\s/]"
    r"|\bfile:///|\b[A-Za-z]:\\\\?[A-Za-z]|\bnode:internal/|/node_modules/|/site-packages/"
)
"""What files and frames of a host look like in a text."""


def leaks_of(
    runs: Iterable[Run], kind: str, find: Callable[[str], list[tuple[str, str]]]
) -> list[CanaryHit]:
    """The secrets in these runs; `where` is like `run 1 value` or `then 1 call 2 args`."""
    hits = [
        CanaryHit(canary, form, f"{kind} {number} {part}")
        for number, run in enumerate(runs, start=1)
        for part, value in _parts(run)
        if value is not None
        for canary, form in _find(value, find)
    ]
    hits += [
        CanaryHit(HOST_PATH, "raw", f"{kind} {number} {part}")
        for number, run in enumerate(runs, start=1)
        for part, text in _told(run)
        if HOST_PLACE.search(text)
    ]
    return list(dict.fromkeys(hits))


def _find(value: Any, find: Callable[[str], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    # Once as JSON, where escapes stand, and once each text alone, as the reader sees it.
    text = json.dumps(value)
    found = find(text)
    if "\\" in text:
        found += [hit for part in _texts(value) for hit in find(part)]
    return found


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item


def _told(run: Run) -> Iterator[tuple[str, str]]:
    # Not the stack: one of an error that the target made in its own process is no answer to anyone.
    message = (run.native or {}).get("message")
    if isinstance(message, str):
        yield "message", message
    for name, text in (run.error or {}).items():
        if isinstance(text, str):
            yield f"error {name}", text


def _parts(run: Run) -> Iterator[tuple[str, Any]]:
    yield "value", run.value.value
    yield "error", run.error
    yield "native", run.native
    yield "logs", run.logs or None
    for call in run.calls:
        yield f"call {call.number} args", call.args.value
        yield f"call {call.number} op", call.op
