"""Any MCP server is driven by its target file: what is sent, how answers are read, the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from codemode_conformance.failures import ClaimError, StartError
from codemode_conformance.observation import End, Fault, Health

STAND_IN = {
    "value": "api.enter({op}, {args}, {json})",
    "ledger": {
        "prepare": [{"tool": "clear"}],
        "read": {"tool": "list"},
        "rows": "/structured/rows",
        "op": "/op",
        "args": "/args",
    },
}

TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http", "sse"])


@TRANSPORTS
def test_a_value_arrives_by_every_transport(server: Any, transport: str) -> None:
    """In one process, which the next case uses too."""
    role = server(transport)
    first = role.see('return {"a": [1, -0.0, 1e21, "\\u2028"]}')
    assert str(first.runs[0].value.value) == str({"a": [1, -0.0, 1e21, "\u2028"]})
    assert first.runs[0].end is End.VALUE
    assert first.after is Health.HEALTHY
    assert first.fault is None
    assert role.see("calls").runs[0].value.value == 3
    assert role.starts == 1


@TRANSPORTS
def test_failures_are_read_by_the_table(server: Any, transport: str) -> None:
    """A code before a text, the first row that fits; none is `other`; the raw answer is kept."""
    role = server(transport)
    for program, category in (
        ("fail LIMIT too many calls", "calls"),
        ("fail LIMIT stack", "memory"),
        ("fail OTHER stack", "stack"),
        ("thrown something", "other"),
        ("rpc_error -32001", "protocol"),
        ("rpc_error -32000", "other"),
    ):
        run = role.see(program).runs[0]
        assert (run.end, run.category) == (End.FAILURE, category), program
        assert run.native
        assert run.native["message"]
    assert "too many" in role.see("fail LIMIT too many").runs[0].native["raw"]
    assert role.starts == 1


def test_options_and_fixed_arguments_are_sent_under_their_names(server: Any) -> None:
    """What a case sets becomes the argument that the file names."""
    observation = server().see("options", set={"wall_time_ms": 900})
    assert observation.runs[0].value.value == {"mode": "js", "timeout": 900}
    assert observation.runs[0].deadline_ms == 900


def test_the_options_of_a_run_are_sent_as_they_are(server: Any) -> None:
    """Also where the server has to refuse them; they stand before what a case sets."""
    role = server(ranges={"options.timeout_ms": {"minimum": 500, "maximum": 1_000}})
    seen = role.see("options", set={"wall_time_ms": 900}, options={"timeout_ms": 0})
    assert seen.runs[0].value.value == {"mode": "js", "timeout": 0}
    assert role.see("return 1", options={"readonly": True}).unsupported == (
        "the target takes no option readonly"
    )


def test_a_value_outside_of_the_documented_range_is_not_asked(server: Any) -> None:
    """The server would refuse the option, not the program."""
    role = server(ranges={"options.timeout_ms": {"minimum": 500, "maximum": 1_000}})
    seen = role.see("return 1", set={"wall_time_ms": 400})
    assert seen.unsupported == "the target takes timeout_ms from 500 to 1000"
    assert seen.runs == ()


def test_text_alone_is_enough(server: Any) -> None:
    """An answer without structured content is read from its text."""
    assert server().see('text "t"').runs[0].value.value == "t"


def test_a_success_without_a_value_has_none(server: Any) -> None:
    """Absent is not null."""
    assert not server().see("").runs[0].value.present
    assert server().see("return null").runs[0].value.present


def test_numbers_arrive_as_they_were_written(server: Any) -> None:
    """The sign of zero, and integers beyond a double."""
    run = server().see("raw [-0, 123456789012345678901234567890]").runs[0]
    assert str(run.value.value) == "[-0.0, 123456789012345678901234567890]"


def test_a_refusal_for_its_rate_judges_nothing(server: Any) -> None:
    """It is a fault of the surroundings."""
    fault = server().see("fail BUSY later").fault
    assert fault == Fault("surroundings", "the target refused for its rate")


def test_a_program_that_the_filter_refuses_is_not_judged(server: Any) -> None:
    """Neither PASS nor FAIL, unless the case asks for it."""
    role = server()
    seen = role.see("fail FORBIDDEN word")
    assert seen.unsupported == "the target's admission filter refuses the program"
    expect = [{"outcome": "failure", "category": {"want": ["admission"]}}]
    requirements = {"outcome": "CM-TIM-001", "category": "CM-TIM-004"}
    asked = role.see("fail FORBIDDEN word", expect=expect, requirements=requirements)
    assert asked.unsupported is None
    assert asked.runs[0].category == "admission"


def test_a_fresh_process_is_taken_every_so_many_calls(server: Any) -> None:
    """Follow-ups count; a case is never torn."""
    role = server(restart_every=3)
    pids = [role.see("pid").runs[0].value.value for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_the_ledger_is_read_back_by_a_direct_call(server: Any) -> None:
    """It is emptied before each case, and its rows are the calls."""
    role = server(operations="stand_in", stand_in=STAND_IN)
    operations = [{"name": "mark", "effect": "write", "behaviour": [{"value": 1}]}]
    for _ in range(2):
        seen = role.see('enter mark {"n": 1}\nenter mark [2]\nreturn 1', operations=operations)
        calls = [(call.number, call.op, call.args.value) for call in seen.runs[0].calls]
        assert calls == [(1, "mark", {"n": 1}), (2, "mark", [2])]
    capabilities = {name for name in role.start().capabilities if name.startswith("op.")}
    assert capabilities == {"op.ledger", "op.many"}, "a value alone is no op.value"


@pytest.mark.parametrize("broken", ["prepare", "rows"])
def test_a_ledger_that_does_not_work_judges_nothing(server: Any, broken: str) -> None:
    """The stand-in is at fault, not the program."""
    role = server(operations="stand_in", stand_in=STAND_IN)
    ledger = role._server.stand_in["ledger"]
    if broken == "prepare":
        ledger["prepare"] = [{"tool": "clear", "arguments": {"broken": True}}]
    else:
        ledger["rows"] = "/structured/elsewhere"
    operations = [{"name": "mark", "effect": "write", "behaviour": [{"value": 1}]}]
    fault = role.see("return 1", operations=operations).fault
    assert fault is not None
    assert fault.side == "surroundings"


@pytest.mark.parametrize(
    ("tables", "error", "text"),
    [
        ({"command": ["${python}", "-c", "print('Welcome')"]}, StartError, "Welcome"),
        ({"command": ["no-such-command-here"]}, StartError, "no-such-command-here"),
        (
            {"command": ["${python}", "-c", "input(); input()"], "start_timeout_ms": 300},
            StartError,
            "within 0.3 s",
        ),
        ({"operations": "upstream"}, StartError, "upstream"),
        ({"arguments": {"program": "code"}}, ClaimError, "options.timeout"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(
    server: Any, tables: dict[str, Any], error: type[Exception], text: str
) -> None:
    """At the first start it is raised, in one line."""
    with pytest.raises(error, match=text):
        server(**tables).start()


def test_a_lost_url_is_the_death_of_the_host(server: Any) -> None:
    """Without a command nothing is started; nobody there is a target that does not start."""
    role = server("http", command=None, url="http://127.0.0.1:9/mcp")
    with pytest.raises(StartError, match="cannot be initialized"):
        role.start()
