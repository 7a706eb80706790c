"""A baseline holds for exactly the failures that it names; anything else is red."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import codemode_spec
import pytest
from codemode_conformance import baseline, layers
from codemode_conformance.baseline import Baseline, Comparison, Entry
from codemode_conformance.cli import parser
from codemode_conformance.commands import baselining
from codemode_conformance.failure_kinds import kind_of, kinds
from codemode_conformance.failures import UsageError
from codemode_conformance.identity import Identity
from codemode_conformance.observation import Observation
from codemode_conformance.quarantine import FILE, Dispute, disputes, set_apart
from codemode_conformance.repeats import joined
from codemode_conformance.summary import Summary
from codemode_conformance.verdicts import PASSED, CaseVerdict, Finding, LayerVerdict, Verdict
from codemode_spec import LAYERS

SPECIFICATION = codemode_spec.shipped()
TODAY = date(2026, 5, 1)
LATER = date(2026, 6, 1)
LINK = "https://example.org/issues/1"
CASE = "tim.sync-loop"
LATE = Finding(Verdict.FAIL, "late", "an outcome within 1 ms", "9 ms")
OTHER = Finding(Verdict.FAIL, "another reason than the one named", "category time", "memory")


def verdict(name: str = CASE, **findings: Finding) -> CaseVerdict:
    """A verdict of the case with these findings, else passed."""
    case = SPECIFICATION.cases[name]
    layers = tuple(
        LayerVerdict(
            layer, SPECIFICATION.requirements[case.requirements[layer]], findings.get(layer, PASSED)
        )
        for layer in LAYERS
        if layer in case.requirements
    )
    return CaseVerdict(case, layers, Observation(case.id))


def entry(reason: str = "late", layer: str | None = "outcome", **parts: Any) -> Entry:
    """An entry about the case."""
    made = {"case": CASE, "reason": reason, "issue": LINK, "expires": LATER, "layer": layer}
    return Entry(**{**made, **parts})


def held(seen: CaseVerdict, *entries: Entry) -> tuple[Summary, CaseVerdict]:
    """A run of this one verdict against these entries."""
    identity = Identity("t", "1", ("javascript",), (), {}, frozenset({"contract"}), "typed")
    file = Baseline(Path("b.toml"), "t", "engine", entries)
    comparison = Comparison(file, TODAY)
    comparison.finish(SPECIFICATION.cases)
    target: Any = None
    summary = Summary(
        SPECIFICATION, target, identity, {}, "", of=1, comparison=comparison, disputed=()
    )
    return summary, summary.add(seen)


def problems(summary: Summary) -> list[str]:
    """What is complained of."""
    return [complaint.problem for complaint in summary.comparison.complaints]


def test_a_known_failure_is_xfail_and_conforming() -> None:
    """Its issue and its expiry stand in the finding, beside what was observed."""
    summary, counted = held(verdict(outcome=LATE), entry())
    layer = counted.layers[0]
    assert (counted.verdict, problems(summary), summary.exit_code) == (Verdict.XFAIL, [], 0)
    assert layer.finding.reason == f"late; known: {LINK}, until 2026-06-01"
    assert (layer.finding.expected, layer.finding.observed) == (LATE.expected, LATE.observed)


def test_a_failure_that_is_not_known_is_red() -> None:
    """The entry of another layer does not cover it."""
    summary, counted = held(verdict(outcome=LATE, category=OTHER), entry())
    assert [layer.verdict for layer in counted.layers[:2]] == [Verdict.XFAIL, Verdict.FAIL]
    assert summary.exit_code == 1


def test_another_kind_of_failure_is_red() -> None:
    """It fails differently: still FAIL, and the entry is complained of."""
    summary, counted = held(verdict(outcome=LATE), entry("no_outcome"))
    assert (counted.verdict, problems(summary), summary.exit_code) == (Verdict.FAIL, ["differs"], 1)
    assert "expected no_outcome, found late" in summary.comparison.complaints[0].text


def test_a_known_failure_that_passes_is_exit_4() -> None:
    """xpass: the entry has to go."""
    summary, counted = held(verdict(), entry())
    assert (counted.verdict, problems(summary), summary.exit_code) == (Verdict.XPASS, ["passes"], 4)


def test_an_entry_for_the_whole_case_covers_each_failed_layer() -> None:
    """By its kind; if the case passes it is xpass in the layer of that kind."""
    summary, counted = held(verdict(outcome=LATE), entry(layer=None))
    assert (counted.verdict, summary.exit_code) == (Verdict.XFAIL, 0)
    summary, counted = held(verdict(), entry(layer=None))
    assert (counted.verdict, summary.exit_code) == (Verdict.XPASS, 4)
    summary, counted = held(verdict(outcome=LATE, category=OTHER), entry(layer=None))
    assert (problems(summary), summary.exit_code) == (["differs"], 1)


def test_an_expired_entry_covers_nothing() -> None:
    """Neither a failure nor a pass; the last day still counts."""
    old = entry(expires=date(2026, 4, 30))
    summary, counted = held(verdict(outcome=LATE), old)
    assert (counted.verdict, problems(summary), summary.exit_code) == (Verdict.FAIL, ["expired"], 1)
    summary, counted = held(verdict(), old)
    assert (counted.verdict, problems(summary), summary.exit_code) == (Verdict.PASS, ["expired"], 4)
    summary, counted = held(verdict(outcome=LATE), entry(expires=TODAY))
    assert (counted.verdict, summary.exit_code) == (Verdict.XFAIL, 0)


@pytest.mark.parametrize(
    ("known", "seen"),
    [
        (entry(case="tim.no-such-case"), verdict()),
        (entry("leak", "evidence"), verdict()),
        (entry(), verdict(outcome=Finding(Verdict.UNSUPPORTED, "needs that"))),
        (entry("wrong_category", "category"), verdict(category=Finding(Verdict.UNTESTABLE, "?"))),
    ],
)
def test_an_entry_about_nothing_that_was_judged_is_stale(known: Entry, seen: CaseVerdict) -> None:
    """No such case, no such layer, or not judged on this target: exit 4."""
    summary, _ = held(verdict("ret.value.zero"), known)
    summary.verdicts.clear()
    summary.comparison.complaints.clear()
    summary.comparison.finish(SPECIFICATION.cases)
    summary.add(seen)
    summary.add(verdict("ret.value.zero"))
    assert (problems(summary), summary.exit_code) == (["stale"], 4)


def test_flaky_and_error_are_never_covered() -> None:
    """A baseline is no place for either."""
    flaky = Finding(Verdict.FLAKY, "failed in one of two runs: late")
    summary, counted = held(verdict(outcome=flaky), entry())
    assert (counted.verdict, problems(summary), summary.exit_code) == (Verdict.FLAKY, [], 1)
    summary, counted = held(verdict(outcome=Finding(Verdict.ERROR, "adapter: broke")), entry())
    assert (counted.verdict, problems(summary), summary.exit_code) == (Verdict.ERROR, [], 5)


def test_a_case_that_was_not_run_is_not_complained_of() -> None:
    """A part of the suite says nothing of the rest."""
    summary, _ = held(verdict("ret.value.zero"), entry())
    assert (problems(summary), summary.exit_code) == ([], 0)


def test_an_update_has_exactly_the_failures_and_keeps_what_still_holds() -> None:
    """New ones need an issue; kept ones keep theirs and their date."""
    seen = [verdict(outcome=LATE), verdict("ret.value.zero")]
    old = Baseline(Path("b.toml"), "t", "engine", (entry(), entry(case="ret.value.zero")))
    assert baseline.update(old, seen, None, TODAY).entries == (entry(),)
    seen = [verdict(outcome=LATE, category=OTHER)]
    with pytest.raises(UsageError, match=r"need --issue LINK: tim\.sync-loop \(category\)$"):
        baseline.update(old, seen, None, TODAY)
    new = baseline.update(old, seen, "https://example.org/2", TODAY).entries
    assert [(e.layer, e.reason, e.issue, str(e.expires)) for e in new] == [
        ("outcome", "late", LINK, "2026-06-01"),
        ("category", "wrong_category", "https://example.org/2", "2026-07-30"),
    ]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Whatever stands in it."""
    hard = entry(issue='https://example.org/a"\\b'.replace('"', "%22"), layer=None)
    path = tmp_path / "b.toml"
    path.write_text(baseline.text(Baseline(path, "t", "engine", (entry(), hard))), "utf-8")
    assert baseline.load(path, "t", "engine").entries == (entry(), hard)


