"""Programs that a boundary must survive: what they end with is free, what comes after is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codemode_fuzz.blackbox.programs import body
from codemode_fuzz.splicing import splice

if TYPE_CHECKING:
    from random import Random

CLOSERS: Final = (
    *("return 1 }); (async () => { return 2", "return 1; } { return 2;", "}; return 2; {"),
    *(
        "return 1 })(), (function () { return 2",
        "*/ return 1 /*",
        "} catch (e) {} finally { return 2",
    ),
    *("return `${1", "return 1;\n}\n)\n(", "return (1", "return 1]", "\\u007d return 2; \\u007b"),
)
"""Text that is no body of a function, because it closes what stands around it or leaves it open."""

_VALUES: Final = (
    *("NaN", "-Infinity", "10n", "Symbol('s')", "() => 1", "class A {}", "new Map([[1, 2]])"),
    *("new Set([1])", "/x/g", "new Date(NaN)", "new Error('e')", "new Uint8Array(4)", "[, 1]"),
    *("new ArrayBuffer(8)", "new WeakMap()", "new Proxy({}, {})", "Object(1)", "Object('s')"),
    *(
        "globalThis",
        "this",
        "new Promise(() => {})",
        "Promise.reject(1)",
        "(function () { return arguments; })(1)",
    ),
    *(
        "'\\ud800'",
        "{ '\\udc00': 1 }",
        "-0",
        "undefined",
        "[undefined]",
        "{ a: undefined }",
        "1e999",
    ),
    *("new Boolean(false)", "Object.create(null)", "new (class B { x = 1 })()", "JSON", "Math"),
    *(
        "Object.defineProperty({}, 'a', { enumerable: true, get() { throw 1; } })",
        "new Number(NaN)",
    ),
    *(
        "{ toJSON() { throw new Error('t'); } }",
        "{ toJSON() { return 1n; } }",
        "{ then(f) { f(1); } }",
    ),
    *(
        "{ get a() { return this.a; } }",
        "{ then: 1 }",
        "{ __proto__: null, a: 1 }",
        "async () => 1",
    ),
)
_WRAPS: Final = (
    *("{}", "[{}]", "({{ a: {} }})", "[1, [{}]]", "Object.freeze([{}])", "new Proxy([{}], {{}})"),
    *("({{ toJSON: () => {} }})", "[...Array(3)].map(() => {})", "(() => {{ throw {}; }})()"),
)
_ACTS: Final = (
    "throw null;",
    "throw undefined;",
    "throw { message: 'm', stack: 'at /srv/x.js:1:1', code: 'deadline_exceeded' };",
    "throw new Proxy({}, { get() { throw 1; } });",
    "throw Object.assign(new Error('x'.repeat(100000)), { code: 'host_calls_limit' });",
    "throw (() => { const e = new Error('e'); e.cause = e; return e; })();",
    "Object.defineProperty(Object.prototype, 'ok', { value: true, configurable: true });",
    "Array.prototype.toJSON = () => 'forged';",
    "Object.prototype.toJSON = function () { return 'forged'; };",
    "JSON.stringify = () => '{\"forged\":1}';",
    "Promise.prototype.then = function (f) { f && f('forged'); return this; };",
    "Object.prototype.then = function (f) { f('forged'); };",
    "Array.prototype.push = () => { throw 1; };",
    "String.prototype.toString = () => { throw 1; };",
    "Error.prepareStackTrace = () => { throw 1; };",
    "Error.stackTraceLimit = -1;",
    "Symbol.iterator.description;",
    "Array.prototype[Symbol.iterator] = function* () { yield 'forged'; };",
    "globalThis.constructor = 1; globalThis.Object = null; globalThis.JSON = null;",
    "delete globalThis.Promise; delete globalThis.Array;",
    "Object.freeze(globalThis);",
    "Object.setPrototypeOf(globalThis, null);",
    "(function f() { return f(); })();",
    "const a = []; a[0] = a; return a;",
    "let d = 1; for (let i = 0; i < 5000; i++) d = [d]; return d;",
    "let d = {}; for (let i = 0; i < 100000; i++) d = { d }; return d;",
    "return 'x'.repeat(1 << 20);",
    "return Array(100000).fill(7);",
    "return 'é'.repeat(200000);",
    "Promise.reject(new Error('unhandled'));",
    "new Promise((_, reject) => reject(1)); return 1;",
    "queueMicrotask?.(() => { throw 1; }); return 1;",
    "Promise.resolve().then(() => { throw 1; }); return 1;",
    "return eval('1+1');",
    "return Function('return this')();",
    "return (async () => {}).constructor('return 1')();",
    "return [].constructor.constructor('return process')();",
    "return import('fs');",
    "return require('fs').readFileSync('/etc/passwd', 'utf8');",
    "return process.env;",
    "return process.exit(1);",
    "return new WebAssembly.Module(new Uint8Array([0]));",
    "return new SharedArrayBuffer(8);",
    "return String(new Error().stack);",
    "try { null.x } catch (e) { return e.stack; }",
    "return Object.getOwnPropertyNames(globalThis);",
    "return [typeof setTimeout, typeof fetch, typeof console, typeof module];",
    "console.log('\\u0000\\u001b[31m\\n{\"ok\":true}');",
    "return Intl.DateTimeFormat().resolvedOptions().timeZone;",
    "return new Date().getTimezoneOffset();",
    "with ({ a: 1 }) { return a; }",
    "return arguments.length;",
    "return new.target;",
    "await 0; return 1;",
    "for await (const x of [Promise.resolve(1)]) { return x; }",
    "yield 1;",
    "return super.x;",
    "break;",
    "import x from 'y';",
    "export default 1;",
    "return 1\u2028+ 1;",
    "\ufeffreturn 1;",
    "return 1;\x00",
    "#!/usr/bin/env node\nreturn 1;",
    "<!-- a\nreturn 1;\n--> b",
    "return 010;",
    "return '\\8';",
    "const enum = 1;",
    "let let = 1;",
    "return ((x: number) => x)(1);",
    "```js\nreturn 1;\n```",
)
_LOOPS: Final = (
    "for (;;) {}",
    "for (;;) await 0;",
    "const spin = () => Promise.resolve().then(spin); return spin();",
    "/(a+)+$/.test('a'.repeat(40) + 'b');",
    "new Promise(() => {}).then(() => 1); return new Promise(() => {});",
    "const a = []; for (;;) a.push(a.slice());",
    "let s = 'x'; for (;;) s += s;",
    "return { get a() { for (;;) {} } };",
    "return { toJSON() { for (;;) {} } };",
    "return new Proxy({}, { ownKeys() { for (;;) {} } });",
    "throw { get message() { for (;;) {} } };",
)


def act(rng: Random) -> str:
    """Something that a program does to what runs it, then a return."""
    first = rng.choice(_ACTS)
    if rng.random() < 0.3:
        first += "\n" + rng.choice(_ACTS)
    return f"{first}\nreturn 1;" if rng.random() < 0.7 else first


def odd(rng: Random) -> str:
    """A value that JSON has no words for, inside others."""
    value = rng.choice(_VALUES)
    for _ in range(rng.choice((0, 1, 1, 2))):
        value = rng.choice(_WRAPS).format(f"({value})")
    return f"return {value};" if not value.startswith("{") else f"return ({value});"


def loop(rng: Random) -> str:
    """A program without an end."""
    return rng.choice(_LOOPS)


def spoiled(rng: Random) -> str:
    """A program with a few bytes changed, which may be a program still."""
    text = "\n".join(body(rng)[0]).encode()
    for _ in range(rng.choice((1, 1, 2, 5))):
        text = splice(rng, text)
    return text.decode("utf-8", "ignore")


def closer(rng: Random) -> str:
    """A text that is never a body."""
    before = rng.choice(("", "", "let x = 1;\n", "/* a */ ", "// a\n"))
    return before + rng.choice(CLOSERS)
