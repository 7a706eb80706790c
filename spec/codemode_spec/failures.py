"""The errors of this package: what is wrong, where, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of the specification: the file, the path inside it, and the reason."""

    file: str
    path: str
    reason: str

    def __str__(self) -> str:
        """`file: path: reason`, as it is printed."""
        return ": ".join(part for part in (self.file, self.path, self.reason) if part)


class SpecificationError(Exception):
    """The specification, or a case file, is invalid; `problems` lists each fault found."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class TemplateError(ValueError):
    """A template does not parse, names what it may not, or needs a number that is not known."""


class NotApplicable(Exception):  # noqa: N818  a case that does not apply is no error
    """A case cannot be put to this target; the message says why."""
