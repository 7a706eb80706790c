"""One example: a program in steps, what stands around it, and the order of replies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codemode_conformance.properties.rendering import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_spec.cases import OperationSpec

    from codemode_conformance.properties.dialect import Dialect


@dataclass(frozen=True)
class Example:
    """What is put to a target and to the model.

    `policy` holds the rows that are set; `order` says which of the calls that wait is answered
    next, as positions among them; `form` and `together` are those of `rendering.render`.
    """

    steps: Sequence[Mapping[str, Any]]
    policy: Mapping[str, int] = field(default_factory=dict)
    operations: tuple[OperationSpec, ...] = ()
    order: tuple[int, ...] = (0,)
    form: str = "body"
    together: bool = False

    def source(self, dialect: Dialect) -> str:
        """The program as JavaScript."""
        return render(self.steps, style=dialect.style, form=self.form, together=self.together)

    @property
    def scripted(self) -> dict[str, OperationSpec]:
        """The operations by name."""
        return {operation.name: operation for operation in self.operations}
