"""Reading of JSON and YAML files, strictly: what a file says twice or oddly is refused."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import yaml

from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.seen import once

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

MAX_ALIASES: Final = 50
MAX_NODES: Final = 100_000
"""How much a YAML document may hold once its aliases are written out."""

_MOST_DIGITS: Final = 310
"""No longer integer is a finite double."""

_SHOWN: Final = 20
_BYTE_ORDER_MARK: Final = "\ufeff"


def fail(file: str, path: str, reason: str) -> NoReturn:
    """Raise a SpecificationError with this one problem."""
    raise SpecificationError([Problem(file, path, reason)])


def _integer(text: str) -> int:
    if len(text) <= _MOST_DIGITS and math.isfinite(float(text)) and int(float(text)) == int(text):
        return int(text)
    told = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    raise ValueError(f"no double holds the integer {told} exactly; write it as text")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:_SHOWN]} is too large for a double")
    return number


class _Loader(yaml.CSafeLoader):
    """YAML that resolves plain scalars as JSON would, so that `no` and `1:30` stay text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"^(?:true|false)$", "tf"),
    ("tag:yaml.org,2002:null", r"^(?:null|)$", ["n", ""]),
    ("tag:yaml.org,2002:int", r"^-?(?:0|[1-9][0-9]*)$", "-0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$",
        "-0123456789",
    ),
):
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))


def _mapping(loader: yaml.CSafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            message = f"the key {key!r} is not text; quote it"
            raise yaml.constructor.ConstructorError(None, None, message, key_node.start_mark)
        if key in result:
            message = f"the key {key!r} stands twice"
            raise yaml.constructor.ConstructorError(None, None, message, key_node.start_mark)
        result[key] = loader.construct_object(value_node, deep=True)
    return result


def _number(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int | float:
    text = str(loader.construct_scalar(node))
    try:
        return _integer(text) if node.tag.endswith(":int") else _float(text)
    except ValueError as error:
        raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from None


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _number)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


def _check_events(text: str, file: str) -> None:
    """No tags, which make other than JSON values, and no more aliases than people write."""
    aliases = 0
    for event in yaml.parse(text, _Loader):
        aliases += isinstance(event, yaml.AliasEvent)
        tag = getattr(event, "tag", None)
        if tag is not None:
            mark = event.start_mark
            where = f"line {mark.line + 1}" if mark else ""
            fail(file, where, f"the tag {tag} is not allowed; values are written as in JSON")
    if aliases > MAX_ALIASES:
        fail(file, "", f"{aliases} aliases; at most {MAX_ALIASES} are allowed")


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many nodes there are with aliases written out; one inside of itself is not counted."""
    if id(node) not in known:
        known[id(node)] = 1
        inner: Iterable[yaml.Node] = ()
        if isinstance(node, yaml.SequenceNode):
            inner = node.value
        elif isinstance(node, yaml.MappingNode):
            inner = (part for pair in node.value for part in pair)
        known[id(node)] = 1 + sum(_size(part, known) for part in inner)
    return known[id(node)]


def parse_yaml(text: str, file: str) -> Any:
    """The value of a YAML text; SpecificationError with the line of what is wrong."""
    try:
        _check_events(text, file)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            size = _size(node, {})
            if size > MAX_NODES:
                reason = f"{size} values with its aliases written out; at most {MAX_NODES}"
                fail(file, "", f"{reason} are allowed")
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        told = error.problem or str(error)
        if error.context and not error.context.startswith("while "):
            told = f"{error.context}, {told}"
        fail(file, f"line {mark.line + 1}" if mark else "", told)
    except (yaml.YAMLError, ValueError) as error:
        fail(file, "", str(error).splitlines()[0])
    except RecursionError:
        fail(file, "", "it is nested too deeply")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} stands twice")
        result[key] = value
    return result


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def parse_json(text: str, file: str) -> Any:
    """The value of a JSON text; SpecificationError with the line of what is wrong."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_pairs,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        fail(file, f"line {error.lineno}", error.msg)
    except ValueError as error:
        fail(file, "", str(error))
    except RecursionError:
        fail(file, "", "it is nested too deeply")


def read_document(entry: Traversable, file: str) -> Any:
    """The value of a `.json` or `.yaml` file."""
    text = read_text(entry, file)
    if text.startswith(_BYTE_ORDER_MARK):
        fail(file, "line 1", "it begins with a byte order mark; save it without one")
    if not text.strip():
        fail(file, "", "it is empty")
    if file.endswith(".json"):
        value = parse_json(text, file)
    else:
        value = once("yaml", text, partial(parse_yaml, text, file))
    if "\\" in text:  # the only way in for half a character
        _check_texts(value, file, ())
    return value


def read_text(entry: Traversable, file: str) -> str:
    """The text of a regular file. A pipe or a device would be waited for, or read without end."""
    try:
        if entry.is_dir():
            fail(file, "", "it is a folder, not a file")
        if isinstance(entry, Path) and entry.exists() and not entry.is_file():
            fail(file, "", "it is no regular file")
        return entry.read_text(encoding="utf-8")
    except FileNotFoundError:
        fail(file, "", "there is no such file")
    except UnicodeDecodeError as error:
        fail(file, f"byte {error.start}", "it is not UTF-8")
    except OSError as error:
        fail(file, "", error.strerror or "it cannot be read")


def _check_texts(value: Any, file: str, path: tuple[str | int, ...]) -> None:
    """No lone surrogates: such a text can be neither written nor digested."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            fail(file, pointer(path), f"{ascii(value)[:_SHOWN]}: it holds half a surrogate pair")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_texts(key, file, path)
            _check_texts(item, file, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_texts(item, file, (*path, number))


def pointer(path: Iterable[str | int]) -> str:
    """A path as a JSON pointer, for messages."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
