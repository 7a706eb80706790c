"""The reference answers every vector of the specification as it is written there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from codemode_reference import Operation, Parent
from codemode_reference.errors import Success
from codemode_reference.frames import parse
from codemode_reference.lines import LineDecoder
from codemode_reference.policy import invalid_field
from codemode_reference.protocol import Machine
from codemode_reference.rules import frame_rules
from codemode_reference.values import NotJSONError, encode, measure
from codemode_spec.tables import load_tables
from codemode_spec.vectors import load_vectors
from codemode_spec.vectors.lines import line_bytes

TABLES = load_tables()
SIZES, POLICY = load_vectors("sizes"), load_vectors("policy")
FRAMES, VALUES = load_vectors("frames"), load_vectors("values")
PROFILE = TABLES.profiles[FRAMES["profile"]]
DEPTH = PROFILE.rows["value_depth"].default
MODULES = {"host_batch": "batch"}
"""The kinds of frames that some profiles of the reference have, and the modules they are of."""
IN_EXECUTE = [row for row in PROFILE.rows.values() if row.in_execute]


def test_sizes() -> None:
    """A value is written with these bytes, or refused."""
    found, wanted = {}, {}
    for vector in SIZES["vectors"]:
        value = json.loads(line_bytes(vector["json"], {}))
        wanted[vector["id"]] = vector.get("size"), vector.get("text")
        try:
            text = encode(value, SIZES["max_depth"])
            assert measure(value, SIZES["max_depth"]) == len(text)
        except NotJSONError:
            found[vector["id"]] = None, None
        else:
            found[vector["id"]] = len(text), text.decode() if "text" in vector else None
    assert found == wanted


def test_policies() -> None:
    """The reference's own validation names the same field, for all three profiles."""
    found, wanted = {}, {}
    for vector in POLICY["vectors"]:
        profile = TABLES.profiles[vector["profile"]]
        values: dict[str, Any] = {**profile.defaults(), **vector.get("change", {})}
        for name in vector.get("remove", []):
            del values[name]
        wanted[vector["id"]] = vector["field"]
        found[vector["id"]] = invalid_field(values, profile.rows.values())
    assert found == wanted


