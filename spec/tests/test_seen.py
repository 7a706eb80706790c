"""What was made of a text is not made again, unless something that it depends on has changed."""

from __future__ import annotations

from dataclasses import replace

import codemode_spec
import pytest
from codemode_spec import checks
from codemode_spec.expansion import expand
from codemode_spec.seen import once, text_of, text_of_rows

TABLES = codemode_spec.load_tables()
CASE = {
    "id": "tim.divided",
    "title": "A case",
    "requirements": {"outcome": "CM-TIM-001"},
    "roles": ["engine"],
    "effective": ["source_bytes", "host_calls"],
    "program": {"javascript": "return @{source_bytes // host_calls}"},
    "expect": [{"outcome": "any"}],
}


def faults(tables: codemode_spec.Tables) -> list[str]:
    """What the check of this one case finds."""
    requirements = codemode_spec.shipped().requirements
    cases = [("cases/tim.yaml", case) for case in expand("TIM", CASE)]
    return [str(problem) for problem in checks.check_cases(cases, requirements, tables)]


def test_each_time_it_is_a_copy() -> None:
    """Whoever changes one changes no other; another key is another value."""
    for _ in range(3):
        value = once("test", "a", lambda: {"list": [1]})
        assert value == {"list": [1]}
        value["list"].append(2)
    assert once("test", "b", lambda: 3) == 3
    assert once("another test", "a", lambda: 4) == 4


def test_what_fails_fails_again() -> None:
    """No fault is kept, and none is lost."""
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            once("test of faults", "", lambda: 1 // 0)


def test_templates_are_checked_again_with_other_tables() -> None:
    """The case is the same, and does not resolve any more."""
    row = replace(TABLES.rows["host_calls"], default=0)
    other = replace(TABLES, rows={**TABLES.rows, "host_calls": row})
    found = [faults(tables) for tables in (TABLES, other, TABLES)]
    assert (found[0], found[2]) == ([], [])
    assert "/tim.divided" in found[1][0]


def test_everything_that_a_digest_depends_on_is_in_its_key() -> None:
    """The document, what the case sets, and the default policy."""
    (case,) = expand("TIM", CASE)
    defaults = dict.fromkeys(TABLES.rows, 16)
    others = (
        (case, {**defaults, "host_calls": 2}),
        (replace(case, prefer={"host_calls": 4}), defaults),
        (replace(case, set={"host_calls": 8}), defaults),
        (replace(case, data={**case.data, "title": "Another"}), defaults),
    )
    found = [(case.digest(defaults), text_of(case, beside=text_of_rows(defaults)))]
    found += [(one.digest(rows), text_of(one, beside=text_of_rows(rows))) for one, rows in others]
    assert len({digest for digest, _ in found}) == len({key for _, key in found}) == 5


def test_a_load_has_the_digests_of_its_own_cases() -> None:
    """Whether they were computed or kept."""
    for _ in range(2):
        loaded = codemode_spec.load()
        defaults = loaded.tables.profiles[codemode_spec.DEFAULT_PROFILE].defaults()
        some = list(loaded.cases.values())[::40]
        assert {case.id: case.digest(defaults) for case in some} == {
            case.id: loaded.digests[case.id] for case in some
        }
