"""How much of the code under test the corpus alone reaches, in lines and branches."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codemode_fuzz.replay import corpus, files, replay
from codemode_fuzz.targets import INSTRUMENTED, load

LEAST: Final = 95.0
"""Per cent of the branches of a module that the corpus must reach where that is asked."""
ASKED: Final = {
    "frames": ("lines", "strict_json", "frames"),
    "parent": (
        *("session", "calls", "batch", "ledger", "claims", "protocol", "records", "history"),
    ),
    "policy": ("policy",),
    "values": ("values",),
    "admission": ("statements", "tokens", "filters"),
}


@dataclass(frozen=True, slots=True)
class Covered:
    """What one target's corpus reaches of one module; `inputs` is the size of that corpus."""

    target: str
    module: str
    inputs: int
    lines: float
    branches: float


def covered(name: str) -> list[Covered]:
    """Replay the corpus of a target. ImportError where the package `coverage` is not installed.

    To be called before anything of the code under test is imported, so once in a process.
    """
    from coverage import Coverage  # noqa: PLC0415  it is there where tests are run

    packages = {module.partition(".")[0] for module in INSTRUMENTED[name]}
    measured = Coverage(
        branch=True, data_file=None, config_file=False, source_pkgs=sorted(packages)
    )
    measured.exclude("if TYPE_CHECKING:")
    with measured.collect():
        target = load(name)
        problems = list(replay(target.check, [corpus(name)]))
    if problems:
        raise ValueError(f"the corpus of {name} has findings: {problems[0]}")
    return _modules(name, _report(measured))


def _report(measured: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        measured.json_report(outfile=str(path))
        report: dict[str, Any] = json.loads(path.read_bytes())
    return report


def _modules(name: str, report: dict[str, Any]) -> list[Covered]:
    inputs = len(files([corpus(name)]))
    wanted = {f"{module.replace('.', '/')}.py": module for module in INSTRUMENTED[name]}
    found = []
    for path, entry in report["files"].items():
        module = next((wanted[end] for end in wanted if path.endswith(end)), None)
        if module is not None:
            summary = entry["summary"]
            lines = _share(summary["covered_lines"], summary["num_statements"])
            branches = _share(summary["covered_branches"], summary["num_branches"])
            found.append(Covered(name, module, inputs, lines, branches))
    return sorted(found, key=lambda one: one.module)


def _share(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0
