"""What holds of all that a server wrote to a scripted client, by the names of the case schema."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import messages
from codemode_conformance.compare import same_json
from codemode_conformance.escape import quoted
from codemode_conformance.evidence import Fact, State
from codemode_conformance.premises import MEBIBYTE
from codemode_conformance.server import strict
from codemode_conformance.server.answer import at, document
from codemode_conformance.server.dialogue import CALL, INITIALIZE
from codemode_conformance.server.tap import RawAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codemode_conformance.server.answer import AnswerReader
    from codemode_conformance.server.dialogue import Dialogue
    from codemode_conformance.server.heard import Answered
    from codemode_conformance.target import Server

BUSY: Final = "busy"
"""The name of requests whose program computes for BUSY_MS: their metrics must show it."""

BUSY_MS: Final = 400.0
SLACK_MS: Final = 250.0
"""How far clocks of two processes may differ in what they tell of one run."""

SMALL_MIB: Final = 32
"""How much a server may grow over a line of 64 MiB: half of it, for buffers on its way."""

_LIST: Final = "tools/list"
_SILENT: Final = frozenset({"title", "description", "$schema", "$id", "$comment", "type"})
"""Keywords with which a schema of an object says nothing of it."""


def all_of(dialogue: Dialogue, server: Server, reader: AnswerReader) -> tuple[Fact, ...]:
    """Every fact that can be told of what came."""
    heard = dialogue.heard
    partial = heard.rest if heard.status is None and not dialogue.left else b""
    broken = [*heard.faults, *([f"half a line: {quoted(partial, 60)}"] if partial else [])]
    results = [one for one in heard.answers if _is_call(one) and "result" in one.message]
    found = {
        "protocol": broken,
        "asked": heard.strays,
        "results": [fault for one in results if (fault := strict.tool_result(_result(one)))],
        "flags": list(_flags(results, reader)),
        "text": list(_texts(results, reader)),
        "progress": list(_progress(dialogue)),
    }
    told = [_fact(name, faults) for name, faults in found.items()]
    told += _listed(dialogue, server)
    if server.reference:
        told.append(_fact("reference", _reference(dialogue, server)))
    if "metrics" in server.answer:
        told.append(_fact("metrics", list(_metrics(results, server, reader))))
    told.append(_small(dialogue))
    told += _refused(dialogue, server)
    if dialogue.left:
        gone = dialogue.kin_is_gone()
        told.append(_fact("no_process", [] if gone else ["a process of the server runs on"]))
    return tuple(told)


def _refused(dialogue: Dialogue, server: Server) -> Iterator[Fact]:
    """Whether a server that did not start says why: it may be broken for another reason."""
    wanted = server.isolation.get("refused")
    if wanted is None or dialogue.asked[0].answered:
        return
    said = dialogue.process.errors.decode(errors="replace")
    faults = [] if re.search(wanted, said) else [f"on stderr: {quoted(said[-200:], 200)}"]
    yield _fact("isolation_refused", faults)


def _small(dialogue: Dialogue) -> Fact:
    grown = dialogue.heard.peak - dialogue.heard.first_peak
    if not dialogue.heard.first_peak:
        return Fact("small", State.UNOBSERVABLE, "the system tells no peak of memory")
    told = f"it grew by {grown // MEBIBYTE} MiB, {SMALL_MIB} are allowed"
    return _fact("small", [told] if grown > SMALL_MIB * MEBIBYTE else [])


def _fact(name: str, faults: list[str]) -> Fact:
    return Fact(name, State.BROKEN, faults[0]) if faults else Fact(name, State.HOLDS)


def _is_call(one: Answered) -> bool:
    return one.asked is not None and one.asked.method == CALL


def _result(one: Answered) -> Mapping[str, Any]:
    result = one.message.get("result")
    return result if isinstance(result, dict) else {}


def _flags(results: list[Answered], reader: AnswerReader) -> Iterator[str]:
    for one in results:
        ok = reader.read(RawAnswer(one.message, cut=False)).ok
        flag = _result(one).get("isError") is True
        if ok is flag:
            yield f"a {'success' if ok else 'failure'} with isError {str(flag).lower()}"


def _texts(results: list[Answered], reader: AnswerReader) -> Iterator[str]:
    for one in results:
        if not reader.read(RawAnswer(one.message, cut=False)).ok:
            continue
        result = _result(one)
        text = document(result)["text"]
        try:
            value, _ = messages.parse(text)
        except (ValueError, RecursionError):
            yield f"a value whose text is no JSON: {quoted(text, 60)}"
            continue
        if "structuredContent" in result and not same_json(result["structuredContent"], value):
            yield f"a text that differs from the structured content: {quoted(text, 60)}"


def _progress(dialogue: Dialogue) -> Iterator[str]:
    last: dict[int, float] = {}
    for report in dialogue.heard.reports:
        if report.asked is None:
            yield f"progress of nothing that is open: {quoted(str(report.params), 80)}"
            continue
        number: Any = report.params.get("progress")
        if not _is_number(number):
            yield f"progress that is no number: {quoted(str(number), 40)}"
            continue
        before = last.get(id(report.asked), -math.inf)
        if number <= before:
            yield f"progress {number} after {before}"
        last[id(report.asked)] = number


def _listed(dialogue: Dialogue, server: Server) -> Iterator[Fact]:
    answers = [one for one in dialogue.heard.answers if one.asked is not None]
    lists = [one for one in answers if one.asked and one.asked.method == _LIST]
    tools = [
        tool for one in lists for tool in _result(one).get("tools", []) if isinstance(tool, dict)
    ]
    if lists:
        yield _fact("one_tool", list(_tool_faults(tools, server)))
        named = [tool for tool in tools if tool.get("name") == server.tool]
        other = ["the tool for programs is listed"] if named else []
        yield _fact("operations", other or ([] if tools else ["no tool is listed"]))
        yield _fact("schema", [fault for tool in tools if (fault := _schema_fault(tool))])
    if server.isolation:
        text = _instructions(dialogue)
        if server.isolation["where"] == "description":
            text = "\n".join(
                str(t.get("description")) for t in tools if t.get("name") == server.tool
            )
        yield from _isolation(text, server.isolation)


def _isolation(text: str, told: Mapping[str, Any]) -> Iterator[Fact]:
    seen = {name: re.search(told[name], text) for name in ("kind", "strong", "weak")}
    level = bool(seen["strong"]) != bool(seen["weak"])
    faults = [] if seen["kind"] and level else [f"it says: {quoted(text[-200:], 200)}"]
    yield _fact("isolation_told", faults)
    weak = seen["kind"] and seen["weak"] and not seen["strong"]
    yield _fact("isolation_weak", [] if weak else ["a weaker isolation is not told"])


def _tool_faults(tools: Sequence[Mapping[str, Any]], server: Server) -> Iterator[str]:
    named = [tool for tool in tools if tool.get("name") == server.tool]
    if len(named) != 1:
        yield f"{len(named)} tools of the name {server.tool}"
        return
    schema = named[0].get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    program = server.arguments["program"]
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        yield "its input schema has no properties"
        return
    if properties.get(program, {}).get("type") != "string" or program not in schema.get(
        "required", ()
    ):
        yield f"{program} is no text that it requires"
    known = {*server.arguments.values(), *server.fixed_arguments}
    yield from (f"an argument {name}, which is no option" for name in sorted({*properties} - known))


def _schema_fault(tool: Mapping[str, Any]) -> str:
    if "outputSchema" not in tool:
        return ""
    schema = tool["outputSchema"]
    said = set(schema) - _SILENT if isinstance(schema, dict) else set()
    said -= {name for name in said if schema[name] in ({}, [], True)}
    return "" if said else f"the output schema {quoted(str(schema), 80)}"


def _instructions(dialogue: Dialogue) -> str:
    for one in dialogue.heard.answers:
        if one.asked is not None and one.asked.name == INITIALIZE:
            return str(_result(one).get("instructions", ""))
    return ""


def _reference(dialogue: Dialogue, server: Server) -> list[str]:
    text = _instructions(dialogue)
    return [f"they lack {word}" for word in (server.tool, *server.reference) if word not in text]


def _metrics(results: list[Answered], server: Server, reader: AnswerReader) -> Iterator[str]:
    for one in results:
        if one.asked is None or not reader.read(RawAnswer(one.message, cut=False)).ok:
            continue
        whole = document(_result(one))
        numbers = {}
        for name, pointer in server.answer["metrics"].items():
            try:
                numbers[name] = at(whole, pointer)
            except LookupError:
                numbers[name] = None
            if not _is_number(numbers[name]) or numbers[name] < 0:
                yield f"{name} is {quoted(str(numbers[name]), 40)}"
                return
        if numbers["wall_ms"] > one.took_ms + SLACK_MS:
            yield f"wall_ms is {numbers['wall_ms']}, and the answer came in {one.took_ms:.0f} ms"
        if one.asked.name == BUSY and numbers["wall_ms"] < BUSY_MS - SLACK_MS:
            yield f"wall_ms is {numbers['wall_ms']} of a program that takes {BUSY_MS:.0f} ms"
        if one.asked.name == BUSY and not (numbers["cpu_ms"] and numbers["memory_mib"]):
            yield f"a program that computes took no time or no memory: {numbers}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
