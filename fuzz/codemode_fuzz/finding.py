"""What the kit looks for."""

from __future__ import annotations


class Finding(Exception):  # noqa: N818  what the kit looks for, not a failure of the kit
    """Something that nothing under test may do. `oracle` names the rule that is broken.

    The message says what happened, without the input's own text.
    """

    def __init__(self, oracle: str, message: str) -> None:
        super().__init__(f"{oracle}: {message}")
        self.oracle = oracle
