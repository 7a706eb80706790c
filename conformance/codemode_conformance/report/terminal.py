"""What a person reads while the suite runs and at its end."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_conformance.compare import SHOWN
from codemode_conformance.escape import for_terminal
from codemode_conformance.layers import describe
from codemode_conformance.outcomes import suite_version
from codemode_conformance.report.json_report import reproduction
from codemode_conformance.report.parts import parts, role_of
from codemode_conformance.report.words import (
    CONCLUSIONS,
    LEFT,
    MOST_LEFT,
    NO_CONCLUSION,
    conclusion,
    counted,
    evidence_level,
    left,
)
from codemode_conformance.summary import this_platform
from codemode_conformance.verdicts import LOOK_AT, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TextIO

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
_WORDS: Final = {Verdict.UNSUPPORTED: "not asked", Verdict.UNTESTABLE: "not to be seen"}
_NARROWEST: Final = 60
_WIDEST: Final = 100
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


def say_whole(report: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """The end of a run of all roles: a line for each, and the conclusion."""
    target = report["target"]
    lines = [
        f"{role_of(part):<8} {conclusion(part)}; {counted(part['totals'])}"
        for part in parts(report)
    ]
    lines += [f"{one['role']:<8} did not start: {one['reason']}" for one in report["not_started"]]
    lines.append(f"{target['name']} {target['version']} in all roles: {conclusion(report)}")
    print("", *(for_terminal(line) for line in lines), sep="\n", file=stream or sys.stdout)


class Terminal:
    """Prints progress, one line for each area, then failures, counts and the conclusion."""

    def __init__(self, summary: Summary, stream: TextIO | None = None) -> None:
        self._summary = summary
        self._stream = stream or sys.stdout
        self._area = ""
        columns = shutil.get_terminal_size((_WIDEST, 24)).columns
        self._width = max(_NARROWEST, min(columns, _WIDEST))

    def begin(self) -> None:
        """The head: what is run, against what, and where."""
        summary, place = self._summary, this_platform()
        specification = summary.specification
        target, identity = summary.target, summary.identity
        self._wrap(
            f"Code Mode Conformance {suite_version()}, specification {specification.revision}, "
            f"{len(specification.cases)} cases {specification.cases_digest[:16]}"
        )
        self._wrap(
            f"target {target.name} {target.version}, {summary.role} role, failures by "
            f"{'code' if identity.mapping == 'typed' else 'text'}, "
            f"on {place['system']} {place['machine']} with Python {place['python']}"
        )
        self._blank()

    def case(self, entry: CaseVerdict) -> None:
        """One mark for one case."""
        plan = self._summary.plan
        # Shuffled cases are of another area each time.
        area = f"seed {plan.seed}" if plan is not None and plan.seed else entry.case.area
        if area != self._area:
            if self._area:
                self._blank()
            self._print(f"{area}  ", end="")
            self._area = area
        self._print(MARKS[entry.verdict], end="", flush=True)

    def end(self, *, details: bool = False) -> None:
        """The failures, the counts and the conclusion; `details` shows every case at length."""
        if self._area:
            there = [verdict for verdict in MARKS if self._summary.totals[verdict]]
            legend = "  ".join(f"{MARKS[v]} {_WORDS.get(v, v.value)}" for v in there)
            self._blank()
            self._blank()
            self._print(legend)
            self._blank()
        for entry in self._summary.verdicts if details else self._summary.failures:
            self._entry(entry, details=details)
        self._beside()
        self._counts()
        self._reasons()
        self._conclusion()

    def _entry(self, entry: CaseVerdict, *, details: bool) -> None:
        self._wrap(f"{entry.verdict.upper()} {entry.case.id}: {entry.case.title}", 2)
        for layer in entry.layers:
            if details or layer.verdict in LOOK_AT:
                self._layer(layer)
        if details:
            self._evidence(entry)
        line = reproduction(self._summary, entry.case.id, _program())
        print(f"  run it    {line}\n", file=self._stream)  # escaped for the shell already

    def _layer(self, layer: LayerVerdict) -> None:
        requirement, finding = layer.requirement, layer.finding
        verdict = layer.verdict.value.replace("_", " ")
        advice = " (advice)" if layer.verdict is Verdict.FAIL and not layer.decides else ""
        self._wrap(
            f"  {layer.layer:<9} {verdict}{advice}: {requirement.id} "
            f"({requirement.klass}, {requirement.level}) {requirement.text}",
            12,
        )
        for name in ("reason", "expected", "observed"):
            if text := getattr(finding, name):
                self._wrap(f"            {name:<9} {text}", 22)

    def _evidence(self, entry: CaseVerdict) -> None:
        seen = entry.observation
        for run in (*seen.runs, *seen.then):
            self._wrap(f"  run       {describe(run)}; {run.elapsed_ms:.0f} ms", 12)
            for line in run.program[:2_000].rstrip("\n").split("\n"):
                self._print(f"    | {line}")
            for call in run.calls[:20]:
                self._print(f"    call {call.number} {call.op[:SHOWN]} at {call.at_ms:.0f} ms")
        if seen.runs:
            detail = f": {seen.after_detail}" if seen.after_detail else ""
            self._wrap(f"  after     {seen.after.value.replace('_', ' ')}{detail}", 12)
        if seen.level[0]:
            self._wrap(f"  processes seen at level {evidence_level(*seen.level)}", 12)
        for hit in seen.canaries:
            self._wrap(f"  secret    {hit.canary} ({hit.form}) in {hit.where}", 12)
        for note in seen.notes[:20]:
            self._wrap(f"  note      {note}", 12)

    def _beside(self) -> None:
        """What stands beside the verdicts: the baseline, powers, disputes, and flaky cases."""
        summary = self._summary
        told: dict[str, list[str]] = {
            "the baseline does not hold:": [
                f"{one.entry.named}: {one.problem}: {one.text}"
                for one in summary.comparison.complaints
            ],
            "undeclared powers:": [f"{p.name}: {p.text}" for p in summary.powers.undeclared],
            "false claims:": [f"{p.name}: {p.text}" for p in summary.powers.false_claims],
            "disputed, and not judged:": [
                f"{one.case}: {one.reason} ({one.link})" for one in summary.disputed
            ],
            f"{LEFT}:": [
                left({"command": command, "number": number})
                for command, number in summary.left.most_common(MOST_LEFT)
            ],
            "not the same in all runs:": [
                f"{entry.case.id}: {counted(Counter(map(str, entry.repeats)))}"
                for entry in summary.verdicts
                if len(set(entry.repeats)) > 1
            ],
        }
        for heading, lines in told.items():
            if lines:
                self._print(heading)
                for line in lines:
                    self._wrap(f"  {line}", 4)
                self._blank()

    def _counts(self) -> None:
        cells = "".join(f"{verdict.value:>13}" for verdict in _COLUMNS)
        self._print(f"{'class':<12}{cells}")
        for name, counts in sorted(self._summary.classes.items()):
            if not any(counts[verdict] for verdict in _COLUMNS):
                continue  # All of it was not reached.
            cells = "".join(f"{counts[verdict] or '-':>13}" for verdict in _COLUMNS)
            self._print(f"{name:<12}{cells}")
        self._print("(layers of cases: a case counts once for each thing that it judges)")

    def _reasons(self) -> None:
        reasons = self._summary.reasons
        if reasons:
            self._blank()
            self._print("not asked, since the target does not declare what the cases need:")
        for reason, number in reasons.most_common():
            self._wrap(f"{number:>5}  {reason}", 7)

    def _conclusion(self) -> None:
        summary = self._summary
        totals = summary.totals
        counts = ", ".join(f"{totals[verdict]} {verdict}" for verdict in MARKS if totals[verdict])
        word = CONCLUSIONS.get(summary.exit_code, NO_CONCLUSION)
        done, plan = len(summary.verdicts), summary.plan
        parts = [f"shard {plan.shard[0]} of {plan.shard[1]}"] if plan and plan.shard else []
        parts += [f"part of the suite: {done} of {summary.of} cases"] if done < summary.of else []
        parts += [summary.stopped] if summary.stopped else []
        part = f" ({'; '.join(parts)})" if parts else ""
        self._blank()
        self._wrap(
            f"{summary.target.name} {summary.target.version}: {word}{part}; "
            f"{counts or 'nothing was judged'} in {summary.seconds:.1f} s",
            2,
        )
        if done == summary.of and (left := len(summary.not_judged)):
            roles = f"only the {summary.role} role was run"
            self._wrap(
                f"of {len(summary.asked)} requirements of its classes, {left} were not judged: no "
                f"case yet, or not asked of it; {roles} (the JSON report lists them)"
            )

    def _wrap(self, text: str, indent: int = 0) -> None:
        # Escaped first: an escape must not be broken, nor a break be escaped.
        safe = for_terminal(text, backslash=False)
        lines = textwrap.wrap(
            safe,
            self._width,
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
            break_long_words=False,
            replace_whitespace=False,
            drop_whitespace=True,
        )
        print("\n".join(lines), file=self._stream)

    def _print(self, text: str, end: str = "\n", *, flush: bool = False) -> None:
        # A line end in a target's text would begin a line that looks like one of ours.
        print(for_terminal(text, backslash=False), end=end, flush=flush, file=self._stream)

    def _blank(self) -> None:
        print(file=self._stream)
