"""Operations played by a server's own API: the prelude in a real engine, and the ledger."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
import quickjs
from codemode_conformance.server.answer import AnswerReader, at, document
from codemode_conformance.server.pace import Pace
from codemode_conformance.server.stand_in import calls_of, capabilities, prelude
from codemode_conformance.server.tap import RawAnswer
from codemode_spec.cases import Behaviour, OperationSpec

API = """
const ledger = [];
const api = {
  give: async (op, args, json) => { ledger.push([op, args]); return JSON.parse(json); },
  make: async (text, times) => text.repeat(times),
  fail: async (code, message) => { throw new Error(code + ": " + message); },
  wait: async (ms) => { ledger.push(ms); },
};
"""
STAND_IN = {
    "value": "api.give({op},\n {args}, {json})",
    "generate": "api.make({text}, {times})",
    "fail": "api.fail({code}, {message})",
    "delay": "api.wait({ms})",
}


def run(program: str, *operations: OperationSpec, stand_in: dict[str, Any] | None = None) -> Any:
    """What the program gives, and the ledger, in a script after the prelude."""
    made = prelude(stand_in or STAND_IN, operations)
    assert "\n" not in made
    context = quickjs.Context()
    context.eval(
        f"{API} let result; (async () => {{ {made}\n{program} }})()"
        ".then((v) => { result = [v, ledger]; }, (e) => { result = String(e); });"
    )
    while context.execute_pending_job():
        pass
    return json.loads(context.eval("JSON.stringify(result)"))


def operation(name: str, *behaviour: Behaviour) -> OperationSpec:
    """An operation with these behaviors."""
    return OperationSpec(name, "read", {}, behaviour)


def test_the_nth_call_takes_the_nth_behavior_and_the_last_repeats() -> None:
    """Each operation counts by itself."""
    one = operation("one", Behaviour("value", value=1), Behaviour("value", value="zwei"))
    two = operation("two", Behaviour("value", value=None))
    program = (
        'return [await host.call("one"), await host.call("two", [1]), await host.call("one", {}),'
        ' await host.all([["one", { a: 1 }]])];'
    )
    assert run(program, one, two) == [
        [1, None, "zwei", ["zwei"]],
        [["one", "{}"], ["two", "[1]"], ["one", "{}"], ["one", '{"a":1}']],
    ]


def test_failures_delays_and_long_texts_use_their_templates() -> None:
    """A text of one character is made by the server."""
    one = operation(
        "one",
        Behaviour("value", value="a" * 5_000, delay_ms=30),
        Behaviour("fail", code="gone", message='it "failed"'),
    )
    program = (
        'const n = (await host.call("one")).length;'
        'try { await host.call("one"); } catch (e) { return [n, e.message]; }'
    )
    assert run(program, one) == [[5_000, 'gone: it "failed"'], [30]]


def test_a_name_that_was_not_given_is_refused() -> None:
    """Inherited names too."""
    for name in ("two", "constructor", "__proto__"):
        assert "there is no such operation" in run(
            f'return await host.call("{name}")', operation("one", Behaviour("value", value=1))
        )


def test_a_program_that_changes_json_and_prototypes_changes_no_operation() -> None:
    """What the prelude needs it took before."""
    stand_in = {"value": "api.give({op}, {args}, {json}).then((v) => parse(stringify(v)))"}
    program = (
        "const parse = JSON.parse; JSON.stringify = () => '\"forged\"';"
        "Object.defineProperty(Object.prototype, 'one', { get() { return 9; } });"
        "Array.prototype[Symbol.iterator] = () => { throw new Error('no'); };"
        'return await host.call("one", { a: 1 });'
    )
    one = operation("one", Behaviour("value", value={"v": 5}))
    made = prelude(stand_in, [one])
    context = quickjs.Context()
    context.eval(
        f"{API} let result; (async () => {{ {made}\n{program} }})()"
        ".then((v) => { result = v.v + ledger[0][1]; });"
    )
    while context.execute_pending_job():
        pass
    assert context.eval("result") == '5{"a":1}'


def test_what_a_stand_in_claims_is_what_it_has() -> None:
    """A value needs a way to make long ones too."""
    assert capabilities(STAND_IN) == {"op.value", "op.fail", "op.delay", "op.many"}
    assert capabilities({"value": "x", "ledger": {}, "never": "y"}) == {
        "op.ledger",
        "op.never",
        "op.many",
    }


def test_rows_of_the_ledger_are_the_calls() -> None:
    """Arguments stand there as JSON text or as themselves; anything else is no ledger."""
    ledger = {"rows": "/json/rows", "op": "/0", "args": "/1"}
    rows = [["a", '{"x":-0}'], ["b", [2]]]
    calls = calls_of(ledger, {"json": {"rows": rows}})
    assert [(c.number, c.op, str(c.args.value)) for c in calls] == [
        (1, "a", "{'x': -0.0}"),
        (2, "b", "[2]"),
    ]
    for wrong in ({"json": {}}, {"json": {"rows": 1}}, {"json": {"rows": [["a"]]}}):
        with pytest.raises(LookupError):
            calls_of(ledger, wrong)
    with pytest.raises(ValueError, match="Expecting"):
        calls_of(ledger, {"json": {"rows": [["a", "{"]]}})


def test_the_document_of_an_answer_takes_anything() -> None:
    """Content of every kind, also of none."""
    blocks = [{"type": "text", "text": "["}, {"type": "image"}, 5, {"type": "text", "text": "1]"}]
    assert document({"content": blocks, "isError": True}) == {
        "is_error": True,
        "text": "[\n1]",
        "json": [1],
    }
    assert document({"content": None, "structuredContent": None}) == {
        "is_error": False,
        "text": "",
        "structured": None,
    }


def test_pointers_follow_the_rfc_and_the_first_that_leads_anywhere_counts() -> None:
    """Escapes, list positions, and several pointers."""
    value = {"a/b": {"~": [7, {"": None}]}}
    assert at(value, "/a~1b/~0/0") == 7
    assert at(value, ["/x", "/a~1b/~0/1/"]) is None
    for pointer in ("/x", "/a~1b/~0/2", "/a~1b/~0/-", "/a~1b/~0/0/0"):
        with pytest.raises(LookupError):
            at(value, pointer)


def test_success_is_exact() -> None:
    """1 is not true."""
    reader = AnswerReader(
        {
            "success": {"pointer": "/structured/ok", "equals": True},
            "value": {"pointer": "/structured/v"},
            "logs": {"pointer": "/structured/logs"},
        }
    )

    def read(structured: Any) -> Any:
        return reader.read(RawAnswer({"result": {"structuredContent": structured}}, cut=False))

    assert read({"ok": True, "v": 1}).value.value == 1
    assert read({"ok": True, "v": 1, "logs": ["a", 2]}).logs == ("a", "2")
    assert read({"ok": 1, "v": 1}).ok is False
    assert read(None).category == "other"


def test_a_rate_is_kept_from_our_side() -> None:
    """The call above it waits for the window; without a limit nothing does."""

    async def calls() -> float:
        pace = Pace(2, window=0.2)
        started = time.monotonic()
        for _ in range(3):
            await pace.wait()
        return time.monotonic() - started

    assert 0.19 < asyncio.run(calls()) < 20  # the window of its own default is a minute
    asyncio.run(Pace(None).wait())
