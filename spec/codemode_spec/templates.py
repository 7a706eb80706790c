"""`@{...}` templates: integer expressions over policy rows and `let` names."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from codemode_spec.failures import TemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEMPLATE = re.compile(r"@@\{|@\{([^{}]*)\}|@\{")
_WHOLE = re.compile(r"@\{([^{}]*)\}")
_BEGIN = "@{"
"""Text without it has no template in it, which is most of the text there is."""


_SHOWN = 60
_MOST = 2**53 - 1
"""The largest integer that every reader of JSON holds exactly."""


def _told(expression: str) -> str:
    """A template in a message."""
    cut = expression if len(expression) <= _SHOWN else f"{expression[:_SHOWN]}..."
    return f"@{{{cut}}}"


@lru_cache(maxsize=4096)
def _parse(expression: str) -> ast.expr:
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TemplateError(f"{_told(expression)} is no expression") from None


def _value(expression: str, names: Mapping[str, Any]) -> Any:
    """The value of one template, as a JSON value that all readers agree on."""
    try:
        value = _evaluate(_parse(expression), names, expression)
    except RecursionError:
        raise TemplateError(f"{_told(expression)} is nested too deeply") from None
    if isinstance(value, int) and abs(value) > _MOST:
        raise TemplateError(f"{_told(expression)} is beyond 2^53-1")
    return value


def _evaluate(node: ast.expr, names: Mapping[str, Any], expression: str) -> Any:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            if name not in names:
                raise TemplateError(f"{_told(expression)} needs {name}, which has no number here")
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_evaluate(operand, names, expression), expression)
        case ast.BinOp(left=left, op=operator, right=right):
            a = _number(_evaluate(left, names, expression), expression)
            b = _number(_evaluate(right, names, expression), expression)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv() if b != 0:
                    return a // b
    raise TemplateError(
        f"{_told(expression)} may use integers, names, + - * // and parentheses only"
    )


def _number(value: Any, expression: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TemplateError(f"{_told(expression)} computes with {value!r}, which is no integer")
    return value


def _text(match: re.Match[str], names: Mapping[str, Any]) -> str:
    """What stands for a template inside of text; `@@{` is a literal `@{`."""
    if match[0] == "@@{":
        return "@{"
    if match[1] is None:
        raise TemplateError("a template is not closed; write @@{ where @{ is meant")
    return str(_value(match[1], names))


def names_in(value: Any) -> set[str]:
    """Every name that the templates inside a JSON value use."""
    if isinstance(value, str):
        if _BEGIN not in value:
            return set()
        found = (match[1] for match in _TEMPLATE.finditer(value) if match[1] is not None)
        return {
            node.id
            for expression in found
            for node in ast.walk(_parse(expression))
            if isinstance(node, ast.Name)
        }
    if isinstance(value, list):
        return set().union(*map(names_in, value)) if value else set()
    if isinstance(value, dict):
        return set().union(*map(names_in, value.values())) if value else set()
    return set()


def resolve(value: Any, names: Mapping[str, Any]) -> Any:
    """The JSON value with its templates filled in.

    A string that is one template takes the type of its value. TemplateError when a name has no
    value or an expression is not allowed.
    """
    if isinstance(value, str):
        if _BEGIN not in value:
            return value
        if whole := _WHOLE.fullmatch(value):
            return _value(whole[1], names)
        return _TEMPLATE.sub(lambda match: _text(match, names), value)
    if isinstance(value, list):
        return [resolve(item, names) for item in value]
    if isinstance(value, dict):
        return {key: resolve(item, names) for key, item in value.items()}
    return value


def resolve_lets(lets: Mapping[str, Any], rows: Mapping[str, int]) -> dict[str, Any]:
    """Row names and `let` names together; a `let` may use rows and the lets before it."""
    names: dict[str, Any] = dict(rows)
    for name, value in lets.items():
        names[name] = resolve(value, names)
    return names
