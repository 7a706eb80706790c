"""What a schema cannot say about vectors: ids used once, names that exist, sizes that are right."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from codemode_spec import layout, schemas
from codemode_spec.documents import read_document, read_text
from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.sizes import NotAValueError, size_of
from codemode_spec.vectors import NAMES, generated, traces
from codemode_spec.vectors.lines import line_bytes

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from codemode_spec.tables import Tables

_README = "README.md"


def problems(root: Traversable, tables: Tables) -> list[Problem]:
    """Every fault of the vectors below `root`, those that no longer follow from the tables too."""
    found: list[Problem] = []
    layout.file_names(root, "vectors", ".json", found, (_README,))
    if found:
        return found
    expected = generated(tables)
    for name in NAMES:
        found += _of_file(root / "vectors" / f"{name}.json", name, expected.get(name), tables)
    known = {f"{name}.json" for name in NAMES}
    found += [
        Problem(f"vectors/{name}", "", "nobody reads it; remove it")
        for name in layout.file_names(root, "vectors", ".json", [])
        if name not in known
    ]
    try:
        read_text(root / "vectors" / _README, f"vectors/{_README}")
    except SpecificationError as error:
        found += error.problems
    return found


def count(root: Traversable) -> int:
    """How many vectors there are below `root`, where `problems` finds none."""
    return sum(
        len(read_document(root / "vectors" / f"{name}.json", f"{name}.json")["vectors"])
        for name in NAMES
    )


def _of_file(entry: Traversable, name: str, expected: str | None, tables: Tables) -> list[Problem]:
    file = f"vectors/{name}.json"
    try:
        document = read_document(entry, file)
    except SpecificationError as error:
        return list(error.problems)
    found = schemas.problems(f"vectors-{name}", document, file, strict=True)
    if not found:
        found += _names(file, document, tables)
        found += _sizes(file, document, tables)
        if name == "traces":
            found += traces.problems(document, tables, file)
    if expected is not None and entry.read_text(encoding="utf-8") != expected:
        reason = "it does not follow from the tables; run `python -m codemode_spec.vectors`"
        found.append(Problem(file, "", reason))
    return found


def _sizes(file: str, document: dict[str, Any], tables: Tables) -> list[Problem]:
    """The size of what a vector holds as data; that of a frame's value is in its line."""
    default = next(iter(tables.profiles))
    rows = tables.profiles[document.get("profile", default)].rows
    depth = rows["value_depth"].default
    found = []
    for vector in document["vectors"]:
        if "size" not in vector:
            continue
        try:
            if "accepted" in vector:
                value = vector["accepted"]
            elif file == "vectors/sizes.json":
                value = json.loads(line_bytes(vector["json"], {}))
            else:
                continue
            measured = size_of(value, depth)
        except (NotAValueError, ValueError) as error:
            found.append(Problem(file, f"/{vector['id']}", f"it has no size: {error}"))
            continue
        if measured != vector["size"]:
            reason = f"the size is {measured}, not {vector['size']}"
            found.append(Problem(file, f"/{vector['id']}/size", reason))
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
