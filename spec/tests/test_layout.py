"""Files in their places, names that stand once, and orders that the model knows."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import codemode_spec
import pytest
from codemode_spec import SpecificationError, revisions
from codemode_spec.model import expressions, forms, places, readings

if TYPE_CHECKING:
    from collections.abc import Callable

SHIPPED = Path(str(files("codemode_spec")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the shipped data, to plant a fault in."""
    place = tmp_path / "spec"
    shutil.copytree(SHIPPED, place, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return place


def change(path: Path, how: Callable[[Any], object]) -> None:
    """Change a JSON document."""
    data = json.loads(path.read_text(encoding="utf-8"))
    how(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first place where a file says this."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def faults(root: Path) -> list[str]:
    """Why this specification does not load."""
    with pytest.raises(SpecificationError) as caught:
        codemode_spec.load(root)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("file", "key", "told"),
    [
        ("policy.json", "rows", "policy.json: /rows/source_bytes: it stands 2 times; keep one"),
        (
            "errors.json",
            "errors",
            "errors.json: /errors/invalid_policy: it stands 2 times; keep on",
        ),
    ],
)
def test_a_row_and_a_code_stand_once(root: Path, file: str, key: str, told: str) -> None:
    """Of two, a reader would take the last."""
    change(root / file, lambda data: data[key].append(data[key][0]))
    (fault,) = faults(root)
    assert fault.startswith(told)


def test_a_profile_stands_in_the_file_of_its_name(root: Path) -> None:
    """Once, and the default one is there."""
    shutil.copy(root / "profiles/inline-sync.json", root / "profiles/other.json")
    assert faults(root) == ["profiles/other.json: /name: inline-sync belongs into inline-sync.json"]
    (root / "profiles/other.json").unlink()
    (root / "profiles/process-async.json").unlink()
    assert faults(root) == [
        "profiles/process-async.json: there is no such file; it is the default profile"
    ]


@pytest.mark.parametrize("folder", ["cases", "requirements"])
def test_an_area_stands_in_the_file_of_its_name(root: Path, folder: str) -> None:
    """Messages name the file by the area."""
    (root / folder / "cal.yaml").rename(root / folder / "calls.yaml")
    assert faults(root) == [f"{folder}/calls.yaml: /area: area CAL belongs into cal.yaml"]


def test_a_file_that_nobody_reads_is_told(root: Path) -> None:
    """A misspelled ending would hide what is in it."""
    (root / "cases/tim.yaml").rename(root / "cases/tim.yml")
    (root / "cases/.tim.yaml.swp").write_text("an editor's own", encoding="utf-8")
    assert faults(root) == ["cases/tim.yml: nobody reads it; a file here ends in .yaml"]


def test_an_empty_folder_is_told(root: Path) -> None:
    """As the cause, and not by all that is missing."""
    for path in (root / "requirements").iterdir():
        path.unlink()
    assert faults(root) == ["requirements: it is empty; files that end in .yaml belong here"]


PLANTED = [
    (
        "profiles/inline-sync.json",
        lambda data: data["alternatives"].update(exhaustion=[]),
        "profiles/inline-sync.json: /alternatives/exhaustion: choose one value",
    ),
    (
        "profiles/inline-sync.json",
        lambda data: data["alternatives"].update(options="timeout"),
        "profiles/inline-sync.json: /alternatives/options: several may be chosen: write a list",
    ),
    (
        "pending.yaml",
        None,
        "pending.yaml: /requirements: CM-DIA-003 stands twice",
    ),
    (
        "policy.json",
        lambda data: data["rows"][5].update(default=16.0),
        "policy.json: /rows/5/default: 16.0 is not of type 'integer'",
    ),
    (
        "revision.json",
        lambda data: data.update(revision="1-draft.1\n"),
        "revision.json: /revision: '1-draft.1\\n' does not match",
    ),
    (
        "errors.json",
        lambda data: data["errors"][3].update(message="x {limit"),
        "errors.json: /errors/source_empty: the message uses x {limit, no required field",
    ),
    (
        "errors.json",
        lambda data: data["errors"][3].update(message="{limit!r:>9}"),
        "errors.json: /errors/source_empty: the message uses limit!r:>9, no required field",
    ),
    (
        "protocol.json",
        lambda data: data["endpoints"]["worker"].update(
            states={**data["endpoints"]["worker"]["states"], "limbo": "x"},
            transitions={
                **data["endpoints"]["worker"]["transitions"],
                "limbo": {
                    event: {"ignore": True} for event in data["endpoints"]["worker"]["events"]
                },
            },
        ),
        "protocol.json: /endpoints/worker/transitions/limbo: no event leads to this state",
    ),
    (
        "protocol.json",
        lambda data: data["endpoints"]["worker"]["transitions"]["ended"].update(
            execute={"next": "running"}
        ),
        "protocol.json: /endpoints/worker/transitions/ended/execute: the end is left again",
    ),
    (
        "order.json",
        lambda data: data["places"]["tool_call"]["checks"][0].pop("code"),
        "order.json: /places/tool_call/shape: what is dropped has no code, and any other answer",
    ),
    (
        "order.json",
        lambda data: data["simultaneous"].pop(),
        "order.json: /simultaneous: ['complete_result', 'cancel', 'terminal_budget', 'deadline']",
    ),
]


@pytest.mark.parametrize(("file", "how", "told"), PLANTED)
def test_a_table_with_a_fault_is_refused(root: Path, file: str, how: Any, told: str) -> None:
    """With its place and the reason."""
    if how is None:
        edit(root / file, "- CM-DIA-003\n", "- CM-DIA-003\n- CM-DIA-003\n")
    else:
        change(root / file, how)
    found = faults(root)
    assert any(fault.startswith(told) for fault in found), found


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            *("cases/tim.yaml", "needs: [", "needs: [op.valu, "),
            "'op.valu' is not one of: contract, ",
        ),
        (
            *("cases/tim.yaml", "needs: [", "needs: [policy.wall_time, "),
            "/needs: there is no policy row wall_time",
        ),
        (
            *("requirements/src.yaml", "since: 1-draft.1", "since: 1-draft.2"),
            "/CM-SRC-001/since: 1-draft.2 is later than this revision, 1-draft.1",
        ),
        (
            *("cases/src.yaml", "value: 42", 'value: "@{source_bytes"'),
            "a template is not closed",
        ),
        (
            *("cases/src.yaml", "value: 42", "value: 9007199254740992"),
            "/src.trailing-comment: it has no digest: ",
        ),
        (
            *("cases/src.yaml", "value: 42", "value: {generate: {repeat: a, times: 99999999999}}"),
            "a repeated text is longer than 67108864 characters",
        ),
        (
            *("cases/src.yaml", "value: 42", "value: {generate: {nest: array, depth: 99999999}}"),
            "a generated value is deeper than 100000 levels",
        ),
    ],
)
def test_a_document_with_a_fault_is_refused(root: Path, file, old, new, told: str) -> None:
    """A name that nothing has would keep a case from every target."""
    edit(root / file, old, new)
    found = faults(root)
    assert any(told in fault and fault.startswith(file) for fault in found), found