HEAD = 'format = 1\ntarget = "t"\nrole = "engine"\n'
GOOD = f'[[expected]]\ncase = "{CASE}"\nreason = "late"\nissue = "{LINK}"\nexpires = 2026-06-01\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("format = ", "no TOML"),
        ("format = " + "9" * 5_000, "no TOML"),
        (HEAD.replace('"t"', '"u"'), "target: it is of 'u', this run is of 't'"),
        (HEAD.replace("engine", "server"), "role: it is of 'server', this run is of 'engine'"),
        (HEAD + GOOD + GOOD, "tim.sync-loop stands 2 times"),
        (HEAD + GOOD.replace('"late"', '"bad_luck"'), "no reason 'bad_luck'; known: no_outcome, "),
        (HEAD + GOOD + 'layer = "value"\n', "late is a failure of the layer outcome"),
        (HEAD + GOOD.replace(LINK, "soon"), "/expected/0/issue"),
        (HEAD + GOOD.replace("expires = 2026-06-01\n", ""), "expires"),
        (HEAD + GOOD.replace("2026-06-01", '"2026-02-30"'), "day is out of range"),
        (HEAD + GOOD + "why = 1\n", "why"),
    ],
)
def test_a_faulty_file_is_one_line(tmp_path: Path, text: str, reason: str) -> None:
    """It names the file and what is wrong."""
    path = tmp_path / "b.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        baseline.load(path, "t", "engine")
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_failure_has_a_kind() -> None:
    """The last of each layer is for all that no other names."""
    for layer in LAYERS:
        last = [kind for kind in kinds().values() if kind.layer == layer][-1]
        assert last.reason == "", layer
    for reason in layers._ENDS.values():
        ended = verdict(outcome=Finding(Verdict.FAIL, reason))
        assert kind_of(ended.layers[0]) != "wrong_end", reason
    page = (Path(__file__).parents[2] / "docs/baseline.md").read_text("utf-8")
    assert [code for code in kinds() if f"`{code}`" not in page] == []
    assert kind_of(verdict(outcome=LATE).layers[0]) == "late"
    assert kind_of(verdict(outcome=Finding(Verdict.FAIL)).layers[0]) == "wrong_end"
    assert kind_of(verdict(category=OTHER).layers[1]) == "wrong_category"


