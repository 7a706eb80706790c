"""Programs in the real worker: what they may do, and what happens to those that misbehave."""

from importlib.metadata import packages_distributions

import pytest
from codemode_reference import Failure

OLD_ENGINE = "quickjs" in packages_distributions().get("quickjs", ())


def told(outcome):
    """A failure as code and reason, a success as its value."""
    if not isinstance(outcome, Failure):
        assert outcome.value_present
        return outcome.value
    return " ".join([outcome.code, *filter(None, [outcome.fields.get("reason")])])


VALUES = [
    ("return null;", None),
    ("return 41 + 1; // the answer", 42),
    ("return [0.1, -0, 1e21, 5e-324, 2 ** 53];", [0.1, 0, 1e21, 5e-324, 2**53]),
    ("return 'left\\u0000right \\u2028';", "left\0right \u2028"),
    ("return {'k\\u2028': 'é\\u{1f600}', __proto__: null};", {"k\u2028": "é\U0001f600"}),
    ("return JSON.parse('{\"__proto__\": 1}');", {"__proto__": 1}),
    ("return {get a() { return [new Date(0)]; }};", {"a": ["1970-01-01T00:00:00.000Z"]}),
    ("class P { constructor() { this.a = 1; } get b() { return 2; } } return new P();", {"a": 1}),
    ("class P { get [Symbol.toStringTag]() { return 'P'; } } return new P();", {}),
    ("const s = {x: 1}; return [s, s];", [{"x": 1}, {"x": 1}]),
    ("return Object.defineProperty({a: 1}, 'b', {value: 2});", {"a": 1}),
    ("return new Proxy([1, {a: 2}], {});", [1, {"a": 2}]),
    ("return {toJSON() { return 'once'; }};", "once"),
    ("return [{toJSON: (key) => key}, {a: {toJSON: (key) => key}}];", ["0", {"a": "a"}]),
    ("const f = () => 1; f.toJSON = () => 7; return [f];", [7]),
    ("let n = 0; const o = {get a() { return ++n; }}; return [o, o];", [{"a": 1}, {"a": 1}]),
    ("return Promise.resolve(3);", 3),
    ("Promise.reject(new Error('orphan')); (async () => { throw 1; })(); return 'fine';", "fine"),
    ("\ufeffreturn 'bom';", "bom"),
    ("let x = 1;\nx<!--x;\nreturn x;", 1),
    ("with ({a: 1}) { return a + 010; }", 9),
    ("'use strict'; return [typeof this, new.target === undefined];", ["undefined", True]),
    ("lab: for (;;) { break lab; } return ((a) => a)(3);", 3),
    ("let c = 0; const f = () => 1 + f(); for (c of '12') try { f() } catch {} return c", "2"),
    ("try { for (const a = []; ; ) a.push('x'.repeat(1e6).split('')) } catch { return 1 }", 1),
]  # fmt: skip


@pytest.mark.parametrize(("source", "value"), VALUES)
def test_values_arrive_exactly(run, source, value):
    """What a program returns is what the client gets."""
    assert told(run(source)) == value


