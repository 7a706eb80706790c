"""The section *Result* of the page of each target: what the matrix says of it, for its README."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.failures import UsageError
from codemode_conformance.matrix import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

HEADING: Final = "## Result\n"
SHOWN: Final = 4
"""How many cases of a cause are named; the others are counted."""
_VERDICTS: Final = ("pass", "fail", "flaky", "error", "untestable", "unsupported")


def readme(path: Path, section: str) -> str | None:
    """A README with this section, its last one; None where there is none."""
    try:
        before, heading, _ = path.read_text(encoding="utf-8").partition(HEADING)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    return before + section if heading else None


def section(matrix: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """The whole section of one target of a matrix, in Markdown."""
    return HEADING + "".join(_lines(matrix, target))


def _lines(matrix: Mapping[str, Any], target: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"\n{target['started'][:10]}, {words.place(target)}, specification "
        f"{matrix['spec_revision']}, {target['role']} role: {target['seconds']:.0f} s. "
        "Layers of cases, by class;\nclasses of which nothing was asked are left out:\n\n"
        f"| class | {' | '.join(_VERDICTS)} |\n|---|{'---:|' * len(_VERDICTS)}\n"
    )
    for name, counts in sorted(target["classes"].items()):
        if set(counts) - {"unsupported"}:
            numbers = " | ".join(str(counts.get(verdict) or "") for verdict in _VERDICTS)
            yield f"| {name} | {numbers} |\n"
    if not target["findings"]:
        yield "\nNo failure was seen.\n"
        return
    yield (
        "\nFailures, by the cause that was found for each. Each cause was confirmed by hand, as "
        f"`findings.toml` tells\n(`cmconf run --target {target['name']} --case ID` shows one "
        "case):\n\n| kind | cause | cases |\n|---|---|---|\n"
    )
    for number, one in enumerate(target["findings"]):
        cases = sorted({e["case"] for e in target["failures"] if e["finding"] == number})
        told = ", ".join(f"`{case}`" for case in cases[:SHOWN])
        more = f" and {len(cases) - SHOWN} more" if len(cases) > SHOWN else ""
        yield f"| {words.KINDS[one['kind']]} | {one['text']} | {told}{more} |\n"
