"""Files in their places, and names that stand once: what is looked at before tables are joined."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.failures import Problem
from codemode_spec.tables import DEFAULT_PROFILE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from importlib.resources.abc import Traversable

_CODE: Final = (".py", ".pyc")


def list_folder(place: Traversable) -> list[str] | None:
    """The sorted names of what is in a folder; None where there is none (OSError: unreadable)."""
    return sorted(entry.name for entry in place.iterdir()) if place.is_dir() else None


def file_names(
    root: Traversable, folder: str, ending: str, found: list[Problem], others: Collection[str] = ()
) -> list[str]:
    """The names of the files of a folder, which all have this ending, but for `others`.

    A file that nobody would read is a fault: a misspelled ending would hide what is in it.
    """
    try:
        listed = list_folder(root / folder)
    except OSError as error:
        found.append(Problem(folder, "", error.strerror or "it cannot be read"))
        return []
    if listed is None:
        found.append(Problem(folder, "", "there is no such folder"))
        return []
    names = [n for n in listed if not n.startswith((".", "__")) and not n.endswith(_CODE)]
    if not names:
        found.append(Problem(folder, "", f"it is empty; files that end in {ending} belong here"))
    found += [
        Problem(f"{folder}/{name}", "", f"nobody reads it; a file here ends in {ending}")
        for name in names
        if not name.endswith(ending) and name not in others
    ]
    return [name for name in names if name.endswith(ending)]


def check_areas(documents: Mapping[str, Any]) -> list[Problem]:
    """A document of an area stands in the file of that name, where messages say it is.

    A large area may have more files, with a word of their own: `frm-worker.yaml`.
    """
    return [
        Problem(file, "/area", f"area {area} belongs into {area.lower()}.yaml")
        for file, area in ((f, d["area"]) for f, d in documents.items())
        if not re.fullmatch(rf"{area.lower()}(-[a-z]+)?\.yaml", file.rpartition("/")[2])
    ]


def check_tables(documents: Mapping[str, Any], profiles: Mapping[str, Any]) -> list[Problem]:
    """Rows and codes that stand once, and a file for each profile, the default one among them."""
    rows = (entry["name"] for entry in documents["policy"]["rows"])
    codes = (entry["code"] for entry in documents["errors"]["errors"])
    found = [
        *_twice("policy.json", "rows", rows),
        *_twice("errors.json", "errors", codes),
    ]
    for file, data in profiles.items():
        if file != f"profiles/{data['name']}.json":
            found.append(Problem(file, "/name", f"{data['name']} belongs into {data['name']}.json"))
    if f"profiles/{DEFAULT_PROFILE}.json" not in profiles:
        reason = "there is no such file; it is the default profile"
        found.append(Problem(f"profiles/{DEFAULT_PROFILE}.json", "", reason))
    return found


def _twice(file: str, key: str, names: Iterable[str]) -> list[Problem]:
    return [
        Problem(file, f"/{key}/{name}", f"it stands {times} times; keep one")
        for name, times in Counter(names).items()
        if times > 1
    ]
