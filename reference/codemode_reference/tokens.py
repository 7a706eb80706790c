"""The tokens of a program: its lexical grammar, each kind by one regular expression.

Whether a slash divides or begins a regular expression, and whether a brace closes a block or goes
on with a template, is decided by who reads; see `statements`. Every read is linear in what it
passes, and nothing here is recursive. The worker runs this too.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # Kind, first offset, offset after the last character, whether a line ends before it.
    Token: TypeAlias = tuple[str, int, int, bool]

NAME, PRIVATE, NUMBER, STRING, PATTERN, PUNCTUATION, CHUNK, END, BAD = (
    *("name", "private", "number", "string", "pattern", "punctuation", "chunk", "end", "bad"),
)

_LINE_ENDS = "\n\r\u2028\u2029"
_SPACES = "\t\v\f \xa0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff"
_ESCAPE = r"\\u(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]+\})"
# More characters than the language allows in a name: those it refuses are refused by the engine.
_PART = rf"(?:[\w$\u200c\u200d]|[^\x00-\x7f{_SPACES}{_LINE_ENDS}]|{_ESCAPE})"

_SKIPPED = re.compile(
    rf"[{_SPACES}{_LINE_ENDS}]+|//[^{_LINE_ENDS}]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
    rf"|<!--[^{_LINE_ENDS}]*"
)
_HASHBANG = re.compile(rf"#![^{_LINE_ENDS}]*")
_CLOSING_COMMENT = re.compile(rf"-->[^{_LINE_ENDS}]*")
_LINE_END = re.compile(f"[{_LINE_ENDS}]")
_TOKEN = re.compile(
    rf"(?P<number>0[xXoObB][\da-fA-F_]+n?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?n?)"
    rf"|(?P<name>{_PART}+)|(?P<private>\#{_PART}+)"
    r"|(?P<string>\"(?:[^\"\\\n\r]|\\(?:\r\n|[\s\S]))*\"|'(?:[^'\\\n\r]|\\(?:\r\n|[\s\S]))*')"
    r"|(?P<punctuation>>>>=|\.\.\.|===|!==|\*\*=|<<=|>>=|>>>|&&=|\|\|=|\?\?=|=>|==|!=|<=|>=|&&"
    r"|\|\||\?\?|\?\.(?!\d)|\+\+|--|[-+*/%&|^]=|<<|>>|\*\*|[-{}()\[\];,<>+*/%&|^!~?:=.@`])"
)
_PATTERN = re.compile(
    rf"/(?![*/])(?:[^\[/\\{_LINE_ENDS}]|\\[^{_LINE_ENDS}]"
    rf"|\[(?:[^\]\\{_LINE_ENDS}]|\\[^{_LINE_ENDS}])*\])+/{_PART}*"
)
_CHUNK = re.compile(r"(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(`|\$\{)")
_ESCAPED = re.compile(_ESCAPE)


class Tokens:
    """Reads the tokens of `source` one after the other."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._at = 0
        hashbang = _HASHBANG.match(source)
        if hashbang:
            self._at = hashbang.end()

    def next(self, *, operand: bool, restricted: bool = False) -> Token:
        """The next token; `operand` where an operand may stand, so that a slash is a pattern.

        With `restricted` it may stand on another line only.
        """
        ended = self._skip()
        operand = operand or (restricted and ended)
        start = self._at
        if start >= len(self.source):
            return END, start, start, ended
        if operand and self.source[start] == "/":
            found, kind = _PATTERN.match(self.source, start), PATTERN
        else:
            found = _TOKEN.match(self.source, start)
            kind = (found and found.lastgroup) or BAD
        self._at = found.end() if found else start + 1
        return kind if found else BAD, start, self._at, ended

    def chunk(self) -> Token:
        """The text of a template from here on, with what ends it: a backtick or `${`."""
        start = self._at
        found = _CHUNK.match(self.source, start)
        self._at = found.end() if found else len(self.source)
        return CHUNK if found else BAD, start, self._at, False

    def following(self) -> tuple[str, str, bool]:
        """Kind and text of the next token, which stays, and whether it is on another line."""
        at = self._at
        token = self.next(operand=False)
        self._at = at
        return token[0], self.text(token), token[3]

    def text(self, token: Token) -> str:
        """The token as it stands in the source."""
        return self.source[token[1] : token[2]]

    def _skip(self) -> bool:
        ended = self._at == 0
        while True:
            found = _SKIPPED.match(self.source, self._at)
            if found is None and ended:
                found = _CLOSING_COMMENT.match(self.source, self._at)
            if found is None:
                return ended
            ended = ended or _LINE_END.search(self.source, self._at, found.end()) is not None
            self._at = found.end()


def plain(name: str) -> str:
    """A name without its escapes; one that names no character stays."""
    return _ESCAPED.sub(_character, name) if "\\" in name else name


def _character(escape: re.Match[str]) -> str:
    number = int(escape[0][2:].strip("{}"), 16)
    return chr(number) if number <= 0x10FFFF else escape[0]
