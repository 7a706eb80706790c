"""Pieces of MyST Markdown. Every text of the data goes through `prose` or `code`."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL: Final = re.compile(r"([\\*_\[\]<>#|&{}~^$])")
_CODE_SPAN: Final = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_LARGEST_SUFFIX: Final = ((1 << 20, "MiB"), (1 << 10, "KiB"))


_WORDS: Final = Path(__file__).parent / "words"


def words(name: str, **values: object) -> str:
    """The words of `words/NAME.md`, with a value for each of its `$names`."""
    return Template((_WORDS / f"{name}.md").read_text(encoding="utf-8")).substitute(values)


def prose(text: str) -> str:
    """A sentence of the data: its code spans stay, nothing else in it is markup."""
    text = " ".join(text.split())
    parts, end = [], 0
    for match in _CODE_SPAN.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[end : match.start()]), code(match[2])]
        end = match.end()
    parts.append(_SPECIAL.sub(r"\\\1", text[end:]))
    return "".join(parts)


def code(text: object) -> str:
    """A name or a value as a code span, also inside a table."""
    shown = str(text)
    if not shown:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{fence}{pad}{shown}{pad}{fence}".replace("|", "\\|")


def codes(names: Iterable[object]) -> str:
    """Names as code spans with commas."""
    return ", ".join(code(name) for name in names)


def link(text: str, label: str) -> str:
    """A link to a label of the book."""
    return f"[{text}](#{label})"


def links(names: Iterable[str], kind: str) -> str:
    """Links to the entries of a kind (`row`, `error`), with commas."""
    return ", ".join(link(code(name), f"{kind}-{name}") for name in names)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown of one line."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Named facts, one a line; those without a text are left out."""
    found = [f"- **{name}:** {text}" for name, text in pairs if text]
    return "\n".join(found) + "\n" if found else ""


def number(value: int, unit: str) -> str:
    """A number with thousands marked, and its round size where it is one of bytes."""
    shown = f"{value:,}"
    if unit == "bytes":
        for size, suffix in _LARGEST_SUFFIX:
            if value >= size and value % size == 0:
                return f"{shown} ({value // size} {suffix})"
    return shown


def short(value: int, unit: str) -> str:
    """The same for a narrow column: the round size alone."""
    shown = number(value, unit)
    return shown[:-1].split("(")[1] if shown.endswith(")") else shown


def paragraphs(*parts: str) -> str:
    """A page of its parts, with one blank line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