def test_a_disputed_case_is_shown_and_not_judged() -> None:
    """Neither its PASS nor its FAIL counts; what was observed stays."""
    dispute = Dispute(CASE, "two readings", LINK, "2026-01-01", "outcome")
    for finding in (PASSED, LATE):
        seen = set_apart(verdict(outcome=finding), [dispute])
        assert seen.layers[0].verdict is Verdict.UNTESTABLE
        assert seen.layers[0].finding.reason.startswith("disputed: two readings (https://")
        assert seen.layers[0].finding.observed == finding.observed
        assert seen.layers[1].verdict is Verdict.PASS
    whole = set_apart(verdict(), [replace(dispute, layer=None)])
    assert whole.verdict is Verdict.UNTESTABLE
    assert set_apart(verdict("ret.value.zero"), [dispute]).verdict is Verdict.PASS


def test_the_list_of_disputes_is_about_cases_of_the_suite() -> None:
    """Each has a link and a date, and a layer that its case judges."""
    assert FILE.endswith(".json")
    for dispute in disputes():
        case = SPECIFICATION.cases[dispute.case]
        assert dispute.layer in (None, *case.requirements)
        assert dispute.link.startswith("https://")
        date.fromisoformat(dispute.since)


def test_what_differs_between_runs_is_flaky_and_counted() -> None:
    """The finding says how often, with what was observed."""
    runs = [verdict(), verdict(outcome=LATE), verdict()]
    seen = joined(runs)
    assert seen.verdict is Verdict.FLAKY
    assert seen.layers[0].finding.reason == "failed in 1 of 3 runs: late"
    assert seen.layers[0].finding.observed == "9 ms"
    assert seen.repeats == (Verdict.PASS, Verdict.FAIL, Verdict.PASS)
    assert joined([verdict(outcome=LATE)] * 3).verdict is Verdict.FAIL
    assert joined([verdict()] * 3).verdict is Verdict.PASS
    broken = verdict(outcome=Finding(Verdict.ERROR, "adapter: broke"))
    assert joined([verdict(), broken, verdict(outcome=LATE)]).verdict is Verdict.ERROR


