"""JavaScript expressions whose value is known, because each is made together with its value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from random import Random

_WORDS: Final = (
    "",
    "a",
    "Zeile",
    "é",
    "名",
    "\U0001f600",
    "a b",
    "return",
    "}",
    "//",
    "'",
    '"',
    "\\",
    "$",
)
_KEYS: Final = ("a", "b", "key", "x1", "é", "", "0", "constructor", "then", "length")
_SMALL: Final = 1000


class Known(NamedTuple):
    """The text of an expression, in parentheses where it needs them, and its value."""

    text: str
    value: Any


def number(rng: Random, depth: int) -> Known:
    """A whole number, far below 2**53."""
    if depth == 0 or rng.random() < 0.2:
        value = rng.randint(-_SMALL, _SMALL)
        spelled = (f"({value})", f"({float(value)})", f"({value}.)", f'(+"{value}")')
        return Known(rng.choice(spelled), value)
    one, two = number(rng, depth - 1), number(rng, depth - 1)
    choice = rng.randrange(9)
    if choice < 3:
        sign = "+-*"[choice]
        value = {"+": one.value + two.value, "-": one.value - two.value}.get(
            sign, one.value * two.value
        )
        if abs(value) > 10**9:
            return one
        return Known(f"({one.text} {sign} {two.text})", value)
    if choice == 3:
        asked = boolean(rng, depth - 1)
        chosen = one.value if asked.value else two.value
        return Known(f"({asked.text} ? {one.text} : {two.text})", chosen)
    if choice == 4:
        words = text(rng, depth - 1)
        return Known(f"{words.text}.length", _units(words.value))
    if choice == 5:
        return Known(f"Math.max({one.text}, {two.text})", max(one.value, two.value))
    if choice == 6:
        return Known(f"((a, b) => b - a)({one.text}, {two.text})", two.value - one.value)
    if choice == 7:
        items = [number(rng, 0) for _ in range(rng.randint(0, 4))]
        inside = ", ".join(item.text for item in items)
        total = sum(item.value for item in items)
        return Known(f"[{inside}].reduce((sum, n) => sum + n, 0)", total)
    return Known(f"({one.text}, {two.text})", two.value)


def boolean(rng: Random, depth: int) -> Known:
    """True or false."""
    if depth == 0:
        value = rng.random() < 0.5
        return Known(rng.choice(("true", "!0")) if value else rng.choice(("false", "!1")), value)
    one, two = number(rng, depth - 1), number(rng, depth - 1)
    choice = rng.randrange(4)
    if choice == 0:
        return Known(f"({one.text} < {two.text})", one.value < two.value)
    if choice == 1:
        return Known(f"({one.text} === {two.text})", one.value == two.value)
    if choice == 2:
        left, right = boolean(rng, depth - 1), boolean(rng, depth - 1)
        return Known(f"({left.text} && {right.text})", left.value and right.value)
    other = boolean(rng, depth - 1)
    return Known(f"(!{other.text})", not other.value)


def text(rng: Random, depth: int) -> Known:
    """A string without lone surrogates."""
    if depth == 0 or rng.random() < 0.3:
        value = rng.choice(_WORDS)
        return Known(_spelled(rng, value), value)
    one, two = text(rng, depth - 1), text(rng, depth - 1)
    choice = rng.randrange(6)
    if choice == 0:
        return Known(f"({one.text} + {two.text})", one.value + two.value)
    if choice == 1:
        return Known(f"`<${{{one.text}}}${{{two.text}}}>`", f"<{one.value}{two.value}>")
    if choice == 2:
        times = rng.randint(0, 4)
        return Known(f"{one.text}.repeat({times})", one.value * times)
    if choice == 3:
        return Known(f"[{one.text}, {two.text}].join('-')", f"{one.value}-{two.value}")
    if choice == 4:
        return Known(f"[...{one.text}].reverse().join('')", one.value[::-1])
    whole = number(rng, depth - 1)
    return Known(f"String({whole.text})", str(whole.value))


def anything(rng: Random, depth: int) -> Known:
    """Any JSON value, by literals, spreads, copies, loops in functions and the like."""
    if depth == 0 or rng.random() < 0.35:
        return rng.choice((number, boolean, text, _null))(rng, min(depth, 2))
    choice = rng.randrange(8)
    items = [anything(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    inside, values = ", ".join(item.text for item in items), [item.value for item in items]
    if choice == 0:
        return Known(f"[{inside}]", values)
    if choice == 1:
        return Known(f"[...[{inside}]].concat([])", values)
    if choice == 2:
        return Known(f"Array.from([{inside}], (item) => item)", values)
    if choice == 3:
        return Known(f"[{inside}].filter(() => true).map((item) => [item])", [[v] for v in values])
    if choice == 4:
        made = json.dumps(values, ensure_ascii=rng.random() < 0.5)
        return Known(f"JSON.parse({json.dumps(made)})", values)
    keys = rng.sample(_KEYS, len(items))
    pairs = dict(zip(keys, values, strict=True))
    members = ", ".join(
        f"[{json.dumps(k)}]: {item.text}" for k, item in zip(keys, items, strict=True)
    )
    if choice == 5:
        return Known(f"({{ ...{{ {members} }} }})", pairs)
    if choice == 6:
        listed = ", ".join(f"[{json.dumps(k)}, {i.text}]" for k, i in zip(keys, items, strict=True))
        return Known(f"Object.fromEntries([{listed}])", pairs)
    return Known(f"({{ {members} }})", pairs)


def _null(_rng: Random, _depth: int) -> Known:
    return Known("null", None)


def _units(words: str) -> int:
    return len(words.encode("utf-16-le")) // 2


def _spelled(rng: Random, words: str) -> str:
    plain = json.dumps(words, ensure_ascii=False)
    escaped = json.dumps(words)
    single = "'" + plain[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
    template = "`" + plain[1:-1].replace('\\"', '"').replace("$", "\\$") + "`"
    return rng.choice((plain, escaped, single, template))
