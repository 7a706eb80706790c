"""What no case covers yet: a list that may only become shorter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

FILE = "pending.yaml"


@dataclass(frozen=True, slots=True)
class Pending:
    """Entries by group, edges as `row/side` and alternatives as `name/value`.

    `at_most` is the number that the file claims, `recorded` the one of the newest revision.
    """

    at_most: int
    groups: Mapping[str, tuple[str, ...]]
    recorded: int | None = None

    @property
    def count(self) -> int:
        """How many entries there are."""
        return sum(map(len, self.groups.values()))


def pending(data: Mapping[str, Any], recorded: int | None) -> Pending:
    """The entries of a pending document."""
    return Pending(
        at_most=data["at_most"],
        groups={
            "requirements": tuple(data.get("requirements", ())),
            "rows": _pairs(data.get("rows", {})),
            "codes": tuple(data.get("codes", ())),
            "alternatives": _pairs(data.get("alternatives", {})),
        },
        recorded=recorded,
    )


def _pairs(entries: Mapping[str, list[str]]) -> tuple[str, ...]:
    return tuple(f"{name}/{value}" for name, values in entries.items() for value in values)


def recorded_count(root: Traversable) -> int | None:
    """The `pending` number of the newest file in `revisions/`; None where there is none.

    A released revision freezes it: what had a case then must have one ever after.
    """
    from codemode_spec.documents import read_document  # noqa: PLC0415  a bundle needs no YAML
    from codemode_spec.layout import list_folder  # noqa: PLC0415

    folder = root / "revisions"
    try:
        names = [name for name in list_folder(folder) or () if name.endswith(".json")]
    except OSError:
        return None  # told where revisions are checked
    if not names:
        return None
    newest = max(names, key=_order)
    data = read_document(folder / newest, f"revisions/{newest}")
    count = data.get("pending") if isinstance(data, dict) else None
    return count if isinstance(count, int) else None


def _order(name: str) -> tuple[int, int, int, str]:
    """`1-draft.2` comes before `1-draft.10`, and both before `1`."""
    found = re.fullmatch(r"([0-9]+)(?:-draft\.([0-9]+))?\.json", name)
    if found is None:
        return (0, 0, 0, name)
    number, draft = found.groups()
    return (int(number), 0 if draft else 1, int(draft or 0), name)
