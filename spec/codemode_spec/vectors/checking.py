"""What a schema cannot say about vectors: ids used once, and names that must exist."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from codemode_spec import schemas
from codemode_spec.documents import read_document
from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.vectors import NAMES, generated
from codemode_spec.vectors.lines import line_bytes

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from codemode_spec.tables import Tables


def problems(root: Traversable, tables: Tables) -> list[Problem]:
    """Every fault of the vectors below `root`, those that no longer follow from the tables too."""
    found: list[Problem] = []
    expected = generated(tables)
    for name in NAMES:
        file = f"vectors/{name}.json"
        entry = root / "vectors" / f"{name}.json"
        try:
            document = read_document(entry, file)
        except SpecificationError as error:
            found += error.problems
            continue
        faults = schemas.problems(f"vectors-{name}", document, file)
        found += faults or _names(file, document, tables)
        if name in expected and entry.read_text(encoding="utf-8") != expected[name]:
            reason = "it does not follow from the tables; run `python -m codemode_spec.vectors`"
            found.append(Problem(file, "", reason))
    return found


def _names(file: str, document: dict[str, Any], tables: Tables) -> list[Problem]:
    vectors = document["vectors"]
    legal = {vector["id"] for vector in vectors if "reason" not in vector}
    found = [
        Problem(file, f"/{name}", "the id stands twice")
        for name, times in Counter(vector["id"] for vector in vectors).items()
        if times > 1
    ]
    for vector in (document, *vectors):
        where = f"/{vector['id']}" if "id" in vector else ""
        if vector.get("profile", next(iter(tables.profiles))) not in tables.profiles:
            found.append(Problem(file, where, f"there is no profile {vector['profile']}"))
        if "beside" in vector and vector["beside"] not in legal:
            found.append(Problem(file, where, f"{vector['beside']} is no legal vector"))
        try:
            line = line_bytes(
                vector.get("line", vector.get("json", "")), document.get("shared", {})
            )
        except (KeyError, ValueError):
            found.append(Problem(file, where, "a part of its text does not exist"))
        else:
            if b"\n" in line and file == "vectors/frames.json":
                found.append(Problem(file, where, "a line holds no LF"))
    return found
