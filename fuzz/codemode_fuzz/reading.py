"""A second, slow reading of the frames: what the specification says, without the reference's code.

It shares nothing with the reference but the specification's tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codemode_spec.tables import DEFAULT_PROFILE, load_tables

from codemode_fuzz.strict_text import LARGEST_SAFE, Refused, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Verdict: TypeAlias = tuple[str, dict[str, Any]]

_MALFORMED: Final[Verdict] = ("malformed", {})
_TABLES: Final = load_tables()
_PROFILE: Final = _TABLES.profiles[DEFAULT_PROFILE]
FRAME_BYTES: Final = _PROFILE.rows["ipc_frame_bytes"].absolute_maximum
DEPTH: Final = _PROFILE.rows["value_depth"].absolute_maximum
LIMITS: Final = {name: row for name, row in _PROFILE.rows.items() if row.in_execute}
SMALL_LINE: Final = 64
"""A second limit of lines, so that small inputs pass it."""

VERSION: Final = _TABLES.protocol_version
DETAIL_CHARACTERS: Final = _TABLES.detail_characters
ALTERNATIVES: Final[dict[str, str | list[str]]] = {
    name: list(chosen) if isinstance(chosen, tuple) else chosen
    for name, chosen in _PROFILE.alternatives.items()
}
_REPLY: Final = {"type", "invocation_id", "ok", "value_present"}
_FIELDS: Final = {
    "execute": {
        *("type", "v", "invocation_id", "source", "limits", "alternatives", "operations"),
    },
    "host_call": {"type", "invocation_id", "call_id", "operation", "arguments"},
    "host_result": {*_REPLY, "call_id"},
    "result": _REPLY,
}
_EXTRA: Final = {
    "inline-sync": {"host_batch": {"type", "invocation_id", "call_id", "calls"}},
    "worker-rpc": {"progress": {"type", "invocation_id", "current"}},
}
"""The kinds that a profile has besides, with what each of them must have."""
# A value of a batch stands in an object in an array in the envelope.
_ENVELOPE, _BATCH_ENVELOPE = 1, 3


def lines(data: bytes, limit: int) -> tuple[list[bytes], bool, int]:
    """The lines of a whole stream, whether one passed `limit`, the bytes of an unfinished one."""
    *complete, rest = data.split(b"\n")
    for number, line in enumerate(complete):
        if len(line) > limit:
            return complete[:number], True, 0
    return complete, len(rest) > limit, len(rest)


def frame(line: bytes, profile: str = DEFAULT_PROFILE) -> tuple[Verdict, Verdict]:
    """What one line is where a program must have a value, and where it may have none.

    A verdict is the kind of the line and its frame; `malformed` or `unknown` with an empty one.
    """
    extra = _EXTRA.get(profile, {})
    found = _value(line, DEPTH + _ENVELOPE)
    if found is None and extra:
        found = _value(line, DEPTH + _BATCH_ENVELOPE)
        found = found if isinstance(found, dict) and found.get("type") in tuple(extra) else None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        return _MALFORMED, _MALFORMED
    kind = found["type"]
    if kind in extra:
        whole = (kind, found) if _of_profile(found, extra[kind]) else _MALFORMED
        return whole, whole
    if kind not in _FIELDS:
        return ("unknown", {}), ("unknown", {})
    legal, lenient = (_legal(found, absent=absent) for absent in (False, True))
    return (kind, found) if legal else _MALFORMED, (kind, found) if lenient else _MALFORMED


def taken(end: str, kinds: Sequence[str]) -> tuple[int, str | int | None]:
    """How many of these events an end takes, and the error or exit status that stops it."""
    if end == "parent":
        for number, kind in enumerate(kinds):
            if "result" in kinds[:number] or kind not in ("host_call", "result"):
                return number, "worker_protocol_error"
        return len(kinds), None
    for number, kind in enumerate(kinds):
        if kind != ("host_result" if number else "execute"):
            return number, 3
    return len(kinds), None


def _value(line: bytes, depth: int) -> Any:
    """The value of a line; None, which is no frame either, where it is no strict JSON."""
    try:
        return read(line, depth)
    except Refused:
        return None


def _of_profile(found: Mapping[str, Any], required: set[str]) -> bool:
    """Whether a batch or a progress message has the shape of its kind."""
    others = set(found) - required
    if required - set(found) or not _count(found["invocation_id"], 1):
        return False
    if found["type"] == "host_batch":
        return not others and _count(found["call_id"], 1) and _entries(found["calls"])
    message = found.get("message", "")
    return (
        others <= {"total", "message"}
        and all(_count(found[key], 0) for key in ("current", "total") if key in found)
        and isinstance(message, str)
        and len(message.encode()) <= _TABLES.progress.message_bytes
    )


def _entries(calls: Any) -> bool:
    return (
        isinstance(calls, list)
        and calls != []
        and all(isinstance(one, dict) for one in calls)
        and all(set(one) == {"operation", "arguments"} for one in calls)
        and all(isinstance(one["operation"], str) for one in calls)
    )


def _legal(found: Mapping[str, Any], *, absent: bool) -> bool:
    kind = found["type"]
    if set(found) - {"value", "error"} != _FIELDS[kind]:
        return False
    if not all(_count(found[key], 1) for key in ("invocation_id", "call_id") if key in found):
        return False
    if kind == "execute":
        return "value" not in found and "error" not in found and _execute(found, absent=absent)
    if kind == "host_call":
        return not {"value", "error"} & set(found) and isinstance(found["operation"], str)
    # Exactly one of the two, or neither where a success may lack its value.
    presence = found["ok"], found["value_present"], "value" in found, "error" in found
    if not isinstance(found["ok"], bool) or not isinstance(found["value_present"], bool):
        return False
    if presence == (False, False, False, True):
        return _error(found["error"], kind)
    lacking = kind == "result" and absent and presence == (True, False, False, False)
    return lacking or presence == (True, True, True, False)


def _count(found: Any, least: int) -> bool:
    number = isinstance(found, int) and not isinstance(found, bool)
    return number and least <= found <= LARGEST_SAFE


def _execute(found: Mapping[str, Any], *, absent: bool) -> bool:
    version = found["v"]
    return (
        _count(version, 1)
        and version == _TABLES.protocol_version
        and isinstance(found["source"], str)
        and _limits(found["limits"])
        and _alternatives(found["alternatives"], absent=absent)
        and isinstance(found["operations"], list)
        and all(_operation(item) for item in found["operations"])
    )


def _limits(found: Any) -> bool:
    if not isinstance(found, dict) or set(found) != set(LIMITS):
        return False
    for name, row in LIMITS.items():
        least = row.minimum if isinstance(row.minimum, int) else found[row.minimum]
        if not _count(found[name], least) or found[name] > row.absolute_maximum:
            return False
    return True


def _alternatives(found: Any, *, absent: bool) -> bool:
    if not isinstance(found, dict):
        return False
    chosen = {**_PROFILE.alternatives, "undefined_result": "absent" if absent else "reject"}
    for name, value in found.items():
        own = chosen.get(name)
        if own is None or value != (list(own) if isinstance(own, tuple) else own):
            return False
    return True


def _operation(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and set(item) - {"arguments"} == {"name", "method", "effect"}
        and isinstance(item["name"], str)
        and isinstance(item["method"], str)
        and (item["effect"] == "read" or item["effect"] == "write")
        and isinstance(item.get("arguments", {}), dict)
    )


def _error(found: Any, kind: str) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("code"), str):
        return False
    entry = _TABLES.errors.get(found["code"])
    if entry is None or kind not in entry.frames:
        return False
    others = set(found) - {"code"}
    required = {name for name, presence in entry.fields.items() if presence == "required"}
    if others - set(entry.fields) or required - others:
        return False
    return all(_field(name, found[name], entry.category_by_reason) for name in others)


def _field(name: str, found: Any, reasons: Mapping[str, str]) -> bool:
    if name in ("measured", "limit"):
        return _count(found, 0)
    if name in ("line", "column"):
        return _count(found, 1)
    if not isinstance(found, str):
        return False
    if name == "reason":
        return found in reasons
    if name == "counted":
        return found in {"utf8", "encoded"}
    return name != "detail" or len(found) <= _TABLES.detail_characters