UNTESTED = "the model has no test for this check; remove it"


def order(root: Path, how: Callable[[Any], object]) -> list[str]:
    """What the model finds in an order of checks that was changed."""
    change(root / "order.json", lambda data: how(data["places"]))
    return [str(problem) for problem in places.problems(codemode_spec.load(root).tables)]


def test_every_check_has_a_test_of_the_model_and_every_test_a_check(root: Path) -> None:
    """A check that is gone, renamed or made up is told by its place."""
    assert order(root, lambda _: None) == []

    def planted(data: Any) -> None:
        data["parent_final"]["checks"].pop(4)
        data["worker_final"]["checks"][5]["check"] = "flush"
        data["worker_host_call"]["end"] = "parent"
        data["parent_host_value"]["checks"].append({"check": "more", "text": "x"})
        data["elsewhere"] = data.pop("tool_call")

    with pytest.raises(SpecificationError, match="worker_host_call"):
        order(root, planted)
    change(
        root / "order.json", lambda data: data["places"]["worker_host_call"].update(end="worker")
    )
    assert order(root, lambda _: None) == [
        "order.json: /places/elsewhere: the model knows no such place; remove it",
        "order.json: /places/tool_call: the place is missing",
        f"order.json: /places/parent_host_value/more: {UNTESTED}",
        "order.json: /places/parent_final/claim: the check is missing",
        f"order.json: /places/worker_final/flush: {UNTESTED}",
        "order.json: /places/worker_final/drain: the check is missing",
    ]


