"""Parts of the boot script that are compiled late: nothing of the program gets into them."""

import asyncio
import json
import re

import pytest
from codemode_reference import Failure, Operation, Parent, Success
from codemode_reference.builds import BUILDS
from codemode_reference.bundle import late_part, runs
from codemode_reference.workers import StartedAhead
from codemode_spec.tables import DEFAULT_PROFILE

BUILD = BUILDS[DEFAULT_PROFILE]
TEXTS = [late_part(parts, BUILD) for parts in BUILD.late.values()]
# Everything that a part could look up among the globals is there, and a trap.
NAMES = sorted({name for text in TEXTS for name in re.findall(r"[A-Za-z_$]\w*", text)})
TRAPS = (
    "let hits = 0; { const self = globalThis, { defineProperty, ownKeys } = Reflect;"
    f"for (const name of [...ownKeys(self), ...{json.dumps(NAMES)}]) try {{"
    "  if (name !== 'codemode') defineProperty(self, name, {"
    "    get() { hits++; throw 'trapped'; }, set() { hits++; throw 'trapped'; } });"
    "} catch {} }\n"
)
PROGRAMS = {
    "return {a: [1, 'x', null], hits};": {"a": [1, "x", None], "hits": 0},
    "return {...await codemode.echo({a: {b: ['\\u00e9']}}), hits};": {"a": {"b": ["é"]}, "hits": 0},
    "try { await codemode.echo(1, 2); } catch (e) { return {...e, hits}; }": {
        "code": "invalid_arguments",
        "operation": "echo",
        "hits": 0,
    },
    "try { await codemode.echo(function* () {}()); } catch (e) { return {code: e.code, hits}; }": {
        "code": "invalid_arguments",
        "hits": 0,
    },
    "try { codemode.ehco; } catch (e) { return {...e, hits}; }": {
        "code": "unknown_method",
        "suggestion": "echo",
        "hits": 0,
    },
    "try { await codemode.call('ehco'); } catch (e) { return {...e, hits}; }": {
        "code": "unknown_operation",
        "suggestion": "echo",
        "hits": 0,
    },
}
THROWN = "throw {name: 'Own\\u0007', message: 'words \\ud83d\\ude00' + hits};"


async def echo(arguments):
    """Give the arguments back."""
    return arguments


@pytest.fixture(params=[0, 1], ids=["cold", "waiting"])
def outcome(request):
    """Run one program in a worker that compiles late, and in one that had the time to compile."""

    def run(source):
        async def story():
            ahead = StartedAhead(request.param)
            parent = Parent(operations=[Operation("echo", echo)], started_ahead=ahead)
            try:
                await parent.ready()
                return await parent.invoke(source)
            finally:
                await parent.close()

        return asyncio.run(story())

    return run


@pytest.mark.parametrize("source", PROGRAMS)
def test_late_parts_look_up_no_global(outcome, source):
    """Whatever a program has made of every name before a part is needed, the part does its work."""
    assert outcome(TRAPS + source) == Success(value_present=True, value=PROGRAMS[source])


def test_a_late_refusal_looks_up_no_global(outcome):
    """What a program throws is told in its words, by a part that sees none of its globals."""
    found = outcome(TRAPS + THROWN)
    assert isinstance(found, Failure)
    assert (found.code, found.fields["detail"]) == (
        "code_rejected",
        "Own\\u0007: words \U0001f6000",
    )


def test_a_part_that_finds_no_stack_is_made_later(outcome):
    """A first call too deep in the stack fails there, and the next one has all it needs."""
    source = (
        "const deep = () => { try { return deep(); } catch { return codemode.echo({a: 1}); } };"
        "let first;"
        "try { first = (await deep()).a === 1; } catch (e) { first = e instanceof Error; }"
        "return [first, await codemode.echo({a: 2})];"
    )
    assert outcome(source).value == [True, {"a": 2}]


SYNC = BUILDS["inline-sync"]
SYNC_TEXTS = [late_part(parts, SYNC) for parts in SYNC.late.values()]
SYNC_NAMES = sorted({name for text in SYNC_TEXTS for name in re.findall(r"[A-Za-z_$]\w*", text)})


@pytest.mark.skipif(not runs("inline-sync"), reason="the engine runs no synchronous programs")
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("return [tools.call('echo', {a: {b: ['\\u00e9']}}), hits];", [{"a": {"b": ["é"]}}, 0]),
        ("return [tools.callAll([{name: 'echo', args: 1}]), hits];", [[1], 0]),
        ("return [tools.call('fail').code, hits];", ["operation_failed", 0]),
        ("return [tools.list().length, tools.search('ECH').length, hits];", [2, 1, 0]),
        (
            "return [tools.describe('echo').effect, tools.budget().host_calls.left, hits];",
            ["read", 200, 0],
        ),
        ("try { tools.call('ehco'); } catch (e) { return [e.suggestion, hits]; }", ["echo", 0]),
        ("try { tools.lst; } catch (e) { return [e.suggestion, hits]; }", ["list", 0]),
    ],
)
def test_late_parts_of_synchronous_workers_look_up_no_global(source, value):
    """Each function of `tools`, after every name was made a trap."""
    traps = TRAPS.replace(json.dumps(NAMES), json.dumps(SYNC_NAMES)).replace("codemode", "tools")

    async def fail(_arguments):
        raise RuntimeError

    async def story():
        operations = [Operation("echo", echo), Operation("fail", fail)]
        parent = Parent(operations=operations, profile="inline-sync")
        try:
            return await parent.invoke(traps + source)
        finally:
            await parent.close()

    assert asyncio.run(story()) == Success(value_present=True, value=value)
