"""What a person reads while the suite runs and at its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_conformance.compare import SHOWN
from codemode_conformance.escape import for_terminal
from codemode_conformance.layers import describe
from codemode_conformance.report.json_report import reproduction
from codemode_conformance.summary import suite_version, this_platform
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from typing import TextIO

    from codemode_conformance.summary import Summary
    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

MARKS: Final = {
    Verdict.PASS: ".",
    Verdict.FAIL: "F",
    Verdict.ERROR: "E",
    Verdict.UNSUPPORTED: "-",
    Verdict.UNTESTABLE: "?",
    Verdict.XFAIL: "x",
    Verdict.XPASS: "X",
    Verdict.FLAKY: "~",
}
_COLUMNS: Final = (
    Verdict.PASS,
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.UNTESTABLE,
    Verdict.UNSUPPORTED,
)


def _program() -> str:
    """How this command is called from here: by its path where it lies below, as under tox."""
    called = Path(sys.argv[0])
    if called.name == "cmconf" and called.is_relative_to(Path.cwd()):
        return str(called.relative_to(Path.cwd()))
    return "cmconf"


class Terminal:
    """Prints progress, one line for each area, then failures, counts and the conclusion."""

    def __init__(self, summary: Summary, stream: TextIO | None = None) -> None:
        self._summary = summary
        self._stream = stream or sys.stdout
        self._area = ""

    def begin(self) -> None:
        """The head: what is run, against what, and where."""
        summary, place = self._summary, this_platform()
        specification = summary.specification
        target, identity = summary.target, summary.identity
        self._print(
            f"Code Mode Conformance {suite_version()}, specification {specification.revision}, "
            f"{len(specification.cases)} cases {specification.cases_digest[:16]}"
        )
        self._print(
            f"target {target.name} {target.version}, engine role, {identity.mapping} failures, "
            f"on {place['system']} {place['machine']} with Python {place['python']}"
        )
        self._print("")

    def case(self, entry: CaseVerdict) -> None:
        """One mark for one case."""
        if entry.case.area != self._area:
            if self._area:
                self._blank()
            self._print(f"{entry.case.area}  ", end="")
            self._area = entry.case.area
        self._print(MARKS[entry.verdict], end="", flush=True)

    def end(self, *, details: bool = False) -> None:
        """The failures, the counts and the conclusion; `details` shows every case at length."""
        if self._area:
            self._blank()
            self._blank()
        for entry in self._summary.verdicts if details else self._summary.failures:
            self._entry(entry, details=details)
        self._counts()
        self._reasons()
        self._conclusion()

    def _entry(self, entry: CaseVerdict, *, details: bool) -> None:
        self._print(f"{entry.verdict.upper()} {entry.case.id}: {entry.case.title}")
        for layer in entry.layers:
            if details or layer.verdict in (Verdict.FAIL, Verdict.ERROR):
                self._layer(layer)
        if details:
            self._evidence(entry)
        line = reproduction(self._summary, entry.case.id, _program())
        print(f"  run it    {line}\n", file=self._stream)  # escaped for the shell already

    def _layer(self, layer: LayerVerdict) -> None:
        requirement, finding = layer.requirement, layer.finding
        verdict = layer.verdict.value.replace("_", " ")
        advice = " (advice)" if layer.verdict is Verdict.FAIL and not layer.decides else ""
        self._print(
            f"  {layer.layer:<9} {verdict}{advice}: {requirement.id} "
            f"({requirement.klass}, {requirement.level}) {requirement.text}"
        )
        for name in ("reason", "expected", "observed"):
            if text := getattr(finding, name):
                self._print(f"            {name:<9} {text}")

    def _evidence(self, entry: CaseVerdict) -> None:
        seen = entry.observation
        for run in (*seen.runs, *seen.then):
            self._print(f"  run       {describe(run)}, after {run.elapsed_ms:.0f} ms")
            for line in run.program[:2_000].split("\n"):
                self._print(f"    | {line}")
            for call in run.calls[:20]:
                self._print(f"    call {call.number} {call.op[:SHOWN]} at {call.at_ms:.0f} ms")
        if seen.runs:
            detail = f": {seen.after_detail}" if seen.after_detail else ""
            self._print(f"  after     {seen.after.value.replace('_', ' ')}{detail}")
        for hit in seen.canaries:
            self._print(f"  secret    {hit.canary} ({hit.form}) in {hit.where}")
        for note in seen.notes[:20]:
            self._print(f"  note      {note}")

    def _counts(self) -> None:
        heads = [f"{verdict.value:>11}" for verdict in _COLUMNS]
        self._print(f"{'class':<12}" + "".join(heads) + "   (a case counts once in each layer)")
        for name, counts in sorted(self._summary.classes.items()):
            cells = [f"{counts[verdict] or '-':>11}" for verdict in _COLUMNS]
            self._print(f"{name:<12}" + "".join(cells))

    def _reasons(self) -> None:
        reasons = self._summary.reasons
        if reasons:
            listed = ", ".join(f"{reason} ({number})" for reason, number in reasons.most_common())
            self._blank()
            self._print(f"not asked: {listed}")

    def _conclusion(self) -> None:
        summary = self._summary
        totals = summary.totals
        counts = ", ".join(f"{totals[verdict]} {verdict}" for verdict in MARKS if totals[verdict])
        words = {0: "conforming", 1: "not conforming", 130: "interrupted"}
        word = words.get(summary.exit_code, "no verdict on the whole")
        partial = len(summary.verdicts) < summary.of
        part = (
            f" (part of the suite: {len(summary.verdicts)} of {summary.of} cases)"
            if partial
            else ""
        )
        self._blank()
        self._print(
            f"{summary.target.name} {summary.target.version}: {word}{part}; "
            f"{counts or 'nothing was judged'} in {summary.seconds:.1f} s"
        )

    def _print(self, text: str, end: str = "\n", *, flush: bool = False) -> None:
        # A line end in a target's text would begin a line that looks like one of ours.
        print(for_terminal(text), end=end, flush=flush, file=self._stream)

    def _blank(self) -> None:
        print(file=self._stream)
