"""Lines that contain a text, in all files below a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode_reference.repositories.pages import Step
from codemode_reference.repositories.store import Kind, ProblemError, walk
from codemode_reference.repositories.texts import text_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from codemode_reference.repositories.store import Folder, Reader

# Characters of a line that a match shows, and of them before the match.
_SHOWN, _BEFORE = 200, 40
# What opening a file takes, in the bytes of work of a page.
_FILE_WORK = 1000


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for: a text, no pattern, because a pattern cannot be bounded."""

    text: str
    ignore_case: bool


def matches(
    reader: Reader, folder: Folder, query: Query, start: Any, skipped: Counter[str]
) -> Iterator[Step]:
    """Each line with the text once. A position is that of a file and the lines before it there.

    What is no text or cannot be read is counted in `skipped` by the kind of problem, a folder below
    too many others as `too_deep`.
    """
    fold: Callable[[str], str] = str.lower if query.ignore_case else str
    wanted = fold(query.text)
    begin, first = start or ([], 0)
    for position, path, entry in walk(reader, folder, deep=True, start=begin):
        if entry.kind is Kind.FOLDER:
            skipped["too_deep"] += 1
        if entry.kind is not Kind.FILE:
            continue
        yield Step([position, first], work=_FILE_WORK)
        try:
            data = reader.data(entry.object_id)
        except ProblemError as problem:
            skipped[problem.kind] += 1
            continue
        text = text_of(data)
        if text is None:
            skipped["is_binary"] += 1
            continue
        yield Step([position, first], work=len(data))
        for number, line in enumerate(text.lines[first:], first):
            place = fold(line).find(wanted)
            if place >= 0:
                shown = line[max(place - _BEFORE, 0) :][:_SHOWN]
                item = {"path": path, "line": number + 1, "text": shown}
                yield Step([position, number], item, work=0)
        first = 0