def event_of(vector: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What the line of a vector is to the end that receives it, and its frame."""
    rules = frame_rules(TABLES, PROFILE)
    under = dict(vector.get("under", {}))
    modules = under.pop("modules", [])
    rules["extra"] = [kind for kind, module in MODULES.items() if module in modules]
    rules["alternatives"] = {**rules["alternatives"], **under}
    line = line_bytes(vector["line"], FRAMES["shared"])
    decoder = LineDecoder(PROFILE.rows["ipc_frame_bytes"].default)
    lines = decoder.feed(line + b"\n")
    if decoder.oversized:
        return "oversized", {}
    assert lines == [line]
    event, frame = parse(line, rules)
    if (vector["to"], event) == ("worker", "execute") and invalid_field(
        frame["limits"], IN_EXECUTE
    ):
        return "malformed", {}
    return event, frame


def test_frames() -> None:
    """Every line is the event that the vector names; values have the size that it names."""
    found, wanted = {}, {}
    for vector in FRAMES["vectors"]:
        if not set(vector.get("under", {}).get("modules", [])) <= set(MODULES.values()):
            continue
        event, frame = event_of(vector)
        wanted[vector["id"]] = vector["event"], vector.get("size")
        value = frame.get("value", frame.get("arguments"))
        found[vector["id"]] = event, measure(value, DEPTH) if "size" in vector else None
    assert found == wanted


def test_frames_of_modules_are_unknown_elsewhere() -> None:
    """A profile without the module takes no frame of its kind."""
    events = {
        event_of({**vector, "under": {}})[0]
        for vector in FRAMES["vectors"]
        if "modules" in vector.get("under", {}) and "without-type" not in vector["id"]
    }
    assert events == {"unknown"}


def test_a_refused_frame_ends_the_worker_and_the_invocation() -> None:
    """By the transition table, whatever the event: only frames without a reason go on."""
    for vector in FRAMES["vectors"]:
        machine = Machine(TABLES.endpoints[vector["to"]])
        machine.state = "running"
        if vector["to"] == "worker" and vector["id"].startswith("execute."):
            machine.state = "waiting"
        machine.on(vector["event"])
        assert machine.ended == ("reason" in vector), vector["id"]


def test_host_values() -> None:
    """A host value is taken with its size or refused."""
    found, wanted = {}, {}
    for vector in VALUES["vectors"]:
        if vector["places"] == ["host"]:
            value = json.loads(line_bytes(vector["json"], {}))
            wanted[vector["id"]] = vector.get("size")
            try:
                found[vector["id"]] = measure(value, DEPTH)
            except NotJSONError:
                found[vector["id"]] = None
            if "accepted" in vector:
                assert value == vector["accepted"]
    assert found == wanted


SCRIPTED = [vector for vector in VALUES["vectors"] if "javascript" in vector]
OURS = [v for v in SCRIPTED if v.get("under", {}).items() <= PROFILE.alternatives.items()]


def outcomes(vectors: list[dict[str, Any]], place: str) -> dict[str, Any]:
    """What becomes of each value in one place: the outcome, and what the operation received."""
    received: list[Any] = []

    async def take(arguments: Any) -> None:
        received.append(arguments)

    programs = {
        "returned": "return (EXPRESSION);",
        "arguments": "try { await codemode.take(EXPRESSION); return 'sent'; }"
        " catch (error) { return error.code; }",
    }

    async def story() -> dict[str, Any]:
        parent = Parent(PROFILE.defaults(), [Operation("take", take)])
        found = {}
        try:
            for vector in vectors:
                received.clear()
                program = programs[place].replace("EXPRESSION", vector["javascript"])
                found[vector["id"]] = await parent.invoke(program), list(received)
        finally:
            await parent.close()
        return found

    return asyncio.run(story())


def test_the_vectors_of_other_alternatives_are_left_out() -> None:
    """Only those that the reference's profile does not choose, and there are some."""
    others = [vector["id"] for vector in SCRIPTED if vector not in OURS]
    assert others
    assert all(name.startswith("undefined.") for name in others)


def test_returned_values() -> None:
    """A program's value comes back with its size, or is refused for that reason."""
    mine = [vector for vector in OURS if "returned" in vector["places"]]
    found = outcomes(mine, "returned")
    for vector in mine:
        outcome, _ = found[vector["id"]]
        if "refused" in vector:
            fields = {"reason": vector["refused"]}
            assert (outcome.code, dict(outcome.fields)) == ("code_rejected", fields), vector["id"]
        else:
            assert isinstance(outcome, Success), (vector["id"], outcome)
            assert measure(outcome.value, DEPTH) == vector["size"], vector["id"]
            assert outcome.value == vector.get("accepted", outcome.value), vector["id"]


def test_arguments() -> None:
    """Arguments reach the operation as that value, or nothing is dispatched."""
    mine = [vector for vector in OURS if "arguments" in vector["places"]]
    found = outcomes(mine, "arguments")
    for vector in mine:
        outcome, received = found[vector["id"]]
        refused = "refused" in vector
        assert outcome.value == ("invalid_arguments" if refused else "sent"), vector["id"]
        assert len(received) == (0 if refused else 1), vector["id"]
        if not refused:
            assert measure(received[0], DEPTH) == vector["size"], vector["id"]
            assert received[0] == vector.get("accepted", received[0]), vector["id"]


@pytest.mark.parametrize("name", ["returned", "arguments", "host"])
def test_every_place_has_vectors(name: str) -> None:
    """There is something taken and something refused in each."""
    mine = [vector for vector in VALUES["vectors"] if name in vector["places"]]
    assert any("refused" in vector for vector in mine)
    assert any("size" in vector for vector in mine)
