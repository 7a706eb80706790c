"""What changed between two matrices, in Markdown: for the people who look at a scheduled run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_spec.documents import parse_json
from codemode_spec.failures import SpecificationError
from codemode_spec.schemas import problems

from codemode_conformance import bounded
from codemode_conformance.escape import for_markdown
from codemode_conformance.failures import UsageError
from codemode_conformance.matrix.reading import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MOST_LISTED: Final = 60
_TOLD: Final = {"fail": "fails now", "flaky": "fails in some runs now", "": "fails no more"}


def earlier(path: Path) -> dict[str, Any]:
    """A matrix that was written before; UsageError says what is wrong with it."""
    try:
        raw = bounded.read(path, MOST_BYTES)
        if raw is None:
            raise UsageError(f"{path}: a matrix is not larger than {MOST_BYTES >> 20} MiB")
        value = parse_json(raw.decode(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the JSON of an earlier matrix") from None
    except (UnicodeDecodeError, SpecificationError) as error:
        raise UsageError(f"{path}: no matrix: {error}") from None
    for problem in problems("matrix", value, str(path)):
        raise UsageError(f"{path}: {problem.path}: {problem.reason}; give the JSON of a matrix")
    matrix: dict[str, Any] = value
    return matrix


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The changes of every target; a line that says so where there is none."""
    return "\n".join(_changes(before, after)) + "\n"


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old = {target["key"]: target for target in before["targets"]}
    new = {target["key"]: target for target in after["targets"]}
    yield "# What changed"
    if before["cases_digest"] != after["cases_digest"]:
        yield "\nThe cases changed too, so a change need not be one of the target."
    for key in sorted(old.keys() | new.keys()):
        yield from _of_target(key, old.get(key), new.get(key))


def _of_target(
    key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> Iterator[str]:
    yield f"\n## {for_markdown(key)}\n"
    if old is None or new is None:
        yield "It is new." if old is None else "It was not run."
        return
    versions = [for_markdown(old["version"]), for_markdown(new["version"])]
    yield f"Version {' to '.join(dict.fromkeys(versions))}; {old['level']} to {new['level']}."
    was, now = _failures(old), _failures(new)
    rows: list[tuple[Mapping[str, Any], tuple[str, str]]]
    rows = [(now[name], name) for name in sorted(now) if not _same(was.get(name), now[name])]
    rows += [({"verdict": ""}, name) for name in sorted(was.keys() - now.keys())]
    if not rows:
        yield "\nNo verdict changed."
        return
    yield "\n| case | layer | | observed |\n|---|---|---|---|"
    for entry, (case, layer) in rows[:MOST_LISTED]:
        told = _TOLD[entry["verdict"]]
        seen = for_markdown(entry["observed"] or "-") if "observed" in entry else ""
        yield f"| {for_markdown(case)} | {for_markdown(layer)} | {told} | {seen} |"
    if len(rows) > MOST_LISTED:
        yield f"\nand {len(rows) - MOST_LISTED} more"


def _same(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    return old is not None and old["verdict"] == new["verdict"]


def _failures(target: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(entry["case"], entry["layer"]): entry for entry in target["failures"]}
