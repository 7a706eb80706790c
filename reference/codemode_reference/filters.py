"""Blocked patterns: names in the code of a program, texts in the arguments of its calls.

Defense in depth, no boundary: a name that is put together at run time passes, and what it reaches
must be harmless all the same. The lists are `admission.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_reference.statements import KEY, PROPERTY, Reader
from codemode_reference.tokens import NAME, PUNCTUATION, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemode_spec.tables import Admission

    from codemode_reference.tokens import Token

_PROTOTYPE: Final = "__proto__"
# Behind the end of a program, where a longer sequence finds nothing.
_NOTHING: Final = [""] * 4


class Filters:
    """The patterns of `admission`, ready to look for."""

    def __init__(self, admission: Admission) -> None:
        self._arguments = admission.arguments
        # By their first token: the sequences, with the pattern that each one is.
        self._program: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for pattern, sequences in admission.program.items():
            for tokens in sequences:
                self._program.setdefault(tokens[0], []).append((tokens, pattern))

    def in_program(self, source: str) -> str | None:
        """The first blocked pattern in the code of a program, or None. Linear in its length."""
        found = _texts(source, Reader(source).tokens)
        for index, text in enumerate(found):
            for tokens, pattern in self._program.get(text, ()):
                if all(map(_is, tokens, found[index : index + len(tokens)] + _NOTHING)):
                    return pattern
        return None

    def in_arguments(self, arguments: Any) -> str | None:
        """The first blocked pattern in a text inside of `arguments`, or None."""
        for text in _leaves(arguments):
            seen = "".join(text.split()).lower() if "(" in text else ""
            for pattern, blocked in self._arguments.items():
                if blocked in seen:
                    return pattern
        return None


def _texts(source: str, tokens: list[Token]) -> list[str]:
    """The code as the patterns name it: a property has its dot, a key a colon, data is empty."""
    found = []
    for index, (kind, start, end, _) in enumerate(tokens):
        text = source[start:end]
        if kind in (NAME, PROPERTY, KEY):
            text = plain(text)
            if kind == PROPERTY:
                text = f".{text}"
            elif kind == KEY and text != _PROTOTYPE and not _shorthand(source, tokens, index + 1):
                text = f":{text}"
        elif text in (".", "?."):
            continue
        elif kind != PUNCTUATION:
            text = ""
        found.append(text)
    return found


def _shorthand(source: str, tokens: list[Token], after: int) -> bool:
    """Whether a key stands for a variable of its name: nothing else gives its value."""
    return after < len(tokens) and source[tokens[after][1]] in ",}="


def _is(pattern: str, text: str) -> bool:
    return text == pattern or (pattern == "." and text.startswith("."))


def _leaves(value: Any) -> Iterable[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, dict):
            pending += item
            pending += item.values()
