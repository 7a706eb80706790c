"""Vectors of the closed shape of each kind of frame: a legal one, and each fault beside it."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.vectors.lines import Line, Vector, accept, compact, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec.tables import Profile, Tables

LARGEST: Final = 2**53 - 1
RECEIVER: Final = {
    "execute": "worker",
    "host_call": "parent",
    "host_batch": "parent",
    "progress": "parent",
    "host_result": "worker",
    "result": "parent",
}
MODULES: Final = {"host_batch": "batch", "progress": "progress"}
FAILED: Final = {"code": "operation_failed", "operation": "read"}
_REPLY: Final = {"ok": True, "value_present": True, "value": None}
_REFUSED: Final = {"ok": False, "value_present": False, "error": FAILED}
_OPERATION: Final = {"name": "read", "method": "read", "effect": "read"}

LEGAL: Final[dict[str, dict[str, Any]]] = {
    "execute": {
        "type": "execute",
        "v": 1,
        "invocation_id": 7,
        "source": "return 1",
        "limits": "@limits",
        "alternatives": "@alternatives",
        "operations": [],
    },
    "host_call": {
        "type": "host_call",
        "invocation_id": 7,
        "call_id": 1,
        "operation": "read",
        "arguments": {},
    },
    "host_batch": {
        "type": "host_batch",
        "invocation_id": 7,
        "call_id": 1,
        "calls": [{"operation": "read", "arguments": {}}],
    },
    "progress": {"type": "progress", "invocation_id": 7, "current": 0},
    "host_result": {"type": "host_result", "invocation_id": 7, "call_id": 1, **_REPLY},
    "result": {"type": "result", "invocation_id": 7, **_REPLY},
}
"""One legal frame of each kind; `@name` stands for a shared part of the file."""

_REFUSALS: Final = {
    "host_result": {"type": "host_result", "invocation_id": 7, "call_id": 1, **_REFUSED},
    "result": {"type": "result", "invocation_id": 7, **_REFUSED},
}
_OTHERS: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "execute": {
        "largest-id": {"invocation_id": LARGEST},
        "operation": {"operations": [_OPERATION]},
        "operation-schema": {"operations": [{**_OPERATION, "arguments": {"type": "object"}}]},
        "operation-write": {"operations": [{**_OPERATION, "effect": "write"}]},
    },
    "host_call": {
        "largest-ids": {"invocation_id": LARGEST, "call_id": LARGEST},
        **{
            f"arguments-{name}": {"arguments": value}
            for name, value in {"null": None, "text": "x", "array": [1], "number": 0}.items()
        },
    },
    "host_batch": {"two": {"calls": [{"operation": "read", "arguments": None}] * 2}},
    "progress": {
        "total": {"total": 0},
        "message": {"message": "m" * 256},
        "largest": {"current": LARGEST, "total": LARGEST},
    },
    "host_result": {"value": {"value": {"a": [1]}}, "largest-id": {"call_id": LARGEST}},
    "result": {"value": {"value": {"a": [1]}}, "largest-id": {"invocation_id": LARGEST}},
}
"""Further legal frames: what differs from the first."""

_NO_TEXT: Final = {"number": 1, "null": None, "array": ["read"]}
_NO_TRUTH: Final = {"number": 1, "null": None, "text": "true"}
_NO_OBJECT: Final[dict[str, Any]] = {"array": [], "null": None, "text": "{}"}
_NO_ARRAY: Final[dict[str, Any]] = {"object": {}, "null": None, "text": "[]"}
_NO_COUNT: Final = {
    "negative": -1,
    "too-large": LARGEST + 1,
    "text": "1",
    "true": True,
    "null": None,
    "array": [1],
    "half": "@0.5",
    "fraction": "@1.0",
    "exponent": "@1e0",
}
_NO_ID: Final = {"zero": 0, **_NO_COUNT}
_SPELLED: Final = ("fraction", "exponent")
"""Faults of spelling alone: the worker only should refuse them."""

_WRONG: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "execute": {
        "type": {"number": 1, "null": None},
        "v": {"two": 2, "zero": 0, "text": "1", "true": True, "null": None, "fraction": "@1.0"},
        "invocation_id": _NO_ID,
        "source": _NO_TEXT,
        "limits": _NO_OBJECT,
        "alternatives": {
            **_NO_OBJECT,
            "unknown": {"mood": "calm"},
            "no-such-value": {"script_style": "both"},
            "set-as-text": {"options": "timeout"},
            "text-as-set": {"script_style": ["async"]},
        },
        "operations": {
            **_NO_ARRAY,
            "entry-text": ["read"],
            "entry-null": [None],
            **{
                f"entry-without-{name}": [{k: v for k, v in _OPERATION.items() if k != name}]
                for name in _OPERATION
            },
            "entry-unknown-field": [{**_OPERATION, "more": 1}],
            "entry-name-number": [{**_OPERATION, "name": 1}],
            "entry-method-null": [{**_OPERATION, "method": None}],
            "entry-effect-other": [{**_OPERATION, "effect": "both"}],
            "entry-arguments-null": [{**_OPERATION, "arguments": None}],
            "entry-second-bad": [_OPERATION, {}],
        },
    },
    "host_call": {
        "type": {"number": 1, "null": None},
        "invocation_id": _NO_ID,
        "call_id": _NO_ID,
        "operation": _NO_TEXT,
    },
    "host_batch": {
        "invocation_id": _NO_ID,
        "call_id": _NO_ID,
        "calls": {
            **_NO_ARRAY,
            "none": [],
            "entry-null": [None],
            "entry-without-operation": [{"arguments": {}}],
            "entry-without-arguments": [{"operation": "read"}],
            "entry-operation-number": [{"operation": 1, "arguments": {}}],
            "entry-unknown-field": [{"operation": "read", "arguments": {}, "more": 1}],
        },
    },
    "progress": {
        "invocation_id": _NO_ID,
        "current": _NO_COUNT,
        "total": _NO_COUNT,
        "message": {**_NO_TEXT, "too-long": "m" * 257, "too-many-bytes": "\u00e9" * 129},
    },
    "host_result": {
        "type": {"number": 1, "null": None},
        "invocation_id": _NO_ID,
        "call_id": _NO_ID,
        "ok": _NO_TRUTH,
        "value_present": _NO_TRUTH,
    },
    "result": {
        "type": {"number": 1, "null": None},
        "invocation_id": _NO_ID,
        "ok": _NO_TRUTH,
        "value_present": _NO_TRUTH,
    },
}


def shared(profile: Profile) -> dict[str, str]:
    """The parts that many lines hold: the limits of an invocation, and its alternatives."""
    chosen = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in profile.alternatives.items()
    }
    return {"limits": compact(_limits(profile)), "alternatives": compact(chosen)}


def _limits(profile: Profile) -> dict[str, int]:
    return {name: row.default for name, row in profile.rows.items() if row.in_execute}


def line_of(frame: Mapping[str, Any]) -> Line:
    """The line of a frame; text that begins with `@` is a shared part or a number's spelling."""
    pieces: list[Any] = [""]
    for number, (name, value) in enumerate(frame.items()):
        pieces[-1] += ("," if number else "{") + f'"{name}":'
        if value in ("@limits", "@alternatives"):
            pieces += [{"shared": value[1:]}, ""]
        else:
            spelled = isinstance(value, str) and value.startswith("@")
            pieces[-1] += value[1:] if spelled else compact(value)
    pieces[-1] += "}" if frame else "{}"
    return pieces[0] if len(pieces) == 1 else pieces


