"""Objects that are more than their properties, and those that only look like it."""

import pytest
from codemode_reference import Failure

BARE = "const bare = (x) => Object.setPrototypeOf(x, null);"
HIDDEN = (
    "const hidden = (x) => Object.defineProperty(x, Symbol.toStringTag, {value: 'Object'});"
    "const classless = (x) => hidden(Object.setPrototypeOf(x, {}));"
)

CLOSING = "function* f() { try { yield 1; } finally { throw 1; } }"

SLOTS = [
    "bare((function* () {})())",
    "bare((function* () { yield 1; })())",
    "bare([].values())",
    "bare(new Map().keys())",
    "bare(new Set().values())",
    "bare(''[Symbol.iterator]())",
    "bare('a'.matchAll(/a/g))",
    "bare(new WeakMap())",
    "bare(new ArrayBuffer(1))",
    "classless(new Number(1))",
    "classless(new String('x'))",
    "classless(new Boolean(true))",
    "classless(new Date())",
    "classless(/x/)",
    "classless((function () { return arguments; })(1))",
    "classless((function () { 'use strict'; return arguments; })(1))",
    "bare((function () { return arguments; })())",
    "Object.setPrototypeOf(new Number(1), {get [Symbol.toStringTag]() { return 'Object'; }})",
    f"(() => {{ {CLOSING} const g = f(); g.next(); return bare(g); }})()",
]

NEW_SLOTS = [
    ("WeakRef", "bare(new WeakRef({}))"),
    ("FinalizationRegistry", "bare(new FinalizationRegistry(() => 1))"),
    ("Iterator", "bare([].values().map((x) => x))"),
    ("Iterator", "bare(Iterator.from({next() {}}))"),
    ("Iterator", "bare(Iterator.from({next() {}, return() { throw 1; }}))"),
    ("DisposableStack", "bare(new DisposableStack())"),
    ("AsyncDisposableStack", "bare(new AsyncDisposableStack())"),
    ("JSON.rawJSON", "JSON.rawJSON('1')"),
]


@pytest.mark.parametrize(
    ("needs", "expression"), [*(("Object", expression) for expression in SLOTS), *NEW_SLOTS]
)
def test_internal_slots_are_refused(run, needs, expression):
    """Whatever their prototype and their tag say."""
    lacks = f"try {{ if (!{needs}) throw 1; }} catch {{ return 'no such thing'; }}"
    outcome = run(f"{BARE} {HIDDEN} {lacks} return {expression};")
    if isinstance(outcome, Failure):
        assert outcome.fields["reason"] == "not_json"
    else:
        assert outcome.value == "no such thing"


def test_a_running_generator_is_one(run):
    """It can be neither closed nor called, and is refused for that."""
    source = (
        "let g; function* f() { yield codemode.echo(g); } g = Object.setPrototypeOf(f(), null);"
        "return f.prototype.next.call(g).value.catch((error) => error.code);"
    )
    assert run(source).value == "invalid_arguments"


@pytest.mark.parametrize(
    "expression",
    [
        "new (class { get [Symbol.toStringTag]() { return 'Arguments'; } })()",
        "({__proto__: {[Symbol.toStringTag]: 'Arguments'}})",
        "({__proto__: {[Symbol.toStringTag]: 'Date'}})",
        "({__proto__: {get [Symbol.toStringTag]() { throw 1; }}})",
        "Object.defineProperty({}, Symbol.toStringTag, {value: 'Number'})",
        "bare({})",
        "Object.defineProperty(bare({}), 'callee', {})",
    ],
)
def test_a_tag_alone_is_no_slot(run, expression):
    """What an object says it is does not make it less plain, and no getter is asked."""
    outcome = run(f"{BARE} return [{expression}];")
    assert not isinstance(outcome, Failure), outcome
    assert outcome.value == [{}]
