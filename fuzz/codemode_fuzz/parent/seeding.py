"""The seeds of scripts: what the model did, what chance does seldom, and what chance did."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.vectors import load_vectors

from codemode_fuzz.parent.crafted import around, crafted
from codemode_fuzz.parent.making import script
from codemode_fuzz.parent.prophet import INVOCATION
from codemode_fuzz.parent.script import EVENTS, SMALL
from codemode_fuzz.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_fuzz.legal import Frame

_VALUES: Final = {1: "5", 2: "10", 3: "100"}


def script_seeds() -> dict[str, bytes]:
    """The traces of the model that a parent takes, and scripts made at random."""
    seeds: dict[str, bytes] = {}
    for vector in load_vectors("traces")["vectors"]:
        if vector["end"] == "parent":
            said = {"profile": vector["profile"], **vector["policy"]}
            lines = [b"P" + json.dumps(said).encode(), *_steps(vector)]
            seeds[f"trace-{vector['id'].replace('.', '-')}"] = b"\n".join(lines)
    for name, steps in crafted():
        seeds[f"crafted-{name}"] = b"\n".join(steps)
    for name, steps in around():
        seeds[f"around-{name}"] = b"\n".join(steps)
    for number in range(80):
        seeds[f"made-{number:02}"] = script(Random(f"script {number}"))
    return seeds


def _steps(vector: dict[str, Any]) -> Iterator[bytes]:
    if vector["steps"][0]["event"] != "execute_sent":
        yield b"S"
    for number, part in enumerate(vector["steps"]):
        event, given = part["event"], part.get("given", {})
        if event == "time_up":
            yield b"T%d" % (SMALL["wall_time_ms"] + 100_000)
        elif event == "cpu_time_up":
            yield b"T%d" % (SMALL["cpu_time_ms"] + 1)
        elif event == "answer":
            yield _answered(given)
        elif event in EVENTS:
            if number or event != "execute_sent":
                yield b"E" + event.encode()
        elif event == "oversized":
            yield b"B73729"
        else:
            yield b"W" + _written(event, given)


def _answered(given: dict[str, Any]) -> bytes:
    if given.get("fault") == "failed":
        return b"F%d" % given["call_id"]
    value = "NaN" if "fault" in given else _VALUES[given["size"]]
    return b"A%d %s" % (given["call_id"], value.encode())


def _written(event: str, given: dict[str, Any]) -> bytes:
    frame: Frame = {"type": event, "invocation_id": INVOCATION}
    if event == "host_call":
        arguments = {"n": 1 if given.get("valid", True) else "1"}
        frame |= {"call_id": given["call_id"], "operation": given["operation"]}
        frame["arguments"] = arguments
    elif event == "host_batch":
        calls = [
            {
                "operation": one["operation"],
                "arguments": {"n": 1 if one.get("valid", True) else "1"},
            }
            for one in given["calls"]
        ]
        frame |= {"call_id": given["call_id"], "calls": calls}
    elif event == "progress":
        frame["current"] = 1
    elif event == "result":
        present, error = given.get("present", False), given.get("error")
        frame |= {"ok": error is None, "value_present": present}
        if present:
            frame["value"] = int(_VALUES[given["size"]])
        if error is not None:
            frame["error"] = error
    elif event == "unknown":
        frame["type"] = "mystery"
    elif event == "malformed":
        return b"{}"
    return spell(frame)
