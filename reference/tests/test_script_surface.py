"""The global `codemode`: names, calls, errors, and a bridge that cannot be reached."""

import pytest
from codemode_reference import Failure, Operation


def caught(source):
    """A program that returns what it caught of `source`."""
    return (
        f"try {{ return await ({source}); }} catch (e) "
        "{ return {...e, message: e.message, is: e instanceof Error}; }"
    )


def test_operations_are_methods_and_names(run):
    """Both ways of calling reach the same operation; no argument is an empty object."""
    source = (
        "return [await codemode.countUp({n: 1}), await codemode.call('count_up', {n: 2}), "
        "await codemode.echo(), await codemode.echo(undefined), await codemode.echo(null)];"
    )
    assert run(source).value == [{"n": 1}, {"n": 2}, {}, {}, None]


def test_help_is_local(run):
    """It lists the catalogue at once, costs no call, and can be changed without effect."""
    source = (
        "for (let i = 0; i < 100; i++) codemode.help(); codemode.help().echo.effect = 'x';"
        "return codemode.help();"
    )
    found = run(source).value
    assert found["echo"] == {"operation": "echo", "effect": "read", "arguments": {}}
    assert found["countUp"]["effect"] == "write"
    assert found["countUp"]["arguments"]["required"] == ["n"]


def test_the_api_object_is_closed(run):
    """One frozen global without a prototype, whose inherited names read as undefined."""
    source = (
        "'use strict'; const thrown = (f) => { try { f(); return false; } catch { return true; } };"
        "return [Object.getPrototypeOf(codemode) === null, Object.isFrozen(codemode),"
        "thrown(() => { codemode.x = 1; }), thrown(() => { globalThis.codemode = 1; }),"
        "(await codemode) === codemode, typeof JSON.stringify(codemode),"
        "['then', 'toJSON', 'constructor', '__proto__', 'hasOwnProperty', Symbol.iterator]"
        ".every((k) => codemode[k] === undefined), 'nope' in codemode, 'echo' in codemode];"
    )
    assert run(source).value == [True, True, True, True, True, "string", True, False, True]


def test_an_unknown_method_throws_and_names_the_nearest(run):
    """Reading is enough; what has nothing in common is not suggested."""
    assert run(caught("codemode.ecco")).value == {
        "code": "unknown_method",
        "suggestion": "echo",
        "message": "there is no such method",
        "is": True,
    }
    assert "suggestion" not in run(caught("codemode['?']")).value
    assert "suggestion" not in run(caught(f"codemode['{'x' * 99}']")).value
    assert run("codemode.ecco").to_json()["suggestion"] == "echo"


@pytest.mark.parametrize(
    "name", ["'constructor'", "'__proto__'", "7", "undefined", "{toString() {}}"]
)
def test_an_unknown_operation_rejects(run, name):
    """Only a name of the catalogue is called; nothing is sent."""
    assert run(caught(f"codemode.call({name})")).value["code"] == "unknown_operation"


def test_an_unknown_operation_names_the_nearest(run):
    """The suggestion is an operation, not a method."""
    assert run(caught("codemode.call('countup')")).value["suggestion"] == "count_up"


@pytest.mark.parametrize(
    "arguments",
    ["1n", "() => 1", "Symbol('q')", "((c) => (c.c = c))({})", "{f() {}}", "[NaN]", "'\\ud800'",
     "1, 2", "{get a() { throw 1; }}", "{get a() { throw null; }}"],
)  # fmt: skip
def test_arguments_that_are_no_value_are_refused(run, arguments):
    """They cost no call and nothing is dispatched."""
    source = (
        f"let code; try {{ await codemode.echo({arguments}); }} catch (e) {{ code = e.code; }}"
        "for (let i = 0; i < 16; i++) await codemode.echo(i); return code;"
    )
    assert run(source).value == "invalid_arguments"


def test_a_third_argument_of_call_is_refused(run):
    """`call` takes a name and one argument."""
    refused = run(caught("codemode.call('echo', 1, 2)")).value
    assert (refused["code"], refused["operation"]) == ("invalid_arguments", "echo")


def test_arguments_that_fit_no_frame_are_refused_with_their_size(run):
    """The frame as a whole is measured, in bytes of UTF-8."""
    refused = run(caught("codemode.echo('é'.repeat(40000))")).value
    assert refused["limit"] == 73728
    assert 80002 < refused["measured"] < 80200


def test_the_largest_frame_that_fits_is_sent(run):
    """An argument of exactly the frame limit arrives; one byte more does not."""
    source = (
        "const measured = await codemode.echo('x'.repeat(99999)).catch((e) => e.measured);"
        "const fit = 99999 - (measured - 73728);"
        "const over = await codemode.echo('x'.repeat(fit + 1)).catch((e) => e.measured);"
        "const at = await codemode.value({is: 1}) + 0;"
        "const full = await codemode.echo('x'.repeat(fit)).catch((e) => e.code);"
        "return [over, at, full];"
    )
    assert run(source).value == [73729, 1, "host_result_bytes_limit"]


