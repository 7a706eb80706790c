"""What a server may do wrong is seen, named, and survived; nothing of it is left behind."""

from __future__ import annotations

import os
from typing import Any

import pytest
from codemode_conformance import processtable
from codemode_conformance.observation import End, Fault, Health
from codemode_conformance.process import Caps

SHORT = {"set": {"wall_time_ms": 60}}

TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http", "sse"])


@pytest.mark.parametrize("program", ["wrong", "neither"])
def test_an_answer_that_breaks_the_protocol_is_no_crash(server: Any, program: str) -> None:
    """It is a failure where it answers, and no outcome where it does not."""
    role = server()
    run = role.see(program, **SHORT).runs[0]
    assert run.end in (End.FAILURE, End.NO_OUTCOME)
    assert role.see("return 1").after is Health.HEALTHY


@pytest.mark.parametrize(
    ("program", "note"),
    [
        ("stray hello \x1b[2J", "a line that is no message"),
        ("bytes ff00fe", "byte 0 of a line is not UTF-8"),
        ("unasked 4711", 'an answer to request "4711", which was never made'),
        ("twice 1", "a second answer to request"),
        ("stray {}", "a line that is no message"),
        ('stray {"jsonrpc": "2.0", "id": true, "result": {}}', 'an answer with the id "True"'),
        ('stray {"jsonrpc": "2.0", "jsonrpc": "2.0"}', "a line that is no message"),
    ],
)
def test_what_the_protocol_forbids_is_noted(server: Any, program: str, note: str) -> None:
    """The run goes on, and nothing of it can steer a terminal."""
    role = server()
    seen = role.see(f"{program}\nreturn 1")
    assert seen.runs[0].value.value == 1
    assert seen.after is Health.HEALTHY
    assert any(note in text for text in seen.notes), seen.notes
    assert "\x1b" not in "".join(seen.notes)
    assert role.starts == 1


def test_a_forged_answer_is_seen_beside_the_real_one(server: Any) -> None:
    """A client takes the first; that there were two is evidence."""
    seen = server().see("forge 2\nreturn 1")
    assert seen.runs[0].value.value == 2
    assert any("a second answer" in note for note in seen.notes)


def test_death_right_after_success_is_seen_by_the_next_program(server: Any) -> None:
    """The value stands, but the process is dead."""
    role = server()
    seen = role.see("errors ValueError: it broke\ndie_after 1")
    assert seen.runs[0].end is End.VALUE
    assert seen.after is Health.DEAD
    assert "it exited with status 7" in seen.after_detail
    assert "ValueError: it broke" in seen.after_detail
    assert role.see("return 1").after is Health.HEALTHY
    assert role.starts == 2


@TRANSPORTS
def test_death_without_an_answer_is_the_death_of_the_host(server: Any, transport: str) -> None:
    """A case of its own is not blamed for it."""
    role = server(transport)
    seen = role.see("die 3")
    assert seen.runs[0].end is End.HOST_DIED
    assert seen.after is Health.DEAD
    assert role.see("return 1").after is Health.HEALTHY


@pytest.mark.parametrize(("program", "label"), [("hang", "silent"), ("block", "blocked")])
def test_no_answer_is_no_outcome(server: Any, program: str, label: str) -> None:
    """Cancellation and ping only tell what the server is like; then it is ended."""
    role = server()
    seen = role.see(program, **SHORT)
    assert (seen.runs[0].end, seen.runs[0].label) == (End.NO_OUTCOME, label)
    assert seen.after is Health.DEAD
    assert role.see("return 1").after is Health.HEALTHY
    assert role.starts == 2


@TRANSPORTS
def test_an_answer_after_the_cancellation_is_forced(server: Any, transport: str) -> None:
    """It passed its deadline."""
    run = server(transport).see("until_cancelled\nreturn 1", **SHORT).runs[0]
    assert (run.end, run.forced) == (End.VALUE, "cancel")


def test_secrets_are_found_wherever_they_come(server: Any) -> None:
    """In a value, on stderr, and in bytes that are no message."""
    role = server()
    seen = role.see("env {{canary.env.name}}")
    where = {hit.where for hit in seen.canaries if hit.canary == "env"}
    assert "run 1 value" in where
    assert role.see("env PATH").runs[0].value.value is not None
    assert role.see("env HOME").runs[0].value.value is None


def test_a_huge_answer_arrives_whole_and_a_flood_is_a_fault(server: Any) -> None:
    """Up to the cap; over it nothing can be judged."""
    role = server(caps=Caps(total_bytes=6 << 20))
    assert len(role.see("huge 2000000").runs[0].value.value) == 2_000_000
    fault = role.see("flood 8\nhang", **SHORT).fault
    assert fault == Fault("surroundings", "it printed more than 6 MiB in one case")
    assert role.see("return 1").after is Health.HEALTHY


def test_a_line_over_the_cap_is_noted(server: Any) -> None:
    """The rest of it is searched and dropped."""
    seen = server(caps=Caps(line_bytes=1 << 19)).see("flood 2\nreturn 1")
    assert seen.runs[0].value.value == 1
    assert any("more than the cap" in note for note in seen.notes)


def test_a_value_of_any_depth_is_observed(server: Any) -> None:
    """Too deep to be read, it is marked; nothing breaks."""
    run = server().see("deep 20000").runs[0]
    assert run.value.odd == (((), "unknown"),)


def test_memory_is_watched_from_outside(server: Any) -> None:
    """The limit of the target file holds where the policy has none."""
    role = server(memory_mib=150)
    seen = role.see("allocate 300")
    assert seen.runs[0].end is End.MEMORY
    assert "MiB" in (seen.runs[0].label or "")
    assert role.see("return 1").after is Health.HEALTHY


def test_no_process_is_left_behind(server: Any) -> None:
    """Whatever happened to it."""
    role = server()
    pid = role.see("pid").runs[0].value.value
    role.see("hang", **SHORT)
    role.close()
    mine = [e for e in processtable.all_entries() if e.pid == pid or e.parent == os.getpid()]
    assert [entry for entry in mine if "mcp_server" in str(entry)] == []


def test_an_event_that_answers_nothing_is_noted(server: Any) -> None:
    """The tap sees events as it sees lines."""
    seen = server("sse").see("forge_event")
    assert seen.runs[0].value.value == 1
    seen = server("http").see("status 503")
    assert seen.runs[0].end is End.FAILURE
    assert any("HTTP status 503" in note for note in seen.notes)
