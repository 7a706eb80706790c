"""The commands that documents show, and the output that they show for them.

A fenced block of `sh` holds commands, one a line. One of `console` holds commands after `$ `, each
with its output; `…` in an output stands for whatever differs from run to run. A command may fail
only if the next one is `echo $?`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLOCK: Final = re.compile(
    r"^(?P<fence>```+)(?P<language>sh|console)\n(?P<text>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE
)
_COMMENT: Final = re.compile(r"(?:^|\s+)#\s.*$")
_JOINTS: Final = frozenset({"&&", "||", "|", ";"})
PROMPT: Final = "$ "
ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a document; `output` is None where none is shown."""

    document: str
    line: int
    text: str
    output: str | None = None

    @property
    def parts(self) -> list[list[str]]:
        """The words of each simple command in it; ValueError when its quotes do not close."""
        parts: list[list[str]] = [[]]
        for word in shlex.split(self.text, posix=True):
            if word in _JOINTS:
                parts.append([])
            else:
                parts[-1].append(word)
        return [part for part in parts if part]

    def prints(self, printed: str) -> bool:
        """Whether what it printed is what the document shows."""
        if self.output is None:
            return True
        pattern = ".*?".join(map(re.escape, _trimmed(self.output).split(ELLIPSIS)))
        return re.fullmatch(pattern, _trimmed(printed), re.DOTALL) is not None


def commands(document: Path, root: Path) -> list[Command]:
    """All commands of a document, in order."""
    name = str(document.relative_to(root))
    found: list[Command] = []
    text = document.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        first = text.count("\n", 0, match.start("text")) + 1
        lines = match["text"].splitlines()
        read = _console if match["language"] == "console" else _plain
        found += read(name, first, lines)
    return found


def _plain(name: str, first: int, lines: list[str]) -> Iterator[Command]:
    text = ""
    for number, line in enumerate(lines, first):
        text += _COMMENT.sub("", line)
        if text.endswith("\\"):
            text = text[:-1]
        elif text.strip():
            yield Command(name, number, text.strip())
            text = ""


def _console(name: str, first: int, lines: list[str]) -> Iterator[Command]:
    starts = [i for i, line in enumerate(lines) if line.startswith(PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        output = "\n".join(lines[start + 1 : end])
        yield Command(name, first + start, lines[start].removeprefix(PROMPT), output)


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
