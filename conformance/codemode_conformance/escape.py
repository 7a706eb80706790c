"""Text of a target made safe to print: one function for each sink."""

from __future__ import annotations

import html
import re
import shlex
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

QUOTE_CHARACTERS: Final = 200

# What a CI system obeys in a log: a workflow command where a line begins, and a line may be broken
# at any space; the others (`##[`, `##vso[`, `##teamcity[`) in the middle of one.
_COMMAND: Final = re.compile(r"(?:(?<=\s)|^):(?=:)|#(?=#\w*\[)")

# Format (bidi controls, zero-width, tags), control, surrogate, private, unassigned, and the two
# separators that some terminals take for a line end.
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that draw nothing: joiner, fillers, variation selectors.
_INVISIBLE: Final = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))
) | frozenset(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def for_terminal(text: str, *, backslash: bool = True) -> str:
    """The text on one line, with every invisible or steering character as a visible escape.

    Nothing in it is a command to the CI system that shows the log. Without `backslash`, a backslash
    stays single, so that a program reads as it was written.
    """
    shown = "".join(
        character if character == "\\" and not backslash else _visible(character)
        for character in text
    )
    return _COMMAND.sub(_escape, shown)


def quoted(value: str | bytes, limit: int = QUOTE_CHARACTERS) -> str:
    """At most `limit` characters of a target's text, escaped and in quotation marks."""
    start = value[: limit * 4]
    text = start.decode(errors="replace") if isinstance(start, bytes) else start
    cut = for_terminal(text[:limit])
    rest = len(value) - limit
    return f'"{cut}"' if rest <= 0 else f'"{cut}" ... ({len(value)} in all)'


def cut(text: str, limit: int = QUOTE_CHARACTERS) -> str:
    """At most `limit` characters of a target's text, escaped; the rest is counted."""
    rest = len(text) - limit
    return for_terminal(text[:limit]) + (f"... ({len(text)} in all)" if rest > 0 else "")


def for_shell(words: Iterable[str]) -> str:
    """Words as one line that a POSIX shell splits into the same words, safe to print.

    A word with a character that a terminal would obey is written with `$'...'` escapes.
    """
    return " ".join(_shell_word(word) for word in words)


def for_html(text: str, *, lines: bool = False) -> str:
    """Text for a text node or a quoted attribute; with `lines`, line ends and tabs stay."""
    return html.escape(_visible_text(text, keep="\n\t" if lines else ""))


def for_xml(text: str, *, lines: bool = False) -> str:
    """Text in which XML 1.0 allows every character; the writer of the XML escapes its markup."""
    return _visible_text(text, keep="\n\t" if lines else "")


def for_markdown(text: str) -> str:
    """A code span, in which neither markup, HTML, a mention nor a link begins; also in a table."""
    shown = _visible_text(text).replace("|", "\\x7c")
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    if not shown.strip():
        return "` `"
    room = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{room}{shown}{room}{fence}"


def for_workflow(text: str, *, of_property: bool = False) -> str:
    """The message of a workflow command (`::error ...::`), or with `of_property` one of its values.

    No line of it begins another command.
    """
    shown = _visible_text(text).replace("%", "%25")
    return shown.replace(":", "%3A").replace(",", "%2C") if of_property else shown


def for_json(text: str) -> str:
    """JSON with the same meaning, of which a CI system obeys nothing when it is printed."""
    return _COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _visible_text(text: str, keep: str = "") -> str:
    shown = "".join(c if c == "\\" or c in keep else _visible(c) for c in text)
    return _COMMAND.sub(_escape, shown)


def _shell_word(word: str) -> str:
    if for_terminal(word) == word.replace("\\", "\\\\"):
        return shlex.quote(word)
    # Octal bytes: the one escape that every shell with $'...' reads alike.
    data = word.encode(errors="surrogatepass")
    return "$'" + "".join(_octal(byte) for byte in data) + "'"


def _octal(byte: int) -> str:
    plain = 0x20 <= byte < 0x7F and byte not in b"'\\:#"
    return chr(byte) if plain else f"\\{byte:03o}"


def _escape(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"


def _visible(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if unicodedata.category(character) not in _UNSAFE and character not in _INVISIBLE:
        return character
    number = ord(character)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