NO_VALUES = [
    ("const unused = 1;", "no_value"),
    ("return undefined;", "no_value"),
    ("async () => { return 5; }", "no_value"),
    ("let v = []; for (let i = 0; i < 128; i++) v = [v]; return v;", "too_deep"),
    ("let v = null; for (let i = 0; i < 20000; i++) v = [v]; return v;", "too_deep"),
    ("let v = {}; for (let i = 0; i < 40000; i++) v = {a: v}; return v;", "too_deep"),
    ("let s = [], d = s; for (let i = 0; i < 127; i++) d = [d]; return [s, [d]];", "too_deep"),
    ("const mk = () => ({get a() { return mk(); }}); return mk();", "too_deep"),
] + [
    (f"return {expression};", "not_json")
    for expression in (
        "NaN", "[Infinity]", "[1n]", "() => 1", "[Symbol()]", "[undefined]", "{a: undefined}",
        "[, 1]", "Array(3)", "'a\\ud800'", "{'\\udc00': 1}", "{[Symbol()]: 1}", "new Map()",
        "new Set()", "new WeakMap()", "new WeakSet()", "/x/", "new Error('m')", "new Uint8Array(1)",
        "new ArrayBuffer(1)", "new DataView(new ArrayBuffer(1))", "new Boolean(true)",
        "new Number(1)", "new String('x')", "Object(1n)", "Object(Symbol())",
        "[Promise.resolve(1)]",
        "(function () { return arguments; })()", "(function* () {})()", "[][Symbol.iterator]()",
        "new (class extends Map {})()", "[Object.setPrototypeOf(Promise.resolve(1), null)]",
        "Object.setPrototypeOf(new Map(), null)", "Object.setPrototypeOf(new Date(), {})",
        "Object.create(Map.prototype)", "globalThis", "Math", "codemode", "Object.prototype",
        "{toJSON() {}}", "{a: {toJSON() { return {b: () => 1}; }}}", "{get a() { throw 1; }}",
        "{get a() { throw null; }}", "{toJSON() { throw null; }}",
        "new Proxy({}, {ownKeys() { throw null; }})",
        "new Proxy([], {get: (t, k) => k === 'length' ? NaN : t[k]})", "((a) => (a.a = a))({})",
    )
]  # fmt: skip


@pytest.mark.parametrize(("source", "reason"), NO_VALUES)
def test_what_is_no_json_value_is_rejected(run, source, reason):
    """Nothing is lost silently: what JSON cannot carry is refused with its reason."""
    assert told(run(source)) == f"code_rejected {reason}"


def test_the_size_limit_of_the_final_value_is_exact(run):
    """49,152 bytes of UTF-8 pass, one more is refused whole with the size measured."""
    assert run("return 'b'.repeat(49150);").value == "b" * 49150
    assert run("return 'é'.repeat(24575);").value == "é" * 24575
    refused = run("return '\\u{1f600}'.repeat(12288);")
    assert (refused.code, refused.fields["measured"]) == ("final_result_bytes_limit", 49154)
    assert run("return '\\u{1f600}'.repeat(20000);").fields["measured"] == 80002
    assert run("return '\u20ac' + '\\u{1f600}'.repeat(20000);").fields["measured"] == 80005
    assert run("return '\u00e9'.repeat(4e6);").fields["measured"] == 8000002
    refused = run("return '\\u0001'.repeat(8192);")
    assert refused.fields["measured"] == 49154
    refused = run("let d = [1]; for (let i = 0; i < 90; i++) d = [d, d]; return d;")
    assert refused.fields["measured"] == 2**53 - 1


ENDLESS = [
    "while (true) {}",
    "await null; let n = 0; for (;;) n ^= 1;",
    "const spin = async () => { await 0; for (;;); }; for (;;) { try { await spin(); } catch {} }",
    "try { for (;;); } finally { for (;;); }",
    "for (;;) await 0;",
    "return {get a() { for (;;); }};",
    "await codemode.echo({get a() { for (;;); }});",
    "await codemode.never({});",
    "throw new Proxy({}, {getPrototypeOf() { for (;;); }});",
    "return /(z+z+)+y/.test('z'.repeat(34));",
    "return {then() { for (;;); }};",
]


@pytest.mark.parametrize("source", ENDLESS)
def test_endless_programs_end_at_the_deadline(run, source):
    """Wherever a program loops, it ends as deadline_exceeded with the limit."""
    outcome = run(source, wall_time_ms=500)
    assert outcome.to_json() == {
        "code": "deadline_exceeded",
        "message": "the program ran longer than 500 ms",
        "limit": 500,
    }


DEAF = [
    "return Array.prototype.lastIndexOf.call({length: 2 ** 32 - 1}, 'needle');",
    "return Array.prototype.includes.call({length: Number.MAX_SAFE_INTEGER}, 'z');",
    "const big = {length: 2 ** 53 - 1}; Array.prototype.reverse.call(big); return 1;",
    "return ('a'.repeat(5e5) + 'b').indexOf('a'.repeat(250000) + 'c');",
    "return (7n ** 900000n).toString().length;",
]


