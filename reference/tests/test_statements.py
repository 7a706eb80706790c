"""Reading programs by their syntax: tokens, and the expression that a program ends in."""

import time

import pytest
import quickjs
from codemode_reference.statements import KEY, PROPERTY, Reader
from codemode_reference.tokens import CHUNK, NAME, PATTERN, STRING
from hypothesis import given, settings
from hypothesis import strategies as st

LAST = {
    "1 + 1": "1 + 1",
    "const a = 2; a * 3;": "a * 3",
    "const a = [1]; ({ a })": "({ a })",
    "const format = 'f', iffy = 1; format + iffy": "format + iffy",
    "'x; return y;' + a": "'x; return y;' + a",
    "`p;${a};q`": "`p;${a};q`",
    "if (s) /;}/.test(s); s.length": "s.length",
    "a // the end; not this": "a",
    "a\n+ 2": "a\n+ 2",
    "a\n.slice()\n.sort()": "a\n.slice()\n.sort()",
    "a > 0\n? b\n: c": "a > 0\n? b\n: c",
    "if (a) b\nc": "c",
    "do x; while (y) z": "z",
    "do if (a) b; else c; while (d)\ne": "e",
    "do do x; while (a); while (b); q": "q",
    "for (const a of /x/.y) {}\n/b/.test(c)": "/b/.test(c)",
    "x => {}\n/re/.test(1)": "/re/.test(1)",
    "a\n++b": "++b",
    "a--\n(b)": "(b)",
    "a++\n[b].c": "[b].c",
    "a++ // c\n`b`": "`b`",
    "a--\n+(b)": "a--\n+(b)",
    "--a\n(b)": "--a\n(b)",
    "a\n(b)": "a\n(b)",
    "a++\nb": "b",
    "5; async function f() {}": "5",
    "5;;": "5",
    "switch (a) { case b ? c : d: e; default: f }\ng": "g",
    "try { a } catch { b } finally { c }\nd": "d",
    "`a${`b${c}`}d` + /`/.source": "`a${`b${c}`}d` + /`/.source",
    "a ? {b: 1} : function () { return 1 }\n/2/3": "a ? {b: 1} : function () { return 1 }\n/2/3",
    "async\nfunction f() {}": "async",
    "a?.5:1": "a?.5:1",
    "x\n`t`": "x\n`t`",
    "let\nx\n5": "5",
    "yield_ = 3": "yield_ = 3",
    "x = function* () { yield\n/a/.b }\nc": "c",
    "x = class { static async *[a]() {} #p = 1; get\nb() {} }\nc": "c",
    "class A extends f({}) { x = {} }\nb": "b",
    "/* c */ a /* d */ ; // e": "a",
    "<!-- x\n1": "1",
    "a\n--> c\nb": "b",
    "'\u2028' + 1": "'\u2028' + 1",
    "await a": "await a",
    "{a: 1}": None,
    "x: 5": None,
    "if (a) b": None,
    "const a = 1;": None,
    "function f() {}": None,
    "async function f() {}": None,
    "class A { m() { return 1; } }": None,
    "return 5": None,
    "5; const a = 1": None,
    "5; class A {}": None,
    "": None,
    "// a": None,
}


@pytest.mark.parametrize("source", LAST)
def test_the_last_expression_is_found_by_syntax(source):
    """Where it begins and ends, or that there is none."""
    last = Reader(source).last
    assert (None if last is None else source[slice(*last)]) == LAST[source]


def test_every_token_has_its_kind():
    """Names are told from properties and keys, texts from patterns and divisions."""
    source = "a.b / c / 'd' + {e: /f/g}.h`i${j}`"
    kinds = [(kind, source[start:end]) for kind, start, end, _ in Reader(source).tokens]
    named = [entry for entry in kinds if entry[0] != "punctuation"]
    assert named == [
        *((NAME, "a"), (PROPERTY, "b"), (NAME, "c"), (STRING, "'d'"), (KEY, "e")),
        *((PATTERN, "/f/g"), (PROPERTY, "h"), (CHUNK, "i${"), (NAME, "j"), (CHUNK, "`")),
    ]


