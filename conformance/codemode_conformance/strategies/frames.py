"""Frames: legal ones of every kind, and those with exactly one fault."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from hypothesis import strategies as st

from codemode_conformance.strategies.values import LARGEST_SAFE, json_values, nested

if TYPE_CHECKING:
    from codemode_spec.tables import ErrorCode
    from hypothesis.strategies import DrawFn, SearchStrategy

KINDS: Final = ("execute", "host_call", "host_batch", "progress", "host_result", "result")
_NAMES: Final = ("get", "put", "", "__proto__", "then", "名前", "a.b/c")
_IDS: Final = ("invocation_id", "call_id")
_NO_ID: Final = (0, -1, True, 1.0, "1", None, LARGEST_SAFE + 1)


class Broken(NamedTuple):
    """A line with exactly one fault, what the fault is, and the legal frame that it was made of."""

    line: bytes
    fault: str
    legal: dict[str, Any]


@cache
def identifiers() -> SearchStrategy[int]:
    """A legal id: small ones mostly, and the ends of the range."""
    edges = st.sampled_from((1, 2, 7, LARGEST_SAFE - 1, LARGEST_SAFE))
    return st.one_of(edges, st.integers(1, LARGEST_SAFE))


@st.composite
def frames(draw: DrawFn, kind: str | None = None) -> dict[str, Any]:
    """A legal frame, of this kind or of any."""
    kind = kind or draw(st.sampled_from(KINDS))
    frame: dict[str, Any] = {"type": kind, "invocation_id": draw(identifiers())}
    names = st.sampled_from(_NAMES)
    match kind:
        case "execute":
            frame |= draw(_execute())
        case "host_call":
            frame["call_id"] = draw(identifiers())
            frame |= {"operation": draw(names), "arguments": draw(json_values(4))}
        case "host_batch":
            call = st.fixed_dictionaries({"operation": names, "arguments": json_values(2)})
            frame["call_id"] = draw(identifiers())
            frame["calls"] = draw(st.lists(call, min_size=1, max_size=3))
        case "progress":
            counts = st.integers(0, LARGEST_SAFE)
            optional = {"total": counts, "message": st.sampled_from(("", "half", "名" * 85))}
            frame |= draw(st.fixed_dictionaries({"current": counts}, optional=optional))
        case _:
            frame |= {"call_id": draw(identifiers())} if kind == "host_result" else {}
            frame |= draw(_ending(kind))
    return frame


@st.composite
def _execute(draw: DrawFn) -> dict[str, Any]:
    tables = load_tables()
    profile = tables.profiles[DEFAULT_PROFILE]
    operation = st.fixed_dictionaries(
        {
            "name": st.sampled_from(_NAMES),
            "method": st.sampled_from(("get", "put")),
            "effect": st.sampled_from(("read", "write")),
        }
    )
    return {
        "v": tables.protocol_version,
        "source": draw(st.sampled_from(("return 1", "return '名'", "// \u2028"))),
        "limits": {n: row.default for n, row in profile.rows.items() if row.in_execute},
        "alternatives": {"script_style": "async"},
        "operations": draw(st.lists(operation, max_size=2)),
    }


@st.composite
def _ending(draw: DrawFn, kind: str) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"ok": True, "value_present": True, "value": draw(json_values(4))}
    entries = [entry for entry in load_tables().errors.values() if kind in entry.frames]
    return {"ok": False, "value_present": False, "error": draw(_error(entries))}


@st.composite
def _error(draw: DrawFn, entries: list[ErrorCode]) -> dict[str, Any]:
    entry = draw(st.sampled_from(entries))
    made: dict[str, Any] = {"code": entry.code}
    for name, presence in entry.fields.items():
        if presence == "required" or draw(st.booleans()):
            made[name] = draw(_field(name, tuple(sorted(entry.category_by_reason))))
    return made


def _field(name: str, reasons: tuple[str, ...]) -> SearchStrategy[Any]:
    match name:
        case "reason":
            return st.sampled_from(reasons or ("uncaught",))
        case "counted":
            return st.sampled_from(("utf8", "encoded"))
        case "measured" | "limit":
            return st.integers(0, LARGEST_SAFE)
        case "line" | "column":
            return identifiers()
    return st.sampled_from(("get", "put"))


def broken_frames(kind: str | None = None) -> SearchStrategy[Broken]:
    """A frame of this kind, or of any, with one fault in its shape, as a line."""
    return frames(kind).flatmap(lambda frame: st.sampled_from(_shapes(frame)))


def _shapes(frame: dict[str, Any]) -> list[Broken]:
    """Every fault of the shape of one frame."""
    found: list[tuple[dict[str, Any], str]] = [({**frame, "more": 1}, "an unknown field")]
    found += [({k: v for k, v in frame.items() if k != "type"}, "no type")]
    for name in _IDS:
        if name in frame:
            found += [({**frame, name: wrong}, f"{name} is {wrong!r}") for wrong in _NO_ID]
            found.append(({k: v for k, v in frame.items() if k != name}, f"no {name}"))
    if "ok" in frame:
        other = "error" if frame["ok"] else "value"
        payload = "value" if frame["ok"] else "error"
        found.append(({**frame, other: {"code": "code_rejected"}}, f"{other} besides"))
        found.append(({**frame, "value_present": not frame["value_present"]}, "value_present"))
        found.append(({k: v for k, v in frame.items() if k != payload}, f"no {payload}"))
        found.append(({**frame, "ok": 1}, "ok is 1"))
    if "error" in frame:
        wrong = {**frame["error"], "retry_after_ms": 1}
        found.append(({**frame, "error": wrong}, "a field that its code does not have"))
        found.append(({**frame, "error": {**frame["error"], "code": "nonsense"}}, "no such code"))
    if "operation" in frame:
        found.append(({**frame, "operation": 1}, "operation is 1"))
        found.append(({**frame, "arguments": nested("array", 129)}, "129 levels"))
    return [Broken(_line(wrong), fault, frame) for wrong, fault in found]


def broken_lines(kind: str | None = None) -> SearchStrategy[Broken]:
    """A frame of this kind, or of any, with one fault in its text: no JSON, or not strict."""
    return frames(kind).flatmap(lambda frame: st.sampled_from(_texts(frame)))


def _texts(frame: dict[str, Any]) -> list[Broken]:
    line = _line(frame).rstrip(b"\n")
    number = str(frame["invocation_id"]).encode()
    key = b'"invocation_id":'

    def with_id(text: bytes) -> bytes:
        return line.replace(key + number, key + text, 1)

    found = [
        (b"\xef\xbb\xbf" + line, "a byte order mark"),
        (line[:-1], "the end is missing"),
        (line + b"{}", "two values"),
        (line[:-1] + b",}", "a comma before the end"),
        (line[:-1] + b"," + key + number + b"}", "a key twice"),
        (line.replace(b'"type"', b"'type'", 1), "single quotes"),
        (line[:-1] + b',"x":"\xff"}', "bytes that are no UTF-8"),
        (line[:-1] + b',"x":"\\ud800"}', "half a surrogate pair"),
        (with_id(b"NaN"), "NaN"),
        (with_id(b"1e999"), "an infinite number"),
        (with_id(b"01"), "a leading zero"),
        (with_id(b"1.0"), "an id that is no integer"),
        (b"", "an empty line"),
        (b"\r", "only a carriage return"),
        (b"[]", "an array"),
        (b"null", "null"),
    ]
    return [Broken(text + b"\n", fault, frame) for text, fault in found]


def _line(frame: dict[str, Any]) -> bytes:
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"