def test_a_place_is_at_its_end(root: Path) -> None:
    """Each end looks at its own order."""
    assert order(root, lambda data: data["worker_final"].update(end="parent")) == [
        "order.json: /places/worker_final/end: the worker decides here"
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            *("@{host_calls + 3}", "@{host_cals + 3}"),
            "/programs/cal.total: cal.total: @{host_cals + 3} needs host_cals, which has no number",
        ),
        (
            "@{host_calls + 3}",
            "@{host_calls + 3",
            "/programs/cal.total: cal.total: a template is n",
        ),
        (
            *("  cal.total:\n", "  cal.total:\n    then: [[{return: 1}]]\n"),
            "/programs/cal.total: cal.total has 0 follow-ups, and 1 are put into steps",
        ),
        ("area: CAL", "area: TIM", "/area: area TIM belongs into tim.yaml"),
        ("  cal.total:", "  tim.in-time:", "/programs/tim.in-time: the case does not belong to ar"),
        ("repeat:", "reheat:", "/programs/cal.total/steps/0"),
    ],
)
def test_steps_that_do_not_fit_their_case_are_told(root: Path, old: str, new: str, told) -> None:
    """Before somebody asks for them."""
    specification = codemode_spec.load(root)
    assert readings.problems(root, specification) == []
    edit(root / "steps/cal.yaml", old, new)
    found = [str(problem) for problem in readings.problems(root, specification)]
    assert any(fault.startswith(f"steps/cal.yaml: {told}") for fault in found), found


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("{$nope: done}", "there is no form $nope; there are $, $length, "),
        ("{$: done, b: 1}", "the form $ stands alone in its object"),
        ("{$: [done]}", "the form $ takes a text"),
        ("{$: doone.0}", "no step gives doone a value"),
        ("{$equal: [1]}", "the form $equal takes a list of two"),
        ("{$join: a}", "the form $join takes a list"),
        ("1]\n    - throw: problem\n    - return: [1", "nothing is caught as problem"),
    ],
)
def test_an_expression_that_the_model_cannot_read_is_told(root: Path, new: str, told: str) -> None:
    """It would be taken for a value, or for 0."""
    specification = codemode_spec.load(root)
    edit(root / "steps/cal.yaml", "{$: done}", new)
    found = [str(problem) for problem in readings.problems(root, specification)]
    start = f"steps/cal.yaml: /programs/cal.total: cal.total: {told}"
    assert any(fault.startswith(start) for fault in found), found


def test_every_form_of_the_model_is_known_to_the_check() -> None:
    """A new one is added to both."""
    assert set(forms.FORMS) == set(expressions._FORMS)


def test_a_folder_that_cannot_be_read_is_told(root: Path, monkeypatch) -> None:
    """With the reason of the system."""
    whole = Path.iterdir

    def iterdir(self: Path) -> Any:
        if self.name in ("cases", "revisions"):
            raise PermissionError(13, "Permission denied")
        return whole(self)

    specification = codemode_spec.load(root)
    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert faults(root) == ["cases: Permission denied"]
    assert [str(fault) for fault in revisions.problems(root, specification)] == [
        "revisions: Permission denied"
    ]
