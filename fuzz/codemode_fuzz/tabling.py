"""The table of what was measured, as the documentation has it: made by a command, never edited.

What a run printed at its end is kept in `measured.json`; the rest is counted and measured anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_fuzz.covering import ASKED
from codemode_fuzz.replay import corpus, files
from codemode_fuzz.targets import FAST, INSTRUMENTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MEASURED: Final = Path(__file__).parents[1] / "measured.json"
PAGE: Final = Path(__file__).parents[2] / "docs" / "fuzzing.md"
_HEAD: Final = (
    "| target | inputs kept | executions | seconds | a second"
    " | branches that the corpus alone reaches |"
)
_RULE: Final = "|---|---:|---:|---:|---:|---|"
_NOT_MEASURED: Final = "not measured in another process"
# The last lines of libFuzzer, and the line of a walk.
_RUN: Final = re.compile(
    r"^Done (\d+) runs in (\d+) second|^\w+: (\d+) inputs in ([\d.]+) s", re.MULTILINE
)
_COVERED: Final = re.compile(r"^\w+ +\w+\.(\w+) .* ([\d.]+) % branches", re.MULTILINE)


def runs(texts: Iterable[str]) -> dict[str, int]:
    """What runs that ended in these words come to. ValueError for one that did not end."""
    executions, seconds = 0, 0.0
    for text in texts:
        found = _RUN.search(text)
        if found is None:
            raise ValueError("this is no output of a run that has ended")
        executions += int(found[1] or found[3])
        seconds += float(found[2] or found[4])
    return {"executions": executions, "seconds": round(seconds)}


def keep(name: str, logs: Sequence[Path]) -> None:
    """Keep what the runs of a target came to, in place of what was kept of it."""
    found = {**_measured(), name: runs(log.read_text(errors="replace") for log in logs)}
    ordered = {target: found[target] for target in INSTRUMENTED if target in found}
    MEASURED.write_text(json.dumps(ordered, indent=2) + "\n")


def table(branches: dict[str, dict[str, float]]) -> list[str]:
    """The lines of the table; `branches` are those of the modules of each fast target."""
    return [_HEAD, _RULE, *(_row(name, branches.get(name)) for name in INSTRUMENTED)]


def branches_of(name: str) -> dict[str, float]:
    """Measure a target, in a process of its own. ValueError where that is not possible."""
    command = [sys.executable, "-m", "codemode_fuzz", "coverage", name]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if not ended.stdout:
        raise ValueError(ended.stderr.strip())
    return told(name, ended.stdout)


def told(name: str, output: str) -> dict[str, float]:
    """The branches of the modules that are asked of a target, or of all, as `coverage` told."""
    found = {module: float(share) for module, share in _COVERED.findall(output)}
    return {module: found[module] for module in ASKED.get(name, found)}


def measured() -> list[str]:
    """The table, with every fast target measured now."""
    return table({name: branches_of(name) for name in FAST})


def on_page(text: str) -> list[str]:
    """The lines of the table on the page."""
    lines = text.splitlines()
    start = lines.index(_HEAD)
    after = (at for at in range(start, len(lines)) if not lines[at].startswith("|"))
    return lines[start : next(after, len(lines))]


def write(lines: Sequence[str]) -> None:
    """Put the table on the page in place of the one that is there."""
    text = PAGE.read_text(encoding="utf-8")
    before = "\n".join(on_page(text))
    PAGE.write_text(text.replace(before, "\n".join(lines)), encoding="utf-8")


def _measured() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(MEASURED.read_bytes())
    return kept


def _row(name: str, branches: dict[str, float] | None) -> str:
    run, kept = _measured()[name], len(files([corpus(name)]))
    rate = run["executions"] / max(run["seconds"], 1)
    reached = _NOT_MEASURED if branches is None else _reached(branches)
    cells = (
        f"`{name}`",
        kept,
        f"{run['executions']:,}",
        f"{run['seconds']:,}",
        f"{rate:,.0f}",
        reached,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _reached(branches: dict[str, float]) -> str:
    """The modules by their share, the largest first: whole per cents, never more than it is."""
    order = sorted(branches, key=lambda module: (-int(branches[module]), module))
    parts = []
    for share, modules in groupby(order, key=lambda module: int(branches[module])):
        parts.append(", ".join(f"`{module}`" for module in modules) + f" {share} %")
    return ", ".join(parts)