@pytest.mark.parametrize("source", DEAF)
def test_builtins_that_never_look_at_the_clock_are_killed(run, source):
    """The parent's kill stands behind the engine's own interrupt."""
    outcome = run(source, wall_time_ms=500)
    # An engine that is fast enough, or refuses so large a number, is right too.
    assert told(outcome) in ("deadline_exceeded", -1, 760589, "code_rejected uncaught")


FILLED = "try { let a = []; for (;;) a.push({}); } catch {}"
EXHAUSTED = [
    ("const m = new Map(); for (let i = 0; ; i++) m.set('k' + i, {i});", "memory"),
    ("let s = 'seed'; for (;;) s += s;", "memory"),
    ("return {get a() { let a = []; for (;;) a.push({}); }};", "memory"),
    (f"{FILLED} throw null;", "memory"),
    (f"{FILLED} return {{get a() {{ throw null; }}}};", "memory"),
    (f"{FILLED} await codemode.echo({{get a() {{ throw null; }}}});", "memory"),
    ("return new ArrayBuffer(2 ** 31 - 1).byteLength;", "memory"),
    ("let a = []; for (;;) a.push({});", "memory"),
    ("const p = codemode.never({}); let s = 'q'.repeat(1 << 20); for (;;) s += s;", "memory"),
    ("const dive = () => 1 + dive(); dive();", "stack"),
]


@pytest.mark.parametrize(("source", "reason"), EXHAUSTED)
def test_exhausted_engines_say_what_ran_out(run, source, reason):
    """The engine's own error, uncaught, is a rejection with that reason."""
    assert told(run(source, wall_time_ms=5000)) == f"code_rejected {reason}"


def test_the_smallest_heap_runs_a_program(run):
    """The minimum of the policy is enough for a small program."""
    assert run("return [1];", memory_bytes=2**20, stack_bytes=2**16).value == [1]


FORGED = [
    "throw undefined;",
    "throw null;",
    "throw new RangeError('Maximum call stack size exceeded');",
    "const e = new Error('x'); e.code = 'pages_limit'; e.operation = 'read'; throw e;",
    "throw {code: 'host_calls_limit', operation: 'echo', limit: 16};",
    "throw Object.assign(Error('out of memory'), {name: 'InternalError'});",
    "try { await codemode.fail({}); } catch (e) { throw Object.assign(new Error(), e); }",
    "try { await codemode.fail({}); } catch (e) { throw new Error('x', {cause: e}); }",
    "try { await codemode.fail({}); } catch (e) { throw new AggregateError([e]); }",
    "await Promise.any([codemode.fail({})]);",
    "const e = new Error('m'); e.name = Symbol('n'); e.message = {toString: null}; throw e;",
    "const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); throw proxy;",
    "throw {get message() { for (;;); }, get name() { for (;;); }};",
]


@pytest.mark.parametrize("source", FORGED)
def test_a_program_cannot_choose_its_code(run, source):
    """Only an error of the bridge itself, by identity, keeps its code."""
    assert told(run(source)) == "code_rejected uncaught"


def test_an_uncaught_bridge_error_keeps_its_code(run):
    """Rethrown unchanged it is still the bridge's, whatever was written on it."""
    outcome = run("try { await codemode.fail({}); } catch (e) { e.code = 'cancelled'; throw e; }")
    assert outcome.to_json() == {
        "code": "operation_failed",
        "message": "the operation failed",
        "operation": "fail",
    }


