"""Test vectors as data for any language, and what makes those that follow from the tables.

`python -m codemode_spec.vectors` writes the generated files again; a test holds them to it.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.tables import DEFAULT_PROFILE, load_tables
from codemode_spec.vectors import frame_errors, frames, policies, spellings

if TYPE_CHECKING:
    from pathlib import Path

    from codemode_spec.tables import Tables

NAMES: Final = ("frames", "policy", "sizes", "traces", "values")
"""The files of vectors; the schema of each is `vectors-NAME`."""


def load_vectors(name: str) -> dict[str, Any]:
    """One file of vectors, not checked against its schema."""
    text = (files(__package__) / f"{name}.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def generated(tables: Tables | None = None) -> dict[str, str]:
    """The text of each generated file by its name; `sizes` and `values` are written by hand.

    Not `traces`: they come out of a search of the model (`cmconf spec explore`).
    """
    tables = tables or load_tables()
    profile = tables.profiles[DEFAULT_PROFILE]
    found = [
        *frames.vectors(tables, profile),
        *spellings.vectors(profile),
        *frame_errors.vectors(tables),
    ]
    return {
        "frames": document_text({"profile": profile.name, "shared": frames.shared(profile)}, found),
        "policy": document_text({}, policies.vectors(tables)),
    }


def write(folder: Path) -> list[Path]:
    """Write the generated files into `folder`; where they are now."""
    found = []
    for name, text in generated().items():
        path = folder / f"{name}.json"
        path.write_text(text, encoding="utf-8")
        found.append(path)
    return found


def document_text(head: dict[str, Any], vectors: list[dict[str, Any]]) -> str:
    """A document with one vector a line, so that a change shows as one."""
    lines = [f'  "{name}": {_compact(part)},' for name, part in {"format": 1, **head}.items()]
    items = ",\n".join(f"    {_compact(vector)}" for vector in vectors)
    return "\n".join(["{", *lines, '  "vectors": [', items, "  ]", "}", ""])


def _compact(value: Any) -> str:
    # ASCII, so that what cannot be seen is seen.
    return json.dumps(value, separators=(", ", ": "))
