"""A program of steps as JavaScript: the same program for a target as for the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.model.forms import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_INDENT: Final = "  "
_BINDS: Final = ("set", "add", "push")
_ODD: Final[Mapping[str, str]] = {
    "undefined": "undefined",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
    "bigint": "1n",
    "symbol": "Symbol()",
    "function": "() => 1",
    "Map": "new Map()",
    "Set": "new Set()",
    "Date": "new Date(0)",
    "internal": "/x/",
    "hole": "[,]",
    "lone_surrogate": '"\\ud800"',
    "symbol_key": "{ [Symbol()]: 1 }",
    "cycle": "(() => { const loop = {}; loop.self = loop; return loop; })()",
    "promise": "Promise.resolve(1)",
}
ODD: Final = frozenset(_ODD)
"""The kinds of what JSON loses that can be written down."""

_ACTS: Final = {
    "spin": ["for (let n = 0; ; ) n ^= 1;"],
    "stall": ["await new Promise(() => {});"],
    "stack": ["(function deeper() { return 1 + deeper(); })();"],
    "memory": ["for (const kept = []; ; ) kept.push(new Array(10000).fill(kept.length));"],
    "syntax": ["let 1;"],
}
_ERROR: Final = 'new Error("of the program")'
_HELPERS: Final = {
    "call": "const call = async (name, args) => host.call(name, args);",
    "nothing": "const nothing = () => {};",
    "push": "const push = (list, item) => {"
    " const kept = Array.isArray(list) ? list : []; kept.push(item); return kept; };",
    "nest": "const nest = (kind, depth) => { let value = kind === 'array' ? [] : {};"
    " for (let n = 1; n < depth; n++) value = kind === 'array' ? [value] : { a: value };"
    " return value; };",
    "depth": "const depth = (value) => value === null || typeof value !== 'object' ? 0"
    " : 1 + Math.max(0, ...Object.values(value).map(depth));",
}
"""What a program needs beside its steps, each only where it is used."""


def render(
    steps: Sequence[Mapping[str, Any]], *, style: str, form: str = "body", together: bool = False
) -> str:
    """The program as a function body, or with the form `value` as one last expression.

    `style` is that of the target, `async` or `sync`. With `together`, calls that start together
    and do nothing else are handed over in one `host.all`.
    """
    writer = _Writer(style, together)
    lines = list(writer.block(steps))
    names = sorted(set(_names(steps)))
    head = [f"let {', '.join(f'{name} = 0' for name in names)};"] if names else []
    head = [_HELPERS[name] for name in _HELPERS if name in writer.used] + head
    if form == "value":
        opening = "(async () => {" if style == "async" else "(() => {"
        return "\n".join([opening, *(_INDENT + line for line in (*head, *lines)), "})()"])
    return "\n".join([*head, *lines])


def _names(value: Any) -> Iterator[str]:
    """Every name of the whole program that a step gives a value, or that is read at all."""
    if isinstance(value, dict):
        if isinstance(value.get("$"), str) and "." not in value["$"]:
            yield value["$"]
        yield from (value[key] for key in _BINDS if isinstance(value.get(key), str))
        if "call" in value and "as" in value:
            yield value["as"]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _names(part)


class _Writer:
    def __init__(self, style: str, together: bool) -> None:  # noqa: FBT001  of `render`
        self.waits = "await " if style == "async" else ""
        self.together = together
        self.used: set[str] = set()

    def block(self, steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        for step in steps:
            yield from self._step(step)

    def _within(
        self, opening: str, steps: Sequence[Mapping[str, Any]], closing: str
    ) -> Iterator[str]:
        yield opening
        yield from (_INDENT + line for line in self.block(steps))
        yield closing

    def _step(self, step: Mapping[str, Any]) -> Iterator[str]:
        match step:
            case {"call": _}:
                given = f"{step['as']} = " if "as" in step else ""
                yield f"{given}{self.waits}{self._call(step)};"
            case {"send": name}:
                self.used.add("nothing")
                yield f"{self._call({**step, 'call': name})}.then(nothing, nothing);"
            case {"all": branches}:
                yield from self._all(branches)
            case {"act": kind}:
                yield from _ACTS[kind]
            case {"return": value}:
                yield f"return {self.expression(value)};"
            case {"throw": name}:
                yield f"throw {name or _ERROR};"
            case {"set": name, "to": value}:
                yield f"{name} = {self.expression(value)};"
            case {"add": name}:
                yield f"{name} += {self.expression(step.get('by', 1))};"
            case {"push": name, "value": value}:
                self.used.add("push")
                yield f"{name} = push({name}, {self.expression(value)});"
            case _:
                yield from self._structure(step)

    def _structure(self, step: Mapping[str, Any]) -> Iterator[str]:
        match step:
            case {"repeat": times, "do": steps}:
                name = step.get("as", "i")
                yield from self._within(
                    f"for (let {name} = 0; {name} < {times}; {name}++) {{", steps, "}"
                )
            case {"each": values, "as": name, "do": steps}:
                listed = ", ".join(map(self.expression, values))
                yield from self._within(f"for (const {name} of [{listed}]) {{", steps, "}")
            case {"if": test, "do": steps}:
                others = step.get("else", [])
                opening = f"if ({self.expression(test)} === true) {{"
                yield from self._within(opening, steps, "} else {" if others else "}")
                yield from (_INDENT + line for line in self.block(others))
                yield from ["}"] if others else []
            case {"try": steps}:
                handled, name = step.get("catch", []), step.get("as", "e")
                yield from self._within("try {", steps, f"}} catch ({name}) {{")
                yield from (_INDENT + line for line in self.block(handled))
                yield "}"
            case _:
                raise ValueError(f"no step of the model: {step}")

    def _call(self, step: Mapping[str, Any]) -> str:
        # A thenable sends when it is first awaited: in a function of its own, that is always
        # the same number of turns after the call.
        call = "call" if self.waits else "host.call"
        self.used |= {"call"} if self.waits else set()
        return f"{call}({self._named(step)})"

    def _named(self, step: Mapping[str, Any]) -> str:
        name = self.expression(step["call"])
        return f"{name}, {self.expression(step.get('arguments', {}))}"

    def _all(self, branches: Any) -> Iterator[str]:
        if isinstance(branches, dict):
            many = {"length": branches["times"]}
            opening = f"await Promise.all(Array.from({json.dumps(many)}, async (_, i) => {{"
            yield from self._within(opening, branches["do"], "}));")
            return
        plain = [branch[0] for branch in branches if len(branch) == 1 and set(branch[0]) <= _PLAIN]
        if self.together and branches and len(plain) == len(branches):
            listed = ", ".join(f"[{self._named(step)}]" for step in plain)
            yield f"{self.waits}host.all([{listed}]);"
            return
        yield "await Promise.all(["
        for branch in branches:
            inner = self._within("async () => {", branch, "},")
            yield from (_INDENT + line for line in inner)
        yield "].map((branch) => branch()));"

    def expression(self, value: Any) -> str:
        """An expression of the model, or any JSON value, as JavaScript."""
        if isinstance(value, list):
            return f"[{', '.join(map(self.expression, value))}]"
        if not isinstance(value, dict):
            return json.dumps(value)
        if len(value) == 1:
            (key, inner), *_ = value.items()
            if key in _FORMS:
                return _FORMS[key](self, inner)
            if key in FORMS:
                raise ValueError(f"the form {key} has no text of its own")
        entries = [f"{_key(key)}: {self.expression(item)}" for key, item in value.items()]
        return f"{{ {', '.join(entries)} }}" if entries else "{}"

    def nested(self, inner: Sequence[Any]) -> str:
        self.used.add("nest")
        return f"nest({json.dumps(inner[0])}, {inner[1]})"

    def depth(self, inner: str) -> str:
        self.used.add("depth")
        return f"depth({_path(inner)})"


_PLAIN: Final = {"call", "arguments"}


def _key(key: str) -> str:
    # As a plain key it would be the prototype.
    return f"[{json.dumps(key)}]" if key == "__proto__" else json.dumps(key)


def _path(path: str) -> str:
    name, *rest = path.split(".")
    return name + "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in rest)


def _joined(writer: _Writer, inner: Sequence[Any], operator: str) -> str:
    return f"({operator.join(map(writer.expression, inner))})"


_FORMS: Final[Mapping[str, Callable[[_Writer, Any], str]]] = {
    "$": lambda _, inner: _path(inner),
    "$length": lambda _, inner: f"{_path(inner)}.length",
    "$depth": lambda writer, inner: writer.depth(inner),
    "$fields": lambda _, inner: f"({{ ...{inner} }})",
    "$keys": lambda _, inner: f"Object.keys({inner}).sort()",
    "$join": lambda writer, inner: _joined(writer, ["", *inner], " + "),
    "$equal": lambda writer, inner: _joined(writer, inner, " === "),
    "$more": lambda writer, inner: _joined(writer, inner, " > "),
    "$repeat": lambda _, inner: f"{json.dumps(inner[0])}.repeat({inner[1]})",
    "$nest": lambda writer, inner: writer.nested(inner),
    "$to_json": lambda writer, inner: f"{{ toJSON() {{ return {writer.expression(inner)}; }} }}",
    "$odd": lambda _, inner: _ODD[inner],
}
