"""The closed shape of each kind of frame. The worker runs this too.

One frame is one line of strict JSON. What is legal in an `error` comes from the error table, as
plain data in `Rules`.
"""

from __future__ import annotations

from codemode_reference.strict_json import MAX_SAFE, NotStrictError, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias, TypedDict

    Frame: TypeAlias = dict[str, Any]
    Check: TypeAlias = Callable[[Any, "Rules"], bool]

    class ErrorRule(TypedDict):
        """In which frames a code may stand, its fields (required or optional), its reasons."""

        frames: list[str]
        fields: dict[str, str]
        reasons: list[str]

    class Rules(TypedDict):
        """What the shapes take from the tables; `depth` in levels of one value.

        `extra` are the kinds of frames that this profile has besides those that all have.
        """

        version: int
        depth: int
        detail_characters: int
        alternatives: dict[str, str | list[str]]
        errors: dict[str, ErrorRule]
        extra: list[str]
        message_bytes: int


MALFORMED = "malformed"
# A batch is an object with an array of objects with values.
_AROUND = 3
UNKNOWN = "unknown"


def parse(line: bytes, rules: Rules) -> tuple[str, Frame]:
    """The kind of one line and its frame; `malformed` or `unknown` comes with an empty frame.

    The kinds are event names of `protocol.json`.
    """
    try:
        frame = _read(line, rules)
    except NotStrictError:
        return MALFORMED, {}
    if not isinstance(frame, dict) or not isinstance(kind := frame.get("type"), str):
        return MALFORMED, {}
    shape = _SHAPES.get(kind)
    if kind in _EXTRA and kind not in rules["extra"]:
        shape = None
    if shape is None:
        return UNKNOWN, {}
    if not _fits(frame, shape, rules) or not _present(frame, rules):
        return MALFORMED, {}
    return kind, frame


def _read(line: bytes, rules: Rules) -> Any:
    """The value of a line, whose own values nest as deep as they may and no deeper."""
    try:
        return read(line, rules["depth"] + 1)
    except NotStrictError:
        if not rules["extra"]:
            raise
    frame = read(line, rules["depth"] + _AROUND)
    if not isinstance(frame, dict) or frame.get("type") not in rules["extra"]:
        raise NotStrictError("a value is nested too deep")
    return frame


def _fits(found: Any, shape: Mapping[str, Check], rules: Rules) -> bool:
    # A key that ends in "?" is optional; every other one must be there, and nothing else.
    if not isinstance(found, dict):
        return False
    known = 0
    for name, check in shape.items():
        key = name.rstrip("?")
        if key in found:
            if not check(found[key], rules):
                return False
            known += 1
        elif key == name:
            return False
    return known == len(found)


def _present(frame: Frame, rules: Rules) -> bool:
    """Whether `ok`, `value_present`, `value` and `error` agree."""
    if "ok" not in frame:
        return True
    has_value, has_error = "value" in frame, "error" in frame
    if frame["value_present"] != has_value:
        return False
    if not frame["ok"]:
        return has_error and not has_value and _error(frame["error"], frame["type"], rules)
    # A success without a value is legal only where a program may have none.
    may_lack = frame["type"] == "result" and rules["alternatives"]["undefined_result"] == "absent"
    return not has_error and (has_value or may_lack)


def _error(error: Any, kind: str, rules: Rules) -> bool:
    if not isinstance(error, dict) or not isinstance(code := error.get("code"), str):
        return False
    rule = rules["errors"].get(code)
    if rule is None or kind not in rule["frames"]:
        return False
    shape: dict[str, Check] = {"code": _text}
    for name, presence in rule["fields"].items():
        shape[name if presence == "required" else f"{name}?"] = _FIELDS[name]
    if not _fits(error, shape, rules):
        return False
    return "reason" not in error or error["reason"] in rule["reasons"]


def _text(found: Any, _rules: Rules) -> bool:
    return isinstance(found, str)


def _truth(found: Any, _rules: Rules) -> bool:
    return isinstance(found, bool)


def _anything(_found: Any, _rules: Rules) -> bool:
    return True


def _count(found: Any, _rules: Rules) -> bool:
    return type(found) is int and 0 <= found <= MAX_SAFE


