"""Programs that end in an expression, or nearly, and arguments; pure functions of their seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from codemode_fuzz.blackbox.expressions import anything, boolean, number, text
from codemode_fuzz.splicing import splice

_STATEMENTS: Final = (
    *(
        "var a = 2",
        "let x = [1]",
        "if (a) { b = 1 }",
        "if (a) b = 2; else b = 3",
        ";",
        "{}",
        "{ a }",
    ),
    *("for (var i = 0; i < 2; i++) b += i", "for (const k of c) a = k", "for (var k in c) ;"),
    *("while (a > 9) a--", "do a++; while (a < 3)", "do a++; while (a < 3) b", "l: { break l }"),
    *("switch (a) { case 1: b = 1; break; default: b = 2 }", "try { throw 1 } catch { a = 1 }"),
    *(
        "try { a } finally { b }",
        "function g() { return 9 }",
        "async function h() {}",
        "class A {}",
    ),
    *(
        "function* y() { yield /a/.b }",
        "class B extends f({}) { x = 1; get\nz() {} }",
        "'use strict'",
    ),
    *(
        "var { q = 1, ...r } = { q: 2, p: 3 }",
        "throw_ = 1",
        "// c",
        "/* ; */",
        "<!-- c",
        "debugger",
    ),
    *("async\nfunction g2() {}", "let\nw\n= 5", "var p = { get: 1, set: 2, async: 3, of: 4 }"),
    *("if (a) ; else ;", "with_ = a", "label: for (;;) { break label }", "var n = a /b/ 2"),
)
_ENDS: Final = (
    *(
        "a",
        "a + b",
        "a\n+ b",
        "a\n++\nb",
        "b++",
        "({ a })",
        "[a, b]",
        "`p;${a};q`",
        "`a${`b${a}`}`",
    ),
    *(
        "/;}/.test(s)",
        "a / b / 2",
        "a ? { b: 1 } : 2",
        "a ? b : c",
        "a > 0\n? b\n: a",
        "s\n.length",
    ),
    *(
        "c\n.slice()\n.sort()",
        "f\n(1)",
        "f`x`",
        "x => {}",
        "(x) => ({ x })",
        "function () {}",
        "s;",
    ),
    *(
        "new (class { q = 2 })().q",
        "typeof a",
        "void 0",
        "a, b",
        "a = b",
        "a ||= 3",
        "b ** 2",
        "!a",
    ),
    *(
        "a?.5:1",
        "c?.[0]",
        "c?.length",
        "a ?? b",
        "yield_ = 3",
        "async",
        "let_ = 1",
        "of = 2",
        "get = 1",
    ),
    *(
        "async () => 1",
        "{ a: 1 }",
        "x: 5",
        "5;;",
        "5; ;",
        "'x; return y;' + a",
        '"}" + s',
        "a // end; b",
    ),
    *(
        "a /* d */ ; // e",
        "+\na",
        "-a",
        "~a",
        "1..toString()",
        "0x1f",
        "1_000",
        ".5",
        "10n.toString()",
    ),
    *(
        "a in { 1: 1 }",
        "c instanceof Object",
        "delete a.b",
        "(a)",
        "((a, b))",
        "a => a\n/ 2",
        "/a/g.flags",
    ),
    *(
        "`${{ a: `}` }.a}`",
        "`\\``",
        "'\\\n'",
        "'\u2028'",
        "a\u2028+ b",
        "a\n--> c\nb",
        "function g() {}/1/2",
    ),
)
_AFTER: Final = (
    "",
    "",
    "",
    ";",
    "\n",
    ";\n",
    " // c",
    "\n/* d */",
    ";;",
    "\nfunction t() { return 1 }",
)
_WRONG: Final = (
    "(",
    ")",
    "{",
    "}",
    "`",
    "'",
    "/",
    "\\",
    "\u2028",
    "#x",
    "@",
    "\ufeff",
    "${",
    "...",
    "=>",
)
_BLOCKED: Final = (
    *(
        "require('fs')",
        "import('fs')",
        "process.exit()",
        "eval('1')",
        "Function('1')",
        "a.__proto__",
    ),
    *(
        "[].constructor.constructor('x')",
        "globalThis",
        "Reflect.get",
        "new Proxy({}, {})",
        "Symbol()",
    ),
    *(
        "({ __proto__: 1 })",
        "({ process: 1 })",
        "a.process",
        "'process.env'",
        "// eval(1)\na",
        "`eval`",
    ),
)
# What decides how a brace, a line end or a star is read, where chance says it seldom.
_SHAPES: Final = (
    *("`${a}p${b}q`", "var g = x => { b }\ng(1)", "do if (a > 9) b = 1; else b = 2; while (a > 9)"),
    *("({ [s]: 1 })[s]", "({ m() { return 3 } }).m()", "new (class { static { a = 4 } })", "a }"),
    *("[...({ *m() { yield a } }).m()]", "class C { *m() { yield /a/.b } n() { a } }\na"),
    *("({ a ! })", "do {} ; while (a > 9)\nb", "#!/usr/bin/env node; (\na", "#! eval(\neval(1)"),
    *("var \\u{6f}k = 3\n\\u006fk", "\\u{110000}", "\\u0065val('1')", "a.\\u{5f}_proto__"),
    *("a.constructor['b']", "a?.constructor(1)", "fs.b", "fs", "net\n.b", "new Proxy", "new f"),
    *(
        "({ __proto__ })",
        "({ process })",
        "({ process } = c)",
        "({ process, a })",
        "({ eval() {} })",
    ),
)
_TEXTS: Final = (
    *(
        "(SELECT 1)",
        "x(\n select",
        "(\u00a0Se Le\tCt",
        "(s",
        "SELECT (",
        "(\u017felect",
        "(sel/**/ect",
    ),
    *("select", "((select", "(sele", "(\\u0053ELECT", "\ud83d(", "(\u0130select", ""),
)


def arguments(rng: Random, depth: int = 3) -> Any:
    """The arguments of a call: texts that are blocked or nearly, as keys and values of others."""
    choice = rng.randrange(6) if depth else 0
    if choice < 3:
        return rng.choice(_TEXTS) if rng.random() < 0.8 else rng.choice((None, 1, True, 1.5))
    parts = [arguments(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    if choice == 3:
        return parts
    return {rng.choice((*_TEXTS, "n")): part for part in parts}


def program(rng: Random) -> str:
    """A few statements and an expression, joined in the ways that decide what they are."""
    parts = [rng.choice(_STATEMENTS) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
    choice = rng.random()
    if choice < 0.55:
        end = rng.choice(_ENDS)
    elif choice < 0.65:
        end = rng.choice(_BLOCKED)
    else:
        end = rng.choice((anything, number, text, boolean))(rng, 2).text
    joined = "".join(part + rng.choice(("\n", ";\n", "; ", "; // c\n")) for part in parts)
    return joined + end + rng.choice(_AFTER)


def mutate_admission(data: bytes, max_size: int, seed: int) -> bytes:
    """Another program: a new one, or `data` with parts of others in it or its bytes changed."""
    rng = Random(seed)
    choice = rng.random()
    if not data or choice < 0.4:
        made = program(rng).encode("utf-8", "ignore")
    elif choice < 0.6:
        made = splice(rng, data)
    elif choice < 0.68:
        made = json.dumps(arguments(rng), ensure_ascii=rng.random() < 0.5).encode("utf-8", "ignore")
    else:
        before = data.decode("utf-8", "ignore")
        at = rng.randint(0, len(before))
        part = rng.choice((_STATEMENTS, _ENDS, _WRONG, _AFTER, _SHAPES, _TEXTS))
        made = (before[:at] + rng.choice(part) + before[at:]).encode("utf-8", "ignore")
    return made[:max_size]


def admission_seeds() -> dict[str, bytes]:
    """Each end alone and after a statement, what is refused, and what was made at random."""
    seeds = {}
    for number_, end in enumerate(_ENDS):
        seeds[f"end-{number_:02}"] = end.encode()
        before = _STATEMENTS[number_ % len(_STATEMENTS)]
        seeds[f"after-{number_:02}"] = f"{before}\n{end}\n".encode()
    for number_, blocked in enumerate(_BLOCKED):
        seeds[f"blocked-{number_:02}"] = blocked.encode()
    for number_, shape in enumerate(_SHAPES):
        seeds[f"shape-{number_:02}"] = shape.encode()
    for number_, told in enumerate(_TEXTS):
        seeds[f"text-{number_:02}"] = told.encode("utf-8", "ignore")
    for number_ in range(12):
        put = arguments(Random(f"arguments {number_}"))
        seeds[f"arguments-{number_:02}"] = json.dumps(put).encode()
    for number_ in range(60):
        made = program(Random(f"admission {number_}"))
        seeds[f"made-{number_:02}"] = made.encode("utf-8", "ignore")
    return seeds
