"""One end of the channel as a state machine over `protocol.json`. The worker runs this too."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class Step(Protocol):
        """What is read of a transition: exactly one of the four says something."""

        @property
        def next(self) -> str | None: ...  # noqa: D102
        @property
        def error(self) -> str | None: ...  # noqa: D102
        @property
        def exit(self) -> int | None: ...  # noqa: D102
        @property
        def ignore(self) -> bool: ...  # noqa: D102

    class Table(Protocol):
        """What is read of an endpoint."""

        @property
        def initial(self) -> str: ...  # noqa: D102
        @property
        def final(self) -> str: ...  # noqa: D102
        @property
        def transitions(self) -> Mapping[str, Mapping[str, Step]]: ...  # noqa: D102


class Machine:
    """The state of one endpoint, and what the table says about each event."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.state = table.initial

    @property
    def ended(self) -> bool:
        """Whether the final state is reached."""
        return self.state == self._table.final

    def on(self, event: str) -> Step:
        """Take `event`: move to the next state, or to the final one on an error or an exit.

        KeyError for an event that is not in the table.
        """
        step = self._table.transitions[self.state][event]
        if step.next is not None:
            self.state = step.next
        elif not step.ignore:
            self.end()
        return step

    def end(self) -> None:
        """Go to the final state for a reason that is no event of the table."""
        self.state = self._table.final
