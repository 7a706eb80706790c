"""What a client may ask for one invocation, within the policy and never above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_reference.codes import Code
from codemode_reference.errors import Failure, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

_TIME = "wall_time_ms"


@dataclass(frozen=True, slots=True)
class Options:
    """`timeout_ms` instead of `wall_time_ms`, `readonly`, and who asks.

    Rates are counted by `client`. `progress` is given each report of the program: `current`, and
    perhaps `total` and `message`.
    """

    timeout_ms: Any = None
    readonly: bool = False
    client: Hashable = None
    progress: Callable[[dict[str, Any]], None] | None = None

    @property
    def in_force(self) -> list[str]:
        """The options that an `execute` frame names."""
        chosen = {"timeout": self.timeout_ms is not None, "readonly": self.readonly}
        return [name for name, asked in chosen.items() if asked]

    def applied(
        self, policy: Mapping[str, int], known: Collection[str]
    ) -> dict[str, int] | Mapping[str, int] | Failure:
        """The policy of the invocation, the same one without options.

        `invalid_arguments` for an option that the profile does not have, for a timeout that is no
        number of milliseconds, and for one above the policy, which is never clamped.
        """
        if not set(self.in_force) <= set(known):
            return failure(Code.invalid_arguments)
        if self.timeout_ms is None:
            return policy
        limit = policy[_TIME]
        if type(self.timeout_ms) is not int or self.timeout_ms < 1:
            return failure(Code.invalid_arguments)
        if self.timeout_ms > limit:
            return failure(Code.invalid_arguments, measured=self.timeout_ms, limit=limit)
        return {**policy, _TIME: self.timeout_ms}


NO_OPTIONS: Final = Options()