def test_calls_are_counted_and_limited(run):
    """The call after the last one rejects with its limit; uncaught, it ends the run."""
    source = "for (let i = 0; i < 16; i++) await codemode.echo(i);"
    refused = run(source + caught("codemode.echo(17)")).value
    assert refused == {
        "code": "host_calls_limit",
        "operation": "echo",
        "limit": 16,
        "message": "the program made 16 host calls already",
        "is": True,
    }
    assert run(source + "await codemode.echo(17)").to_json()["operation"] == "echo"


def test_calls_in_flight_are_limited(run):
    """The fifth call at once rejects at once, takes no id, and the others go on."""
    source = (
        "const r = await Promise.allSettled([1, 2, 3, 4, 5].map((i) => codemode.echo(i)));"
        "for (let i = 0; i < 12; i++) await codemode.echo(i);"
        "return r.map((x) => x.value ?? x.reason.code);"
    )
    assert run(source).value == [1, 2, 3, 4, "host_concurrency_limit"]


def test_replies_find_their_calls(run):
    """Answers come in any order; races and any-combinators work."""
    source = (
        "const r = await Promise.all([codemode.echo(1), codemode.value({is: {a: 2}})]);"
        "const w = await Promise.race([codemode.never({}), codemode.echo('win')]);"
        "const a = await Promise.any([codemode.fail({}), codemode.echo('any')]);"
        "return [...r, w, a];"
    )
    assert run(source).value == [1, {"a": 2}, "win", "any"]


def test_host_failures_carry_no_host_text(run):
    """Code and operation are enumerable; neither message, stack nor cause says why."""
    source = (
        "try { await codemode.fail({}); } catch (e) { return [Object.keys(e), e.message, "
        "String(e.stack), JSON.stringify(e), String(e.cause)].join('|'); }"
    )
    text = run(source).value
    assert text.startswith("code,operation|the operation failed|Error: the operation failed|")
    assert "canary" not in text
    assert "/" not in text


@pytest.mark.parametrize(
    "kind",
    ["nan", "infinity", "bytes", "set", "tuple", "subclass", "key", "object", "surrogate",
     "key surrogate", "integer", "huge"],
)  # fmt: skip
def test_host_values_that_are_no_json_are_refused(run, kind):
    """They never crash the parent and never enter the worker."""
    refused = run(caught(f"codemode.odd({{kind: '{kind}'}})")).value
    assert (refused["code"], refused["operation"]) == ("host_result_invalid", "odd")


@pytest.mark.parametrize(
    "source",
    [
        "codemode.echo(1); await 0; for (const t = Date.now(); Date.now() - t < 200;); call('x');",
        "call('x'.repeat(60000)); call('x');",
    ],
)
def test_an_excess_that_the_parent_cannot_see_keeps_its_code(run, source):
    """Replies that the program has not got yet count in the worker, no longer in the parent."""
    source = f"let last; {source} await last;".replace(
        "call(", "for (let n = 0; n < 4; n++) last = codemode.echo("
    )
    assert run(source).to_json()["code"] == "host_concurrency_limit"


def test_host_results_are_limited(run):
    """64 KiB is delivered, one byte more is refused with its size."""
    source = "const at = await codemode.echo('x'.repeat(65534));" + caught(
        "codemode.echo('x'.repeat(65535))"
    ).replace("return await", "await")
    refused = run(source).value
    assert (refused["measured"], refused["limit"]) == (65537, 65536)


POLLUTION = """
let spied = 0;
const spy = {__proto__: null, set() { spied++; }, get() { return undefined; }, configurable: true};
for (const key of ['id', 'ok', 'value', 'error', 'call_id', 'text', 'node', 'up', 'level', 'open',
                   'next', 'resolve', '0', '1'])
  Object.defineProperty(Object.prototype, key, spy);
for (const key of ['0', '1']) Object.defineProperty(Array.prototype, key, spy);
const boom = () => { spied++; throw new Error('boom'); };
for (const holder of [Map, WeakMap, Set, WeakSet, RegExp, String])
  for (const key of ['get', 'set', 'has', 'add', 'exec', 'test', 'slice', 'charCodeAt', 'replace'])
    if (key in holder.prototype) holder.prototype[key] = boom;
const orig = Promise.prototype.then;
Promise.prototype.then = function (...a) { return orig.apply(this, a); };
Object.defineProperty(Promise.prototype, 'constructor', {__proto__: null, get: boom});
Array.prototype.push = boom;
for (const key of ['stringify', 'parse']) JSON[key] = boom;
Array.prototype[Symbol.iterator] = boom;
Reflect.apply = Reflect.ownKeys = Object.freeze = globalThis.escape = boom;
"""


