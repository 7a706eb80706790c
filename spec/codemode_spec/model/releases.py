"""Answers by script instead of by time: the host holds each back until it is to be released."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from codemode_spec.model.host import Host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codemode_spec.cases import OperationSpec
    from codemode_spec.model.host import Pending
    from codemode_spec.model.terms import Dispatch, Rules


class Release(NamedTuple):
    """The answer to call `number` is released once `after` calls have arrived."""

    after: int
    number: int


class Releasing(Host):
    """A host that answers only when the program can do nothing else, one call at a time.

    `order` says which of the calls that wait is answered: its items are taken in turn, each as a
    position among them. `script` is what was released, and when.
    """

    def __init__(
        self, rules: Rules, operations: Mapping[str, OperationSpec], order: Sequence[int] = (0,)
    ) -> None:
        super().__init__(rules, operations)
        self.script: list[Release] = []
        self._order = order or (0,)
        self._arrived = 0

    def dispatch(self, action: Dispatch, number: int, now: int) -> None:
        """One more call has arrived."""
        self._arrived = number
        super().dispatch(action, number, now)

    def next(self) -> Pending | None:
        """The answer whose turn it is by the order."""
        if not self._pending:
            return None
        position = self._order[len(self.script) % len(self._order)] % len(self._pending)
        pending = self._pending.pop(position)
        self.script.append(Release(self._arrived, pending.number))
        return pending


class Released(Host):
    """A host whose answers were released in this order of call numbers, each at any later time."""

    def __init__(
        self, rules: Rules, operations: Mapping[str, OperationSpec], numbers: Sequence[int]
    ) -> None:
        super().__init__(rules, operations)
        self._numbers = list(numbers)

    @property
    def early(self) -> bool:
        """Whether the next call of the order has arrived."""
        return self._due() is not None

    def next(self) -> Pending | None:
        """The next answer of the order; None where its call has not arrived."""
        due = self._due()
        if due is not None:
            self._pending.remove(due)
            del self._numbers[0]
        return due

    def _due(self) -> Pending | None:
        if not self._numbers:
            return None
        wanted = self._numbers[0]
        return next((pending for pending in self._pending if pending.number == wanted), None)
