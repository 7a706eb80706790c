"""What the kits mark of values that JSON cannot carry, and the schema of the lines they write."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import codemode_conformance
import pytest
from codemode_spec.schemas import problems

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).parent / "kits"
KITS = Path(codemode_conformance.__file__).parent / "kits"


def load_python_kit() -> ModuleType:
    """The kit as a module, from its file."""
    spec = importlib.util.spec_from_file_location("cmconf_kit", KITS / "cmconf_kit.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Hostile:
    """A value that raises when it is looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise LookupError(name)


def test_python_values_get_the_nearest_kind() -> None:
    """What JSON has no form for is shown as far as it goes, and nothing raises."""
    kit = load_python_kit()
    knot: dict[str, Any] = {}
    knot["self"] = knot
    values = {
        "usual": [None, True, 0, 1.5, "é", (1, 2), {"a": 2**60}],
        "set": {1},
        "bytes": b"ab",
        "keys": {1: "x"},
        "surrogate": {"a\ud800": "\ud800"},
        "number": [-0.0, 2**53 + 1, 10**5000],
        "knot": knot,
        "error": ValueError("no"),
        "hostile": Hostile(),
    }
    shown, odd = kit.mark(values)
    assert shown == {
        "usual": [None, True, 0, 1.5, "é", [1, 2], {"a": 2**60}],
        "set": [1],
        "bytes": [97, 98],
        "keys": [[1, "x"]],
        "surrogate": {"a\ufffd": "\ufffd"},
        "number": [0, "9007199254740993", None],
        "knot": {"self": None},
        "error": {"name": "ValueError", "message": "no"},
        "hostile": None,
    }
    assert odd == [
        [["set"], "Set"],
        [["bytes"], "ArrayBuffer"],
        [["keys"], "Map"],
        [["surrogate", "a\ufffd"], "lone_surrogate"],
        [["surrogate", "a\ufffd"], "lone_surrogate"],
        [["number", 0], "-0"],
        [["number", 1], "bigint"],
        [["number", 2], "bigint"],
        [["number", 2], "unknown"],
        [["knot", "self"], "cycle"],
        [["error"], "Error"],
        [["hostile"], "unknown"],
    ]


def test_javascript_values_get_their_kind(tmp_path: Path) -> None:
    """No trap runs, no toJSON is called, a plain object of any realm is plain, nothing throws."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH")
    shutil.copy(KITS / "cmconf_kit.mjs", tmp_path)
    script = shutil.copy(HERE / "values.mjs", tmp_path)
    out = subprocess.run([node, script], capture_output=True, check=True, timeout=20).stdout
    shown, odd, rebuilt = json.loads(out)
    assert shown == {
        "usual": [None, True, 0, 1.5, "é", {"a": []}, {}],
        "numbers": [None, 0, "18446744073709551616"],
        "proxy": None,
        "getter": None,
        "realm": {"plain": {"a": 1}, "map": [[1, 2]]},
        "keys": {"a": None, "\ufffd": 1},
        "instance": {"x": 1},
        "json": {"toJSON": None},
        "holes": [None, 1],
        "sparse": None,
    }
    assert odd == [
        [["numbers", 0], "NaN"],
        [["numbers", 1], "-0"],
        [["numbers", 2], "bigint"],
        [["proxy"], "proxy"],
        [["getter"], "unknown"],
        [["realm", "map"], "Map"],
        [["keys"], "symbol_key"],
        [["keys", "a"], "undefined"],
        [["keys", "\ufffd"], "lone_surrogate"],
        [["instance"], "class"],
        [["json", "toJSON"], "function"],
        [["holes", 0], "hole"],
        [["sparse"], "unknown"],
    ]
    assert len(rebuilt) == 24
    assert [marks for kind, marks in rebuilt] == [[[["a", 0], kind]] for kind, _ in rebuilt]


def test_python_values_are_built_as_their_kind() -> None:
    """Each kind that the kit names comes back as itself, from nothing and from what was shown."""
    kit = load_python_kit()

    async def rebuild() -> None:  # a promise needs a running loop
        for kind in kit.HOST_VALUES:
            marks = [[["a", 0], kind]]
            built = kit.build({"a": [None, 1]}, marks)
            assert kit.mark(built)[1] == marks
            assert kit.mark(kit.build(*kit.mark(built)))[1] == marks

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(rebuild())
    finally:
        loop.close()


OUTCOME = {"m": "outcome", "r": 1, "ok": True}
FAILURE = {"m": "outcome", "r": 1, "ok": False, "category": "time", "native": {}}
IDENTITY = {
    "m": "identity",
    "target": "tiny",
    "version": "1",
    "language": ["javascript"],
    "settable": [],
    "alternatives": {},
    "capabilities": ["parallel.2"],
    "mapping": "typed",
}
OPENED = {"m": "opened", "s": 1, "effective": {}, "unknown": [], "prelude": "", "wrap": ["", ""]}
RIGHT = [
    {**OUTCOME, "present": False},
    {**OUTCOME, "present": True, "value": None, "odd": [[["a", 0], "-0"]]},
    {**FAILURE, "error": {"code": "x", "line": 1}, "logs": [""]},
    IDENTITY,
    {**OPENED, "effective": {"pages": {"value": "unknown", "from": "documented"}}},
]
BROKEN = [
    {"m": "done"},
    {"m": "pong", "n": 1, "x": 1},
    {**OUTCOME, "value": 1},
    {**OUTCOME, "present": True},
    {**OUTCOME, "present": False, "value": None},
    {**OUTCOME, "present": True, "value": 1, "category": "time"},
    {**OUTCOME, "present": True, "value": 1, "odd": [[[], "nan"]]},
    {**FAILURE, "value": 1},
    {**FAILURE, "category": "timeout"},
    {**FAILURE, "error": {"line": 1}},
    {"m": "call", "r": 1, "c": 0, "op": "a", "args": {"present": False}},
    {**IDENTITY, "capabilities": ["policy"]},
    {**OPENED, "effective": {"pages": {"value": "8", "from": "set"}}},
    {"m": "unsupported", "fields": ["a"]},
]


@pytest.mark.parametrize("message", RIGHT)
def test_a_message_needs_the_key(message: dict[str, Any]) -> None:
    """With the key it is one; without, it is not."""
    assert problems("adapter", {**message, "k": "0123456789"}, "line", "from_adapter") == []
    assert problems("adapter", message, "line", "from_adapter")


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_line_is_told_by_the_schema(message: dict[str, Any]) -> None:
    """The messages are closed, and the schema knows which fields belong together."""
    assert problems("adapter", {**message, "k": "0123456789"}, "line", "from_adapter")