def test_polluted_prototypes_neither_see_nor_change_a_call(run):
    """The bridge uses nothing that a program can replace."""
    source = POLLUTION + (
        "const p = codemode.echo({k: ['é', {a: 1}]}); let got;"
        "Object.defineProperty(p, 'constructor', {__proto__: null, value: undefined});"
        "await {then(done) { orig.call(p, (v) => { got = v; done(); }, done); }};"
        "return {got, spied};"
    )
    assert run(source).value == {"got": {"k": ["é", {"a": 1}]}, "spied": 0}


# Every function and accessor that can be reached from the globals, and then the globals, throw.
SABOTAGE = """
const {ownKeys, getPrototypeOf} = Reflect, {defineProperty} = Object, {then} = Promise.prototype;
const root = globalThis;
let hits = 0;
const evil = {__proto__: null, value() { hits++; throw 'evil'; }, configurable: true};
const trap = {__proto__: null, get() { hits++; throw 'evil'; }, configurable: true};
const found = [[][Symbol.iterator](), ''[Symbol.iterator](), function* () {}, async () => 1];
for (let i = 0; i < 4; i++) found[i] = getPrototypeOf(found[i]);
const names = ownKeys(globalThis);
for (let i = 0; i < names.length; i++) {
  const held = names[i] === 'codemode' ? null : root[names[i]];
  if (!held || held === root) continue;
  found[found.length] = held;
  found[found.length] = held.prototype;
}
const spoil = (object, key, how) => { try { defineProperty(object, key, how); } catch {} };
for (let i = 0; i < found.length; i++) {
  if (typeof found[i] !== 'object' && typeof found[i] !== 'function') continue;
  const keys = ownKeys(found[i]);
  for (let j = 0; j < keys.length; j++) spoil(found[i], keys[j], evil);
}
for (let i = 0; i < names.length; i++) spoil(root, names[i], trap);
const calm = (promise) => {
  defineProperty(promise, 'constructor', {__proto__: null, value: undefined});
  return defineProperty(promise, 'then', {__proto__: null, value: then});
};
hits = 0;
"""  # fmt: skip


def test_nothing_that_can_be_replaced_is_used(run):
    """Not even what the engine makes of a template literal or of a free name."""
    source = SABOTAGE + (
        "const got = await calm(codemode.echo({k: ['é', {a: 1}]}));"
        "let failed, wrong, unknown;"
        "try { await calm(codemode.fail()); } catch (e) { failed = e.code; }"
        "try { await calm(codemode.echo([1n])); } catch (e) { wrong = e.code; }"
        "try { codemode.nope; } catch (e) { unknown = e.code; }"
        "return {got, failed, wrong, unknown, hits, help: codemode.help().echo.operation};"
    )
    assert run(source).value == {
        "got": {"k": ["é", {"a": 1}]},
        "failed": "operation_failed",
        "wrong": "invalid_arguments",
        "unknown": "unknown_method",
        "hits": 0,
        "help": "echo",
    }
    assert run(SABOTAGE + "await calm(codemode.fail())").to_json()["code"] == "operation_failed"


def test_the_text_of_frames_is_out_of_reach(run):
    """The engine makes `String.prototype.concat` calls of template literals: there are none."""
    source = (
        "const seen = []; String.prototype.concat = function (...parts) {"
        "for (const part of parts) seen.push(part); return '{}'; };"
        "await codemode.echo(1); return seen;"
    )
    assert run(source).value == []


def test_an_inherited_to_json_is_the_programs_own_matter(run):
    """It changes what the program sends, never the frame around it."""
    source = (
        "Object.prototype.toJSON = function () { return 'polluted'; };"
        "return {v: await codemode.echo({k: 1})};"
    )
    assert run(source).value == "polluted"


def test_calls_from_within_a_value_are_sent_in_order(run):
    """A getter or toJSON that calls an operation cannot confuse ids."""
    source = (
        "const inner = []; const r = await codemode.echo({toJSON() {"
        "inner.push(codemode.echo('inner')); return 'outer'; }});"
        "return [r, await inner[0]];"
    )
    assert run(source).value == ["outer", "inner"]


def test_calls_that_nobody_waits_for_are_cancelled(using):
    """They are sent, their work is cancelled, and the value stands."""

    async def story(parent):
        outcome = await parent.invoke("codemode.never({}); return 'done';")
        assert outcome.value == "done"
        assert parent.last_stats.frames == 2

    using(story)


def test_a_handler_may_do_anything_wrong(limits):
    """No await, SystemExit, CancelledError: each one is a failed operation."""
    import asyncio  # noqa: PLC0415

    from codemode_reference import Parent  # noqa: PLC0415

    async def leave(arguments):
        raise SystemExit(arguments)

    async def cancelled(arguments):
        raise asyncio.CancelledError

    async def story():
        parent = Parent(
            limits,
            [
                Operation("leave", leave),
                Operation("cancelled", cancelled),
                Operation("plain", lambda arguments: 1),
            ],
        )
        for name in ("leave", "cancelled", "plain"):
            outcome = await parent.invoke(f"await codemode.{name}()")
            assert isinstance(outcome, Failure)
            assert outcome.to_json()["code"] == "operation_failed"
        await parent.close()

    asyncio.run(story())
