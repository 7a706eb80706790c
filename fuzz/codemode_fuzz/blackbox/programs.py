"""Bodies of functions with a known value: statements around expressions, in hard spellings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz.blackbox.expressions import anything, boolean, number, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

Lines = tuple[list[str], Any]
"""Lines of a body that ends with `return`, and the value that it returns."""


def body(rng: Random) -> Lines:
    """One of the forms below, with noise that changes nothing."""
    lines, value = rng.choice(_FORMS)(rng)
    # No noise twice: a class is declared once.
    for noise in rng.sample(_NOISE, rng.choice((0, 0, 1, 2))):
        # Between statements: before the first, or before a `return` that follows a whole one.
        last = len(lines) - 1 if len(lines) > 1 and lines[-2].endswith(";") else 0
        lines.insert(rng.choice((0, last)), noise)
    return lines, value


def _plain(rng: Random) -> Lines:
    known = anything(rng, 3)
    return [f"return {known.text};"], known.value


def _named(rng: Random) -> Lines:
    one, two = anything(rng, 2), anything(rng, 2)
    word = rng.choice(("const", "let", "var"))
    return [f"{word} one = {one.text};", f"{word} two = {two.text};", "return [two, one, two];"], [
        two.value,
        one.value,
        two.value,
    ]


def _looped(rng: Random) -> Lines:
    start, times = number(rng, 1), rng.randint(0, 20)
    heads = (
        f"for (let i = 0; i < {times}; i++) sum += i;",
        f"for (const i of Array({times}).keys()) sum += i;",
        f"for (const i in Array({times}).fill(0)) sum += Number(i);",
        f"let i = -1; while (++i < {times}) sum += i;",
        f"let i = 0; outer: for (;;) {{ for (;;) {{ if (i >= {times}) break outer; sum += i++; }} }}",
    )
    lines = [f"let sum = {start.text};", rng.choice(heads), "return sum;"]
    return lines, start.value + sum(range(times))


def _thrown(rng: Random) -> Lines:
    known = anything(rng, 2)
    thrown = rng.choice(("e", "new Error('x')", "{ v: e }"))
    got = {"e": "caught", "new Error('x')": "e", "{ v: e }": "caught.v"}[thrown]
    return [
        f"const e = {known.text};",
        "let log = [];",
        f"try {{ throw {thrown}; }} catch (caught) {{ log.push({got}); }} finally {{ log.push(1); }}",
        "return log;",
    ], [known.value, 1]


def _finally(rng: Random) -> Lines:
    one, two = number(rng, 2), number(rng, 2)
    return [
        f"const f = () => {{ try {{ return {one.text}; }} finally {{ return {two.text}; }} }};",
        "return f();",
    ], two.value


def _chosen(rng: Random) -> Lines:
    key, one, two = number(rng, 1), anything(rng, 1), anything(rng, 1)
    hit = rng.random() < 0.5
    case = key.text if hit else f"({key.text} + 1)"
    return [
        f"switch ({key.text}) {{",
        f"  case {case}: return {one.text};",
        f"  default: return {two.text};",
        "}",
    ], one.value if hit else two.value


def _generated(rng: Random) -> Lines:
    items = [anything(rng, 1) for _ in range(rng.randint(0, 4))]
    yields = " ".join(f"yield {item.text};" for item in items)
    return [f"function* items() {{ {yields} }}", "return [...items()];"], [i.value for i in items]


def _destructured(rng: Random) -> Lines:
    one, two = anything(rng, 1), anything(rng, 1)
    return [
        f"const {{ a, ...rest }} = {{ a: {one.text}, b: {two.text} }};",
        f"const [x = {two.text}, , y] = [undefined, 1, a];",
        "return { rest, x, y };",
    ], {"rest": {"b": two.value}, "x": two.value, "y": one.value}


def _class(rng: Random) -> Lines:
    known, words = number(rng, 2), text(rng, 1)
    return [
        f"class One {{ #n = {known.text}; get n() {{ return this.#n; }} static s = {words.text}; }}",
        "class Two extends One { n2() { return super.n + 1; } }",
        "return [new Two().n2(), Two.s];",
    ], [known.value + 1, words.value]


def _spread_over_lines(rng: Random) -> Lines:
    one, two, asked = number(rng, 1), number(rng, 1), boolean(rng, 1)
    return [
        f"const a = {one.text}",
        f"+ {two.text}",
        f"const b = {asked.text}",
        "  ? 1 // one",
        "  : 2",
        "/* a */ return [a, b]",
    ], [one.value + two.value, 1 if asked.value else 2]


def _marks(rng: Random) -> Lines:
    words = text(rng, 1)
    return [
        f"const s = {words.text} + ';}}//`' + /[;}}]\\/\\/(`|')/.source;",
        "label: { if (s) break label; }",
        "return s; // }",
    ], words.value + ";}//`" + r"[;}]\/\/(`|')"


def _collections(rng: Random) -> Lines:
    items = [number(rng, 0) for _ in range(rng.randint(0, 5))]
    inside = ", ".join(item.text for item in items)
    values = list(dict.fromkeys(item.value for item in items))
    return [
        f"const m = new Map([...new Set([{inside}])].map((n) => [n, n * 2]));",
        "return [...m].map(([k, v]) => ({ k, v }));",
    ], [{"k": value, "v": value * 2} for value in values]


def _sorted(rng: Random) -> Lines:
    items = [number(rng, 0) for _ in range(rng.randint(0, 6))]
    inside = ", ".join(item.text for item in items)
    return [f"return [{inside}].sort((a, b) => a - b);"], sorted(item.value for item in items)


_FORMS: Final[tuple[Callable[[Random], Lines], ...]] = (
    *(_plain, _plain, _named, _looped, _thrown, _finally, _chosen, _generated, _destructured),
    *(_class, _spread_over_lines, _marks, _collections, _sorted),
)
_NOISE: Final = (
    *("// a comment; }", "/* } */", ";", "{ let x = 1; }", "function unused() { return 7 }"),
    *('"use strict";', "if (false) { throw new Error('never'); }", "async function later() {}"),
    *("void 0;", "var unusedName;", "class Unused {}", "[1, 2].map(String);"),
)
