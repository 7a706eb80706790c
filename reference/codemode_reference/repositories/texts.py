"""Files as text: their lines as steps of a page, and the compact forms of the same page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode_reference.repositories.pages import Step
from codemode_reference.repositories.store import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_reference.repositories.pages import Page

# Git looks as far for a zero byte.
_LOOKED_AT = 8000
# A piece of a line takes no more of a page than this part of it: six bytes of JSON a character.
_PIECES = 8


@dataclass(frozen=True, slots=True)
class Text:
    """The lines of a file without their ends; `complete` if the last one has its end too.

    `exact` is False where bytes that are no UTF-8 were replaced.
    """

    lines: list[str]
    complete: bool
    exact: bool


def text_of(data: bytes) -> Text | None:
    """The content of a file as text, None for what is no text."""
    if b"\0" in data[:_LOOKED_AT]:
        return None
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    complete = lines[-1] == ""
    return Text(lines[:-1] if complete else lines, complete, text.encode() == data)


def steps(
    text: Text, first: int, last: int, max_bytes: int, start: tuple[int, int] | None
) -> Iterator[Step]:
    """The lines from `first` to `last`, long ones in pieces; `start` is a position."""
    if first > max(len(text.lines), 1):
        raise ProblemError("no_line", lines=len(text.lines))
    most = max(max_bytes // _PIECES, 1)
    line, offset = start or (first, 0)
    for number in range(line, min(last, len(text.lines)) + 1):
        content = text.lines[number - 1]
        while True:
            item: dict[str, Any] = {"line": number, "text": content[offset : offset + most]}
            more = offset + most < len(content)
            if more:
                item["continues"] = True
            yield Step([number, offset], item)
            if not more:
                break
            offset += most
        offset = 0


def shaped(page: Page, form: str, text: Text) -> dict[str, Any]:
    """The items of a page in a form: `items`, `lines` or `text`; pieces of a line are joined."""
    if form == "items":
        return {"items": page.items}
    joined: list[str] = []
    open_line = False
    for item in page.items:
        if open_line:
            joined[-1] += item["text"]
        else:
            joined.append(item["text"])
        open_line = "continues" in item
    if form == "lines":
        return {"lines": joined}
    at_end = bool(page.items) and page.items[-1]["line"] == len(text.lines)
    ended = not open_line and (text.complete or not at_end) and bool(joined)
    return {"text": "\n".join(joined) + ("\n" if ended else "")}
