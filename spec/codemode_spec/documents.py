"""Reading of JSON and YAML files, strictly: what a file says twice or oddly is refused."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from codemode_spec.failures import Problem, SpecificationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

MAX_ALIASES = 50


def fail(file: str, path: str, reason: str) -> NoReturn:
    """Raise a SpecificationError with this one problem."""
    raise SpecificationError([Problem(file, path, reason)])


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


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
# `1e3` is a number in JSON; the stock constructor understands it once the resolver lets it through.


def parse_yaml(text: str, file: str) -> Any:
    """The value of a YAML text; SpecificationError with the line of what is wrong."""
    try:
        aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, _Loader))
        if aliases > MAX_ALIASES:
            fail(file, "", f"{aliases} aliases; at most {MAX_ALIASES} are allowed")
        return yaml.load(text, _Loader)  # noqa: S506  a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        fail(file, f"line {mark.line + 1}" if mark else "", f"{error.problem or error}")
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
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except json.JSONDecodeError as error:
        fail(file, f"line {error.lineno}", error.msg)
    except ValueError as error:
        fail(file, "", str(error))
    except RecursionError:
        fail(file, "", "it is nested too deeply")


def read_document(entry: Traversable, file: str) -> Any:
    """The value of a `.json` or `.yaml` file."""
    try:
        text = entry.read_text(encoding="utf-8")
    except FileNotFoundError:
        fail(file, "", "there is no such file")
    except UnicodeDecodeError as error:
        fail(file, f"byte {error.start}", "it is not UTF-8")
    except OSError as error:
        fail(file, "", error.strerror or "it cannot be read")
    return parse_json(text, file) if file.endswith(".json") else parse_yaml(text, file)


def pointer(path: Iterable[str | int]) -> str:
    """A path as a JSON pointer, for messages."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