def vectors(tables: Tables, profile: Profile) -> list[Vector]:
    """All vectors of this module."""
    del tables
    found = [vector for kind in LEGAL for vector in _of_kind(kind)]
    return [*found, *_presence(), *_execute_limits(profile), *_direction(), *_kinds()]


def _of_kind(kind: str) -> Iterator[Vector]:
    to, frame, base = RECEIVER[kind], LEGAL[kind], f"{kind}.legal"
    under = _under(kind)
    yield accept(base, to, line_of(frame), kind, **under)
    for name, change in _OTHERS[kind].items():
        yield accept(f"{kind}.legal-{name}", to, line_of({**frame, **change}), kind, **under)
    backwards = dict(reversed(frame.items()))
    yield accept(f"{kind}.legal-backwards", to, line_of(backwards), kind, **under)
    for name in frame:
        rest = {key: value for key, value in frame.items() if key != name}
        yield refuse(f"{kind}.without-{name}", to, line_of(rest), "shape", base, **under)
    extra = line_of({**frame, "more": 1})
    yield refuse(f"{kind}.unknown-field", to, extra, "shape", base, **under)
    if kind != "progress":
        message = line_of({**frame, "message": "x"})
        yield refuse(f"{kind}.message", to, message, "shape", base, **under)
    for name, wrong in _WRONG[kind].items():
        for what, value in wrong.items():
            level = {"level": "SHOULD"} if to == "worker" and what in _SPELLED else {}
            line = line_of({**frame, name: value})
            yield refuse(f"{kind}.{name}-{what}", to, line, "shape", base, **under, **level)


