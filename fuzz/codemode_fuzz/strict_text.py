"""A second, slow reading of strict JSON: its own UTF-8 and grammar, no code of the reference.

It follows RFC 8259, RFC 7493 and the rules of the frames: at most `depth` levels, numbers become
the nearest double, a number beyond a double is refused.
"""

from __future__ import annotations

import re
from typing import Any, Final

LARGEST_SAFE: Final = 2**53 - 1
_LONGEST_FINITE = 309  # digits of the largest double

_UTF8: Final = re.compile(
    rb"(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    rb"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*+"
)
_TOKEN: Final = re.compile(
    r'[ \t\r\n]*+(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    r"|(?P<word>true|false|null)"
    r"|(?P<mark>[\[\]{}:,])|(?P<end>\Z))"
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final = {"true": True, "false": False, "null": None}


class Refused(ValueError):  # noqa: N818  a verdict, not a failure
    """The text is no strict JSON; the message names the rule that it breaks."""


def read(data: bytes, depth: int) -> Any:
    """The value of one text. Raises Refused, and nothing else, for what the rules forbid."""
    if _UTF8.fullmatch(data) is None:
        raise Refused("UTF-8")
    tokens = _Tokens(data.decode())
    value = _value(tokens, depth)
    tokens.take("end", "")
    return value


class _Tokens:
    """The tokens of a text, read one at a time: a fault early on hides whatever follows it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            raise Refused("a character that starts no token")
        self.kind: str = match.lastgroup
        self.text: str = match[self.kind]
        self._at = match.end()

    def take(self, kind: str, text: str) -> None:
        if not self.take_if(kind, text):
            raise Refused(f"{self.text!r} where {text or 'the end'} must be")

    def take_if(self, kind: str, text: str) -> bool:
        found = (self.kind, self.text) == (kind, text)
        if found and kind != "end":
            self.advance()
        return found


def _value(tokens: _Tokens, depth: int) -> Any:
    kind, text = tokens.kind, tokens.text
    if text in ("[", "{") and kind == "mark":
        # Before the next level is entered, so that no text can exhaust the stack of this reader.
        if depth == 0:
            raise Refused("depth")
        tokens.advance()
        return (_array if text == "[" else _object)(tokens, depth - 1)
    if kind in ("mark", "end"):
        raise Refused("no value where one must be")
    tokens.advance()
    if kind == "string":
        return _string(text)
    return _number(text) if kind == "number" else _WORDS[text]


def _array(tokens: _Tokens, depth: int) -> list[Any]:
    items: list[Any] = []
    if tokens.take_if("mark", "]"):
        return items
    while True:
        items.append(_value(tokens, depth))
        if tokens.take_if("mark", "]"):
            return items
        tokens.take("mark", ",")


def _object(tokens: _Tokens, depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if tokens.take_if("mark", "}"):
        return members
    while True:
        if tokens.kind != "string":
            raise Refused("a key that is no string")
        key = _string(tokens.text)
        if key in members:
            raise Refused("a key twice")
        tokens.advance()
        tokens.take("mark", ":")
        members[key] = _value(tokens, depth)
        if tokens.take_if("mark", "}"):
            return members
        tokens.take("mark", ",")


def _string(text: str) -> str:
    units = _ESCAPE.sub(_unescape, text[1:-1])
    try:
        # UTF-16 joins the two halves of an escaped pair and refuses one that stands alone.
        return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise Refused("a lone surrogate") from error


def _unescape(match: re.Match[str]) -> str:
    if match[1] is not None:
        return chr(int(match[1], 16))
    return _SHORT.get(match[2], match[2])


def _number(text: str) -> int | float:
    whole = text.lstrip("-").isdigit()
    if whole and len(text.lstrip("-")) > _LONGEST_FINITE:
        raise Refused("a number beyond a double")
    if whole and abs(int(text)) <= LARGEST_SAFE:
        return int(text)
    number = float(text)
    if abs(number) == float("inf"):
        raise Refused("a number beyond a double")
    return number
