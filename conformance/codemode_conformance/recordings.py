"""Recorded observations: what a real run of each case looked like, kept to judge again.

One JSON object a line: the digest of the case, the profile of the reference that was run unless it
is the default one, and the observation. A text of one repeated character is kept as
`{"$repeat": [character, times]}`.
"""

from __future__ import annotations

import dataclasses
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec import DEFAULT_PROFILE

from codemode_conformance.evidence import Fact, State
from codemode_conformance.frames import FrameSeen
from codemode_conformance.observation import (
    Answer,
    Call,
    CanaryHit,
    End,
    Health,
    Observation,
    Run,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

SHORT: Final = 200


class Recorded(NamedTuple):
    """One observation: the digest of its case, and the profile of the reference that it is of."""

    digest: str
    observation: Observation
    profile: str = DEFAULT_PROFILE


def shipped() -> Traversable:
    """The recording of the reference that is shipped with the suite."""
    return files("codemode_conformance") / "recordings" / "reference.jsonl"


def dump(entries: Iterable[Recorded]) -> str:
    """The text of a recording."""
    lines = []
    for digest, observation, profile in sorted(entries, key=lambda entry: entry.observation.case):
        data: dict[str, Any] = {"digest": digest}
        if profile != DEFAULT_PROFILE:
            data["profile"] = profile
        data["observation"] = _pack(dataclasses.asdict(_essential(observation)))
        lines.append(json.dumps(data, ensure_ascii=True, separators=(",", ":")))
    return "".join(f"{line}\n" for line in lines)


def read(text: str) -> dict[str, Recorded]:
    """The recording by case id."""
    found = {}
    for line in text.splitlines():
        data = json.loads(line)
        observation = _observation(_unpack(data["observation"]))
        profile = data.get("profile", DEFAULT_PROFILE)
        found[observation.case] = Recorded(data["digest"], observation, profile)
    return found


def _essential(observation: Observation) -> Observation:
    """The observation without programs, which the cases have, and with whole milliseconds."""

    def whole(number: float | None) -> float | None:
        return None if number is None else float(round(number))

    def call(one: Call) -> Call:
        return dataclasses.replace(
            one,
            at_ms=float(round(one.at_ms)),
            answered_ms=whole(one.answered_ms),
            cancelled_ms=whole(one.cancelled_ms),
        )

    def run(one: Run) -> Run:
        elapsed = float(round(one.elapsed_ms))
        return dataclasses.replace(
            one, program="", elapsed_ms=elapsed, calls=tuple(map(call, one.calls))
        )

    return dataclasses.replace(
        observation,
        runs=tuple(map(run, observation.runs)),
        then=tuple(map(run, observation.then)),
    )


def _pack(value: Any) -> Any:
    if isinstance(value, str) and len(value) > SHORT and len(set(value)) == 1:
        return {"$repeat": [value[0], len(value)]}
    if isinstance(value, dict):
        return {key: _pack(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(item) for item in value]
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            return value["$repeat"][0] * value["$repeat"][1]
        return {key: _unpack(item) for key, item in value.items()}
    return [_unpack(item) for item in value] if isinstance(value, list) else value


def _observation(data: dict[str, Any]) -> Observation:
    return Observation(
        **{
            **data,
            "runs": tuple(map(_run, data["runs"])),
            "then": tuple(map(_run, data["then"])),
            "after": Health(data["after"]),
            "canaries": tuple(CanaryHit(**hit) for hit in data["canaries"]),
            "notes": tuple(data["notes"]),
        }
    )


def _run(data: dict[str, Any]) -> Run:
    return Run(
        **{
            **data,
            "end": End(data["end"]),
            "value": _value(data["value"]),
            "calls": tuple(
                Call(**{**call, "args": _value(call["args"])}) for call in data["calls"]
            ),
            "logs": tuple(data["logs"]),
            "frames": tuple(FrameSeen(**frame) for frame in data.get("frames", ())),
            "facts": tuple(
                Fact(fact["name"], State(fact["state"]), fact["detail"])
                for fact in data.get("facts", ())
            ),
            "progress": tuple(data.get("progress", ())),
            "answers": tuple(
                Answer(**{**one, "value": _value(one["value"])}) for one in data.get("answers", ())
            ),
        }
    )


def _value(data: dict[str, Any]) -> Value:
    odd = tuple((tuple(path), kind) for path, kind in data["odd"])
    return Value(data["present"], data["value"], odd)