def _presence() -> Iterator[Vector]:
    """Every combination of what says whether there is a value or an error."""
    for kind, to in (("host_result", "worker"), ("result", "parent")):
        head = {k: v for k, v in LEGAL[kind].items() if k not in _REPLY}
        yield accept(f"{kind}.legal-error", to, line_of(_REFUSALS[kind]), kind)
        for ok, present, value, error in product((True, False), repeat=4):
            name = "-".join(
                word if there else f"no-{word}"
                for word, there in (
                    ("ok", ok),
                    ("present", present),
                    ("value", value),
                    ("error", error),
                )
            )
            frame = {**head, "ok": ok, "value_present": present}
            frame |= ({"value": None} if value else {}) | ({"error": FAILED} if error else {})
            line, base = line_of(frame), f"{kind}.legal" if ok else f"{kind}.legal-error"
            success = ok and present and value and not error
            failure = not ok and not present and not value and error
            absent = kind == "result" and ok and not (present or value or error)
            if not (success or failure):
                yield refuse(f"{kind}.{name}", to, line, "shape", base)
            if absent:
                under = {"undefined_result": "absent"}
                yield accept(f"{kind}.legal-absent", to, line, kind, under=under)
            elif kind == "result" and not (success or failure):
                under = {"undefined_result": "absent"}
                yield refuse(
                    f"{kind}.absent.{name}", to, line, "shape", f"{kind}.legal-absent", under=under
                )
    errors: dict[str, Any] = {"null": None, "text": "operation_failed", "array": [], "empty": {}}
    errors |= {"code-number": {"code": 1}, "code-unknown": {"code": "no_such_code"}}
    for kind, frame in _REFUSALS.items():
        for name, wrong in errors.items():
            line = line_of({**frame, "error": wrong})
            yield refuse(
                f"{kind}.error-{name}", RECEIVER[kind], line, "shape", f"{kind}.legal-error"
            )


def _execute_limits(profile: Profile) -> Iterator[Vector]:
    """The worker checks its limits again: their types by the shape, their bounds by the table."""
    limits = _limits(profile)
    first = next(iter(limits))
    outside = next(name for name, row in profile.rows.items() if not row.in_execute)
    faults: dict[str, tuple[str, dict[str, Any]]] = {
        "true": ("shape", {**limits, first: True}),
        "text": ("shape", {**limits, first: "1"}),
        "null": ("shape", {**limits, first: None}),
        "half": ("shape", {**limits, first: "@0.5"}),
        "negative": ("shape", {**limits, first: -1}),
        "none": ("limits", {}),
        "unknown-row": ("limits", {**limits, "more": 1}),
        "row-of-the-parent": ("limits", {**limits, outside: 1}),
    }
    for name, row in profile.rows.items():
        if row.in_execute:
            rest = {key: value for key, value in limits.items() if key != name}
            faults[f"without-{name}"] = "limits", rest
            faults[f"{name}-zero"] = "limits", {**limits, name: 0}
            faults[f"{name}-above"] = "limits", {**limits, name: row.absolute_maximum + 1}
    for name, (reason, value) in faults.items():
        line = line_of({**LEGAL["execute"], "limits": f"@{line_of(value)}"})
        yield refuse(f"execute.limits.{name}", "worker", line, reason, "execute.legal")


def _direction() -> Iterator[Vector]:
    """A legal frame at the wrong end."""
    for kind, frame in LEGAL.items():
        other = {"worker": "parent", "parent": "worker"}[RECEIVER[kind]]
        name, line = f"{kind}.at-the-{other}", line_of(frame)
        under = _under(kind)
        yield refuse(name, other, line, "direction", f"{kind}.legal", event=kind, **under)


def _under(kind: str) -> dict[str, Any]:
    return {"under": {"modules": [MODULES[kind]]}} if kind in MODULES else {}


def _kinds() -> Iterator[Vector]:
    """Kinds that nobody knows, and those of modules that are not in use."""
    for to, beside in (("parent", "host_call"), ("worker", "host_result")):
        for name in ("mystery", "Result", "result ", "", "constructor", "__proto__"):
            frame = {**LEGAL[beside], "type": name}
            label = {"": "empty", "result ": "with-space"}.get(name, name.lower().strip("_"))
            label = "upper-case" if name == "Result" else label
            yield refuse(
                f"kind.{label}-{to}", to, line_of(frame), "kind", f"{beside}.legal", event="unknown"
            )
    for kind, module in MODULES.items():
        yield refuse(
            f"kind.{module}-not-in-use",
            "parent",
            line_of(LEGAL[kind]),
            "kind",
            f"{kind}.legal",
            event="unknown",
        )
