"""The specification as one value, whether it was read from its sources or from its bundle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from codemode_spec.digests import digest_of_all
from codemode_spec.tables import DEFAULT_PROFILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.cases import Case
    from codemode_spec.pending import Pending
    from codemode_spec.requirements import Requirement
    from codemode_spec.tables import Tables


@dataclass(frozen=True)
class Specification:
    """Tables, requirements by id, and expanded cases by id, all in the order of ids.

    `pending` lists what no case covers yet.
    """

    revision: str
    tables: Tables
    requirements: Mapping[str, Requirement]
    cases: Mapping[str, Case]
    pending: Pending

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of each case, by id."""
        defaults = self.tables.profiles[DEFAULT_PROFILE].defaults()
        return {name: case.digest(defaults) for name, case in self.cases.items()}

    @cached_property
    def cases_digest(self) -> str:
        """The digest of all cases together."""
        return digest_of_all(self.digests)