def _ordinal(found: Any, rules: Rules) -> bool:
    return _count(found, rules) and found > 0


def _version(found: Any, rules: Rules) -> bool:
    return type(found) is int and found == rules["version"]


def _counted(found: Any, _rules: Rules) -> bool:
    return found in ("utf8", "encoded")


def _detail(found: Any, rules: Rules) -> bool:
    return isinstance(found, str) and len(found) <= rules["detail_characters"]


def _limits(found: Any, rules: Rules) -> bool:
    return isinstance(found, dict) and all(_count(value, rules) for value in found.values())


def _budgets(found: Any, rules: Rules) -> bool:
    # What `budget()` tells of the parent: of the module batch, as its frame is.
    return "host_batch" in rules["extra"] and _fits(found, _BUDGETS, rules)


def _alternatives(found: Any, rules: Rules) -> bool:
    # What this implementation does not do is refused, never ignored.
    known = rules["alternatives"]
    return isinstance(found, dict) and all(
        name in known and _chosen(value, known[name]) for name, value in found.items()
    )


def _chosen(found: Any, known: str | list[str]) -> bool:
    # Of several that there are, those that are in force.
    if isinstance(known, str) or not isinstance(found, list):
        return bool(found == known)
    return all(isinstance(one, str) and one in known for one in found)


def _operations(found: Any, rules: Rules) -> bool:
    return isinstance(found, list) and all(_fits(item, _OPERATION, rules) for item in found)


def _calls(found: Any, rules: Rules) -> bool:
    return (
        isinstance(found, list) and bool(found) and all(_fits(one, _ENTRY, rules) for one in found)
    )


def _texts(found: Any, _rules: Rules) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _line(found: Any, rules: Rules) -> bool:
    return isinstance(found, str) and len(found.encode()) <= rules["message_bytes"]


def _effect(found: Any, _rules: Rules) -> bool:
    return found in ("read", "write")


def _schema(found: Any, _rules: Rules) -> bool:
    return isinstance(found, dict)


_FIELDS: dict[str, Check] = {
    "reason": _text,
    "operation": _text,
    "measured": _count,
    "limit": _count,
    "counted": _counted,
    "pattern": _text,
    "line": _ordinal,
    "column": _ordinal,
    "suggestion": _text,
    "detail": _detail,
}

_OPERATION: dict[str, Check] = {
    "name": _text,
    "method": _text,
    "effect": _effect,
    "arguments?": _schema,
    "aliases?": _texts,
    "group?": _text,
    "shortcuts?": _texts,
    "description?": _text,
}

_BUDGETS: dict[str, Check] = {
    "cumulative_host_result_bytes": _ordinal,
    "history_headroom_bytes": _ordinal,
    "history_bytes?": _count,
}

_ENTRY: dict[str, Check] = {"operation": _text, "arguments": _anything}

# Where a profile does not have them, frames of these kinds are unknown.
_EXTRA = ("host_batch", "progress")

_SHAPES: dict[str, dict[str, Check]] = {
    "execute": {
        "type": _text,
        "v": _version,
        "invocation_id": _ordinal,
        "source": _text,
        "limits": _limits,
        "alternatives": _alternatives,
        "operations": _operations,
        "budgets?": _budgets,
    },
    "host_call": {
        "type": _text,
        "invocation_id": _ordinal,
        "call_id": _ordinal,
        "operation": _text,
        "arguments": _anything,
    },
    "host_batch": {
        "type": _text,
        "invocation_id": _ordinal,
        "call_id": _ordinal,
        "calls": _calls,
    },
    "progress": {
        "type": _text,
        "invocation_id": _ordinal,
        "current": _count,
        "total?": _count,
        "message?": _line,
    },
    "host_result": {
        "type": _text,
        "invocation_id": _ordinal,
        "call_id": _ordinal,
        "ok": _truth,
        "value_present": _truth,
        "value?": _anything,
        "error?": _anything,
    },
    "result": {
        "type": _text,
        "invocation_id": _ordinal,
        "ok": _truth,
        "value_present": _truth,
        "value?": _anything,
        "error?": _anything,
    },
}
