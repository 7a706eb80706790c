"""What an invocation ends with, and the exceptions of this package."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import load_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_reference.codes import Code


@dataclass(frozen=True, slots=True)
class Success:
    """The program returned `value`; without `value_present` there is none (and it is not null)."""

    value_present: bool
    value: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The one failure of an invocation, with the fields that `errors.json` lists for its code."""

    code: str
    message: str
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def to_json(self) -> dict[str, Any]:
        """The failure as a client sees it."""
        return {"code": self.code, "message": self.message, **self.fields}


def failure(code: Code | str, **fields: Any) -> Failure:
    """A failure with the stable message of `code`; KeyError for a code outside the table."""
    entry = load_tables().errors[code]
    return Failure(str(code), entry.text(fields), MappingProxyType(fields))


class CodeModeError(Exception):
    """The root of the exceptions of this package."""


class PolicyError(CodeModeError):
    """A policy, or the catalogue of operations, cannot be used; `field` names what is wrong.

    `why` is more for the message.
    """

    def __init__(self, code: Code, field: str, why: str = "") -> None:
        message = f"{load_tables().errors[code].message}: {field}"
        super().__init__(f"{message} ({why})" if why else message)
        self.code = code
        self.field = field


class OperationError(CodeModeError):
    """An operation failed. Its text stays in the parent: the program sees `operation_failed`."""