def test_layers_that_one_run_did_not_reach_are_those_of_the_others() -> None:
    """A later layer is judged by the runs that reached it."""
    lost = verdict(outcome=LATE, category=Finding(Verdict.NOT_REACHED))
    seen = joined([lost, verdict(), verdict(category=OTHER)])
    assert [layer.verdict for layer in seen.layers[:2]] == [Verdict.FLAKY, Verdict.FLAKY]
    assert joined([lost, verdict()]).layers[1].verdict is Verdict.PASS


def arguments(*words: str) -> Any:
    """What `cmconf run` was asked for."""
    return parser("run").parse_args(["run", *words])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--update-baseline"], "--update-baseline needs --baseline FILE"),
        (["--update-baseline", "--baseline", "b", "--area", "TIM"], "--area makes it a part"),
        (["--update-baseline", "--baseline", "b", "--shard", "1/2"], "--shard makes it a part"),
        (["--update-baseline", "--baseline", "b", "--fail-fast"], "--fail-fast makes it a part"),
        (["--update-baseline", "--baseline", "b", "--issue", "soon"], "it is no link"),
        (["--update-baseline", "--baseline", "no/such/b.toml"], "there is no folder no/such"),
        (["--issue", LINK], "--issue goes with --update-baseline only"),
        (["--baseline", "no-such.toml"], "no-such.toml: No such file or directory"),
    ],
)
def test_an_update_of_a_part_and_other_misuse_is_refused(words: list[str], reason: str) -> None:
    """Before anything is run."""
    with pytest.raises(UsageError) as caught:
        baselining.comparison(arguments(*words), "t", "engine")
    assert reason in str(caught.value)


def test_an_update_writes_the_file_and_the_run_is_held_against_it(tmp_path: Path) -> None:
    """Afterwards the same run conforms; errors and flaky cases leave the file as it was."""
    path = tmp_path / "b.toml"
    raw = [verdict(outcome=LATE), verdict("ret.value.zero")]
    summary, _ = held(raw[0])
    summary.comparison = Comparison(Baseline(path, "t", "engine", ()), TODAY)
    summary.add(raw[1])
    summary.of = 2
    assert summary.exit_code == 1
    said = baselining.update(summary, raw, LINK)
    assert said == f"{path}: 1 known failures, 0 entries replaced"
    assert [e.named for e in baseline.load(path, "t", "engine").entries] == [f"{CASE} (outcome)"]
    assert (summary.exit_code, summary.totals) == (0, {Verdict.XFAIL: 1, Verdict.PASS: 1})
    written = path.read_bytes()
    flaky = verdict(outcome=Finding(Verdict.FLAKY, "failed in one of two runs"))
    assert "stays as it was: 1 cases are errors" in baselining.update(summary, [flaky], LINK)
    summary.of = 3
    assert "stays as it was: not every case was run" in baselining.update(summary, raw, LINK)
    assert path.read_bytes() == written
