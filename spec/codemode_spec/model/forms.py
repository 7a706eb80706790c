"""What is wrong with the expressions of a program: unknown forms, odd operands, unknown names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_A_NAME: Final = ("$", "$length", "$depth", "$fields", "$keys")
_OF_A_TEXT: Final = ("$reads", "$odd")
_OF_TWO: Final = ("$equal", "$more", "$repeat", "$nest")
_OF_ANY: Final = ("$to_json",)
_OF_A_LIST: Final = ("$join",)
FORMS: Final = (*_OF_A_NAME, *_OF_A_TEXT, *_OF_TWO, *_OF_ANY, *_OF_A_LIST)
"""Every form of `expressions`."""

_BINDS: Final = ("as", "set", "add", "push")
_TURN, _ERROR = "i", "e"
_TWO: Final = 2


def faults(steps: Any) -> list[str]:
    """The faults of a program as data, templates filled, each in a few words."""
    return list(dict.fromkeys(_faults(steps, {_TURN, _ERROR, *_bound(steps)})))


def _bound(value: Any) -> Iterator[str]:
    """The names that steps give a value."""
    if isinstance(value, dict):
        yield from (value[key] for key in _BINDS if isinstance(value.get(key), str))
        for part in value.values():
            yield from _bound(part)
    elif isinstance(value, list):
        for part in value:
            yield from _bound(part)


def _faults(value: Any, names: set[str]) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _faults(part, names)
    elif isinstance(value, dict):
        key = next((key for key in value if key.startswith("$")), None)
        if key is not None:
            yield from _of_form(key, value, names)
        if isinstance(value.get("throw"), str) and value["throw"] not in names:
            yield f"nothing is caught as {value['throw']}"
        for part in value.values():
            yield from _faults(part, names)


def _of_form(key: str, form: dict[str, Any], names: set[str]) -> Iterator[str]:
    inner = form[key]
    if key not in FORMS:
        yield f"there is no form {key}; there are {', '.join(FORMS)}"
    elif len(form) > 1:
        yield f"the form {key} stands alone in its object"
    elif key in (*_OF_A_NAME, *_OF_A_TEXT) and not isinstance(inner, str):
        yield f"the form {key} takes a text"
    elif key in _OF_A_NAME and inner.split(".")[0] not in names:
        yield f"no step gives {inner.split('.')[0]} a value"
    elif key in _OF_TWO and not (isinstance(inner, list) and len(inner) == _TWO):
        yield f"the form {key} takes a list of two"
    elif key in _OF_A_LIST and not isinstance(inner, list):
        yield f"the form {key} takes a list"