def test_the_detail_tells_what_was_thrown(run):
    """Name and message of the thrown value, bounded and without control characters."""
    assert run("null.x").fields["detail"].startswith("TypeError: ")
    assert run("throw new TypeError('a\\n\\ud800é\\u{1f600}')").fields["detail"] == (
        "TypeError: a\\u000a\\ud800é\U0001f600"
    )
    assert len(run("throw new Error('é'.repeat(9999))").fields["detail"]) == 500
    assert run("throw {message: 'plain'}").fields["detail"] == "plain"
    assert run("throw class { static message = 'm' }").fields["detail"] == "m"
    assert "detail" not in run("throw 'text'").fields


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("const tok = 1 oops;", 1, 15),
        ("let a;\n  return const;", 2, 10),
        ("const n: number = 1;", 1, 8),
        ("import x from 'y'", 1, 8),
        ("return (", 1, None),
        ("return 1 })(); (async () => { return 2", 1, 11),
        ("return 1 }, function () {", 1, 11),
        ("return 1 } : 0, async function () {", 1, None),
        ("return 1 }, x = () => {", 1, 11),
        ("}", 1, None),
        ("return super.x", 1, None),
        ("/*", 1, None),
    ],
)
def test_syntax_errors_are_located_in_the_program(run, source, line, column):
    """Line and column count from the program; closing the wrapper is a syntax error too."""
    outcome = run(source)
    assert told(outcome) == "code_rejected syntax"
    assert outcome.fields["detail"]
    assert outcome.fields.get("line", line) == line
    if column is not None and not OLD_ENGINE:  # which tells lines only
        assert outcome.fields["column"] == column


def test_a_refused_program_has_run_nothing(run):
    """Not even the part before the brace that closes the wrapper."""
    outcome = run("await codemode.never({}); }, async function () { codemode.never({});")
    assert told(outcome) == "code_rejected syntax"


@pytest.mark.parametrize(
    "source", ["await new Promise(() => {}); return 1;", "return {then() {}};"]
)
def test_a_stalled_program_ends_at_once(run, source):
    """Pending without anything outstanding is no reason to wait for the deadline."""
    assert told(run(source, wall_time_ms=9000)) == "code_rejected stalled"


# Jobs that fail with an error of the program: of a promise with its own species, of a registry.
FAIL = "const fail = () => { throw new Error('interrupted'); }; const p = Promise.resolve();"
REGISTRY = "globalThis.registry = new FinalizationRegistry(fail); registry.register({}, 1);"
FAILING_JOBS = [
    "p.constructor = {[Symbol.species]: function (take) { take(fail, fail); }}; p.then(() => 1);",
    *([] if OLD_ENGINE else [REGISTRY]),
]


@pytest.mark.parametrize("source", FAILING_JOBS)
def test_a_job_that_fails_decides_nothing(run, source):
    """It is neither an interrupt nor a full heap, whatever its error says."""
    assert told(run(FAIL + source + "await 0; await 0; return 5")) == 5
    stalled = run(FAIL + source + "await 0; await 0; await new Promise(() => {})")
    assert told(stalled) == "code_rejected stalled"


def test_nothing_persists_between_invocations(run):
    """Each invocation starts in a fresh realm."""
    source = (
        "globalThis.seen = (globalThis.seen || 0) + 1; const had = Array.prototype.leak;"
        "Array.prototype.leak = 1; return [globalThis.seen, had === undefined];"
    )
    assert run(source).value == run(source).value == [1, True]


def test_the_globals_are_those_of_ecmascript(run):
    """Nothing of the engine's shell or of a browser is left, by name or behind a stack hook."""
    names = (
        "std os bjson scriptArgs print loadScript Worker WebAssembly process require performance "
        "navigator console setTimeout queueMicrotask DOMException btoa InternalError gc"
    )
    assert run(f"return '{names}'.split(' ').filter((n) => n in globalThis);").value == []
    source = (
        "let seen = 'unused'; Error.prepareStackTrace = (e, f) => { seen = f; return 'x'; };"
        "void new Error('t').stack; try { null.x } catch (e) { void e.stack } return seen;"
    )
    assert run(source).value == "unused"
    assert run("return await import('os').catch((e) => 'rejects');").value == "rejects"


def test_a_range_error_still_looks_like_one(run):
    """The constructor that remembers the program's own errors behaves as the original."""
    source = (
        "class Mine extends RangeError {} const e = new Mine('m'); let own; "
        "try { 'x'.repeat(-1); } catch (t) { own = t; } return [e instanceof Mine, e.message, "
        "own instanceof RangeError, own.constructor === RangeError, RangeError('x').name];"
    )
    assert run(source).value == [True, "m", True, True, "RangeError"]
