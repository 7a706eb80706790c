"""The trace from tables to requirements to cases has no gap, and each planted gap is named."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import codemode_spec
import pytest
from codemode_spec import traceability
from codemode_spec.coverage import sides_of
from codemode_spec.documents import parse_yaml
from codemode_spec.pending import recorded_count

if TYPE_CHECKING:
    from collections.abc import Callable

SHIPPED = Path(str(files("codemode_spec")))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the shipped data without frozen revisions, to plant a gap in."""
    root = tmp_path / "spec"
    left_out = shutil.ignore_patterns("*.py", "__pycache__", "*-draft.*.json")
    shutil.copytree(SHIPPED, root, ignore=left_out)
    index = {"format": 1, "revisions": []}
    (root / "revisions/index.json").write_text(json.dumps(index), encoding="utf-8")
    return root


def edit(path: Path, old: str, new: str) -> None:
    """Replace the one place where a file says this."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (old, text.count(old))
    path.write_text(text.replace(old, new), encoding="utf-8")


def plant(root: Path, fields: str = "", level: str = "MUST", name: str = "CM-SRC-900") -> None:
    """Add a requirement that no case judges."""
    with (root / "requirements/src.yaml").open("a", encoding="utf-8") as file:
        file.write(
            f"- {{id: {name}, class: budgets, level: {level}, text: It is., why: So.,"
            f" roles: [engine], origin: [design], since: 1-draft.1{fields}}}\n"
        )


def change_pending(root: Path, change: Callable[[dict[str, Any]], object], more: int = 0) -> None:
    """Change pending.yaml, and claim that it has so many more entries."""
    path = root / "pending.yaml"
    data = parse_yaml(path.read_text(encoding="utf-8"), "pending.yaml")
    change(data)
    data["at_most"] += more
    path.write_text(json.dumps(data), encoding="utf-8")


def list_pending(root: Path, group: str, entry: str) -> None:
    """Add an entry to a group of pending.yaml, edges and values as `row/side`, and count it."""

    def add(data: dict[str, Any]) -> None:
        name, _, value = entry.partition("/")
        if value:
            data.setdefault(group, {}).setdefault(name, []).append(value)
        else:
            data.setdefault(group, []).append(entry)

    change_pending(root, add, 1)


def gaps(root: Path) -> list[str]:
    """What the check prints for this specification."""
    return [str(gap) for gap in traceability.gaps(codemode_spec.load(root))]


def faults(root: Path) -> list[str]:
    """Why this specification does not load."""
    with pytest.raises(codemode_spec.SpecificationError) as caught:
        codemode_spec.load(root)
    return [str(problem) for problem in caught.value.problems]


def test_the_shipped_specification_is_traced() -> None:
    """Every requirement, edge, code and value has a case, or is listed as pending."""
    assert traceability.gaps(codemode_spec.load()) == []


def test_every_area_has_requirements() -> None:
    """Nothing that the source systems promise is left unsaid."""
    schema = json.loads((SHIPPED / "schema/requirement.schema.json").read_text(encoding="utf-8"))
    areas = {item.area for item in codemode_spec.load().requirements.values()}
    assert areas == set(schema["properties"]["area"]["enum"])
    assert len(areas) == 22


@pytest.mark.parametrize("level", ["MUST", "SHOULD"])
def test_a_requirement_without_a_case_is_a_gap(copy: Path, level: str) -> None:
    """It needs a case or an entry."""
    plant(copy, level=level)
    assert gaps(copy) == [
        (
            "requirements/src.yaml: /CM-SRC-900: no case judges it; write one, or list it under "
            "`requirements` in pending.yaml"
        )
    ]
    list_pending(copy, "requirements", "CM-SRC-900")
    assert gaps(copy) == []


@pytest.mark.parametrize(
    ("level", "fields"), [("MAY", ""), ("MUST", ", untestable: {reason: internal, text: Hidden.}")]
)
def test_a_requirement_that_needs_no_case_is_no_gap(copy: Path, level: str, fields: str) -> None:
    """What may be, and what nothing can observe, needs no case."""
    plant(copy, fields, level)
    assert gaps(copy) == []


def test_a_requirement_is_not_both_untestable_and_judged(copy: Path) -> None:
    """A case proves that it can be observed."""
    untestable = "  untestable: {reason: internal, text: Hidden.}\n"
    edit(copy / "requirements/src.yaml", "- id: CM-SRC-005\n", f"- id: CM-SRC-005\n{untestable}")
    assert gaps(copy) == [
        "requirements/src.yaml: /CM-SRC-005: a case judges it; remove `untestable`"
    ]


def test_a_case_without_a_requirement_is_told_by_its_id(copy: Path) -> None:
    """A case that judges nothing proves nothing."""
    old = "  requirements: {outcome: CM-SRC-011, value: CM-SRC-011}\n"
    text = (copy / "cases/src.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 2
    (copy / "cases/src.yaml").write_text(text.replace(old, "", 1), encoding="utf-8")
    assert (
        "cases/src.yaml: /src.byte-order-mark: it names no requirement; say in `requirements` "
        "which one each layer judges"
    ) in faults(copy)


def add_to(path: Path, key: str, like: str, name: str) -> None:
    """Add an entry to a table: a copy of another one with a new name."""
    data = json.loads(path.read_text(encoding="utf-8"))
    field = "code" if key == "errors" else "name"
    known = next(entry for entry in data[key] if entry[field] == like)
    data[key].append({**known, field: name})
    path.write_text(json.dumps(data), encoding="utf-8")


IN_TIME = "  edges: {wall_time_ms: [below]}\n  set: {wall_time_ms: 5000}\n"
UNSPOKEN = "no requirement speaks of it; name it in the `{0}` of one"
UNEXPECTED = "no case expects it; write one, or list it under `codes` in pending.yaml"
UNREACHED = (
    "no case puts a target {0} its limit; write one, or list it under `rows` in pending.yaml"
)


def test_an_error_code_without_a_requirement_and_without_a_case_is_a_gap(copy: Path) -> None:
    """A code that nobody defines, or that was never seen, is used as each one likes."""
    add_to(copy / "errors.json", "errors", "source_empty", "made_up")
    unspoken = f"errors.json: /errors/made_up: {UNSPOKEN.format('codes')}"
    unexpected = f"errors.json: /errors/made_up: {UNEXPECTED}"
    assert gaps(copy) == [unspoken, unexpected]
    list_pending(copy, "codes", "made_up")
    assert gaps(copy) == [unspoken]
    plant(copy, ", codes: [made_up, source_empty]", "MAY")
    assert gaps(copy) == []


def test_a_code_that_never_comes_is_covered_by_its_requirement(copy: Path) -> None:
    """No case can expect a code that no end may bring about."""
    add_to(copy / "errors.json", "errors", "source_empty", "made_up")
    edit(copy / "requirements/src.yaml", "  codes: [source_empty]\n", "  codes: [made_up]\n")
    plant(copy, ", codes: [source_empty]", "MAY")
    assert gaps(copy) == []


def test_a_policy_row_without_a_requirement_and_without_cases_is_a_gap(copy: Path) -> None:
    """A limit that nobody states, or whose edges nobody tries, is kept as each one likes."""
    add_to(copy / "policy.json", "rows", "host_calls", "made_up")
    unspoken = f"policy.json: /rows/made_up: {UNSPOKEN.format('rows')}"
    unreached = [
        f"policy.json: /rows/made_up: {UNREACHED.format(side)}" for side in ("below", "at", "above")
    ]
    assert gaps(copy) == [unspoken, *unreached]
    for side in ("below", "at", "above"):
        list_pending(copy, "rows", f"made_up/{side}")
    assert gaps(copy) == [unspoken]
    plant(copy, ", rows: [made_up]", "MAY")
    assert gaps(copy) == []


def test_a_case_at_an_edge_covers_just_that_side(copy: Path) -> None:
    """Each side finds other faults."""
    add_to(copy / "policy.json", "rows", "host_calls", "made_up")
    plant(copy, ", rows: [made_up]")
    edit(
        copy / "cases/src.yaml",
        "{outcome: CM-SRC-011, value: CM-SRC-011}\n  roles: [engine, server]\n  raw: true\n",
        "{outcome: CM-SRC-900, value: CM-SRC-011}\n  roles: [engine, server]\n  raw: true\n"
        "  effective: [made_up]\n  edges: {made_up: [at]}\n",
    )
    assert gaps(copy) == [
        f"policy.json: /rows/made_up: {UNREACHED.format(side)}" for side in ("below", "above")
    ]


def test_a_value_of_an_alternative_without_a_case_is_a_gap(copy: Path) -> None:
    """An alternative that was never tried is not known to be legal."""
    old = '"reject": "a call above the limit is refused at once",'
    edit(copy / "alternatives.json", old, old + ' "drop": "it is lost",')
    assert gaps(copy) == [
        (
            "alternatives.json: /alternatives/concurrency_excess/values/drop: no case is about it; "
            "write one, or list it under `alternatives` in pending.yaml"
        )
    ]
    edit(
        copy / "cases/tim.yaml",
        "alternatives: {stall: [at_once], ",
        "alternatives: {stall: [at_once], concurrency_excess: [drop, queue], ",
    )
    assert len(gaps(copy)) == 1, "a case for either value is about none"
    edit(copy / "cases/tim.yaml", "concurrency_excess: [drop, queue]", "concurrency_excess: [drop]")
    assert gaps(copy) == []


@pytest.mark.parametrize(
    ("group", "entry", "line"),
    [
        ("requirements", "CM-TIM-001", "CM-TIM-001: a case covers it now; remove it"),
        (
            *("requirements", "CM-TIM-999"),
            "CM-TIM-999: there is no such requirement that needs a case; remove it",
        ),
        ("rows", "host_calls/at", "host_calls/at: a case covers it now; remove it"),
        ("rows", "hostcalls/at", "hostcalls/at: there is no such edge; remove it"),
        ("rows", "wall_time_ms/at", "wall_time_ms/at: there is no such edge; remove it"),
        ("codes", "source_empty", "source_empty: a case covers it now; remove it"),
        ("codes", "sauce_empty", "sauce_empty: there is no such error code; remove it"),
        (
            *("alternatives", "script_style/sync"),
            "script_style/sync: a case covers it now; remove it",
        ),
        (
            *("alternatives", "script_style/both"),
            "script_style/both: there is no such value of an alternative; remove it",
        ),
    ],
)
def test_an_entry_that_is_not_pending_is_refused(
    copy: Path, group: str, entry: str, line: str
) -> None:
    """What is covered or unknown leaves the list, so that it says the truth."""
    list_pending(copy, group, entry)
    assert gaps(copy) == [f"pending.yaml: /{group}/{line}"]


def test_the_number_of_pending_entries_is_written_down(copy: Path) -> None:
    """A change that adds an entry shows it in this line."""
    count = codemode_spec.load(copy).pending.count
    change_pending(copy, lambda _: None, 1)
    assert gaps(copy) == [
        f"pending.yaml: /at_most: {count} entries are listed, not {count + 1}; write {count}"
    ]


def test_the_number_of_pending_entries_is_not_above_that_of_the_newest_revision(copy: Path) -> None:
    """What had a case in a revision has one ever after."""
    count = codemode_spec.load(copy).pending.count
    folder = copy / "revisions"
    folder.mkdir(exist_ok=True)
    (folder / "9-draft.1.json").write_text(json.dumps({"pending": count - 1}), encoding="utf-8")
    assert gaps(copy) == [
        (
            f"pending.yaml: /at_most: {count} is more than the {count - 1} of the newest revision; "
            "write cases instead"
        )
    ]
    (folder / "9-draft.2.json").write_text(json.dumps({"pending": count}), encoding="utf-8")
    assert gaps(copy) == []


def test_the_newest_revision_is_found_by_its_number(tmp_path: Path) -> None:
    """Drafts come before the release, and ten after two."""
    assert recorded_count(tmp_path) is None
    folder = tmp_path / "revisions"
    folder.mkdir()
    assert recorded_count(tmp_path) is None
    for number, name in enumerate(("notes", "1-draft.2", "1-draft.10", "1", "2-draft.1")):
        (folder / f"{name}.json").write_text(json.dumps({"pending": number}), encoding="utf-8")
        assert recorded_count(tmp_path) == number
    (folder / "2.json").write_text("{}", encoding="utf-8")
    assert recorded_count(tmp_path) is None


@pytest.mark.parametrize(
    ("edges", "reason"),
    [
        ("hostcalls: [at]", "hostcalls: hostcalls is no row of the policy table"),
        (
            "host_calls: [at]",
            "host_calls: its number is not known: name it in effective, set, prefer or least",
        ),
        (
            "kill_grace_ms: [above]",
            (
                "kill_grace_ms: no requirement of the case has kill_grace_ms in its `rows`; judge "
                "one, or remove it"
            ),
        ),
        ("wall_time_ms: [at]", "wall_time_ms: no case can stand exactly at this limit; remove it"),
    ],
)
def test_an_edge_that_a_case_cannot_stand_at_is_refused(
    copy: Path, edges: str, reason: str
) -> None:
    """A label is checked as far as the case shows it."""
    edit(copy / "cases/tim.yaml", IN_TIME, IN_TIME.replace("wall_time_ms: [below]", edges))
    assert f"cases/tim.yaml: /tim.in-time/edges/{reason}" in faults(copy)


def test_edges_are_no_part_of_the_digest(copy: Path) -> None:
    """They say what a case stands for, and change nothing that is run."""
    edit(
        copy / "cases/tim.yaml", IN_TIME, IN_TIME.replace("  edges: {wall_time_ms: [below]}\n", "")
    )
    assert codemode_spec.load(copy).cases_digest == codemode_spec.load().cases_digest


def test_edges_of_a_variant_are_laid_over_those_of_its_case(copy: Path) -> None:
    """One row of a variant does not drop another one of the case."""
    old = (
        "  edges: {host_result_bytes: [below, above], cumulative_host_result_bytes: [at, above]}\n"
    )
    variants = "  variants:\n    one: {edges: {host_result_bytes: [at]}}\n"
    edit(copy / "cases/dat.yaml", old, old + variants)
    case = codemode_spec.load(copy).cases["dat.refusal-codes.one"]
    assert case.edges == {
        "host_result_bytes": ("at",),
        "cumulative_host_result_bytes": ("at", "above"),
    }


def test_what_is_counted_has_an_exact_edge_and_what_is_timed_has_none() -> None:
    """The heap and the stack are counted by the engine, in its own way."""
    rows = codemode_spec.load().tables.rows
    assert {name for name, row in rows.items() if "at" not in sides_of(row)} == {
        name for name, row in rows.items() if row.unit == "milliseconds"
    } | {"memory_bytes", "stack_bytes"}
    assert all({"below", "above"} <= set(sides_of(row)) for row in rows.values())


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "codes: [source_empty]",
            "codes: [sauce]",
            "/CM-SRC-010/codes: there is no error code sauce",
        ),
        ("codes: [source_empty]", "rows: [size]", "/CM-SRC-010/rows: there is no policy row size"),
    ],
)
def test_a_requirement_names_codes_and_rows_that_exist(
    copy: Path, old: str, new: str, reason: str
) -> None:
    """A misspelled name would leave the real one without a requirement."""
    edit(copy / "requirements/src.yaml", old, new)
    assert faults(copy) == [f"requirements/src.yaml: {reason}"]