HOSTILE = {
    "brackets": "[" * 20_000,
    "pairs": "[" * 10_000 + "]" * 10_000,
    "braces": "{" * 20_000,
    "choices": "a?" * 10_000,
    "templates": "`${" * 7_000,
    "slashes": "/" * 20_000,
    "classes of a pattern": "/[" * 10_000,
    "quotes": "'" * 20_000,
    "comments": "/*" * 10_000,
    "stars": "/" + "*" * 20_000,
    "backslashes": "\\" * 20_000,
    "escapes": "\\u" * 10_000,
    "labels": "a:" * 10_000,
    "loops": "do " * 7_000,
    "lines": "a\n" * 10_000,
    "asynchronous": "async " * 4_000,
    "closers": ")]}" * 7_000,
    "spaces": " " * 20_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_reading_is_linear_and_never_recursive(kind):
    """Eight times the text takes about eight times as long, and not sixty-four; none overflows.

    The best of five measurements counts: on a busy machine some are slow.
    """

    def seconds(source):
        began = time.process_time()
        Reader(source)
        return time.process_time() - began

    whole = HOSTILE[kind]
    seconds(whole[:1000])
    measured = ((seconds(whole[: len(whole) // 8]), seconds(whole)) for _ in range(5))
    assert any(long < 24 * short + 0.05 for short, long in measured)


# Programs without await, of which the engine tells the completion value itself.

_ATOMS = st.sampled_from(
    [
        *("1", "2", "a", "b", "'s;'", '"q}"', "`t${a}u`", "/r/.source", "[1, a]", "({ k: a })"),
        *("(a)", "f(2)", "f`x`", "new Array(2).length", "a++", "-b", "!a", "typeof a"),
        *("(function () { return 3 })()", "(() => { return 4 })()", "(class { m() {} }).name"),
    ]
)
_JOINTS = st.sampled_from([" + ", "\n+ ", " *\n", " > ", ", ", " ? 7 : ", "\n|| ", " / ", " ?? "])


@st.composite
def expressions(draw):
    """An expression of a few parts, over several lines perhaps."""
    parts = [draw(_ATOMS)]
    for _ in range(draw(st.integers(0, 3))):
        joint = draw(_JOINTS)
        # `??` stands beside `||` in brackets alone.
        parts = ["(", *parts, ")"] if joint in ("\n|| ", " ?? ") else parts
        parts += [joint, draw(_ATOMS)]
    return "".join(parts)


_OTHERS = st.sampled_from(
    [
        *("let x = 1", "var y = [2]", "if (a) { b }", "if (a) b; else a", "for (const n of [1]) n"),
        *("while (false) a", "do { b } while (false)", "{ a }", "switch (a) { case 1: b }"),
        *("try { a } catch { b }", "l: for (;;) break l", "class C {}", "const z = () => {}", ";"),
    ]
)
_FUNCTIONS = st.sampled_from(["function g() { return 9 }", "async function h() {}", ";"])
_ENDS = st.sampled_from(["\n", ";\n", "; // c\n", " /* ; */\n", ";;\n"])


@st.composite
def programs(draw):
    """A program with the last statement that counts: an expression, or another one."""
    lines = [
        part + draw(st.sampled_from([";\n", "; // c\n"]))
        for part in draw(st.lists(st.one_of(expressions(), _OTHERS), max_size=3))
    ]
    ends_in_expression = draw(st.booleans())
    lines.append(draw(expressions() if ends_in_expression else _OTHERS.filter(lambda o: o != ";")))
    lines.append(draw(_ENDS))
    lines += [part + "\n" for part in draw(st.lists(_FUNCTIONS, max_size=2))]
    # Redeclared names are an error of the program.
    names = [line[:8] for line in lines if line.startswith(("let", "class", "const"))]
    return ("".join(lines) if len(set(names)) == len(names) else "1\n"), ends_in_expression


_BEFORE = "var a = 1, b = 5; var f = (x) => 8;"


@settings(max_examples=400)
@given(programs())
def test_the_value_is_the_completion_value_of_the_engine(drawn):
    """For a program that ends in an expression; one that does not has none here.

    The engine goes on looking: it has the value of the last statement that gives one, an `if` or a
    loop included. Here such a program has no value.
    """
    source, ends_in_expression = drawn
    context = quickjs.Context()
    context.eval(_BEFORE)
    wanted = context.eval("(function (s) { return JSON.stringify([(0, eval)(s)]); })")(source)
    last = Reader(source).last
    if source == "1\n":
        ends_in_expression = True
    assert (last is not None) == ends_in_expression
    if last is None:
        return
    start, end = last
    body = f"{source[:start]}return ({source[start:end]}\n){source[end:]}"
    other = quickjs.Context()
    other.eval(_BEFORE)
    assert other.eval(f"JSON.stringify([(function () {{\n{body}\n}})()])") == wanted
