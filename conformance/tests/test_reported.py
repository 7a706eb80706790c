"""Each public report is the fault of some case, or stands in the list of those that are not yet."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import codemode_spec
from codemode_spec.documents import parse_yaml

HERE = Path(__file__).parent
CASES = codemode_spec.load().cases
NUMBER = 134


def read(path: Path) -> Any:
    """A document of tests."""
    return parse_yaml(path.read_text(encoding="utf-8"), path.name)


TABLE = read(HERE / "reported.yaml")
IDS = set(read(HERE.parents[1] / TABLE["ids"])["ids"])


def covered() -> dict[str, set[str]]:
    """The reports that cases take, with the cases."""
    found: dict[str, set[str]] = defaultdict(set)
    for case in CASES.values():
        for one in case.reported:
            found[one].add(case.id)
    return found


def test_every_report_has_a_case_or_a_reason() -> None:
    """None is forgotten, and none is invented."""
    assert len(IDS) == NUMBER
    assert covered().keys() | TABLE["not_yet"].keys() == IDS


def test_a_report_with_a_case_leaves_the_list() -> None:
    """So that the list says what is missing."""
    taken = covered().keys() & TABLE["not_yet"].keys()
    assert taken == set(), {one: covered()[one] for one in taken}


def test_every_report_has_a_case() -> None:
    """A report that had a case must have one ever after."""
    assert not TABLE["not_yet"]
