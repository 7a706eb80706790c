"""Expansion of variants, needs that follow from the data, and fitting a case to a target."""

from __future__ import annotations

import codemode_spec
import pytest
from codemode_spec.expansion import expand
from codemode_spec.expectations import UNSET
from codemode_spec.failures import NotApplicable

ALTERNATIVES = {"script_style": "async", "exhaustion": "catchable"}


def _case(**data: object):
    base = {
        "id": "dat.sample",
        "title": "A sample",
        "requirements": {"outcome": "CM-DAT-001", "value": "CM-DAT-001"},
        "roles": ["engine"],
        "program": {"javascript": {"async": "return 1;", "sync": "return 2;"}},
        "expect": [{"outcome": "value", "value": 1}],
    }
    return expand("DAT", {**base, **data})


def test_a_case_without_variants_is_one_case() -> None:
    """Its id is that of the entry."""
    (case,) = _case()
    assert (case.id, case.variant, case.after) == ("dat.sample", None, "healthy")


def test_variants_get_their_ids_lets_and_sets() -> None:
    """What a variant says is laid over what the case says."""
    cases = _case(
        let={"n": 1, "m": 2},
        set={"host_calls": 3},
        variants={"a": {"let": {"n": 9}}, "b": {"set": {"pages": 1}, "title": "Other"}},
    )
    assert [case.id for case in cases] == ["dat.sample.a", "dat.sample.b"]
    assert [case.title for case in cases] == ["A sample (a)", "Other"]
    assert cases[0].data["let"] == {"n": 9, "m": 2}
    assert dict(cases[1].set) == {"host_calls": 3, "pages": 1}


def test_a_variant_has_only_the_layers_that_its_blocks_judge() -> None:
    """A layer that another variant needs is not judged where nothing is expected."""
    cases = _case(
        requirements={"outcome": "CM-DAT-001", "value": "CM-DAT-001", "code": "CM-DAT-005"},
        variants={"at": {}, "over": {}},
        expect=[
            {"when": {"variant": "at"}, "outcome": "value", "value": 1},
            {"when": {"variant": ["over"]}, "outcome": "failure", "error": {"code": "x"}},
        ],
    )
    assert [sorted(case.requirements) for case in cases] == [
        ["outcome", "value"],
        ["code", "outcome"],
    ]


def test_needs_follow_from_the_data() -> None:
    """A case never forgets to ask for what it uses."""
    (case,) = _case(
        requirements={"outcome": "CM-DAT-001", "calls": "CM-DAT-001"},
        needs=["logs"],
        set={"wall_time_ms": 3, "host_calls": 1, "pages": None},
        operations=[
            {"name": "a", "effect": "read", "release": [2, 1], "behaviour": [{"value": 1}]},
            {"name": "b", "effect": "read", "behaviour": [{"never": True}, {"odd": "NaN"}]},
        ],
        cancel="after_call 1",
    )
    assert case.needs == (
        ("logs",),
        ("policy.wall_time_ms", "options.timeout"),
        ("policy.host_calls",),
        ("policy.raw",),
        ("op.delay",),
        ("op.value",),
        ("op.never",),
        ("op.native",),
        ("op.many",),
        ("op.ledger",),
        ("cancel.native",),
    )


def test_a_variant_has_no_program_in_a_language_whose_let_is_null() -> None:
    """Not everything that one language can say has a counterpart in another."""
    program = {"javascript": "@{text}", "python": {"async": ["await x\n", "@{py}"]}}
    both, one = _case(
        let={"py": None, "text": ""},
        program=program,
        then=[{"program": program, "expect": [{"outcome": "any"}]}],
        variants={"both": {"let": {"py": "pass"}}, "one": {"let": {"text": "x"}}},
    )
    assert [set(programs) for programs in both.programs] == [{"javascript", "python"}] * 2
    assert [set(programs) for programs in one.programs] == [{"javascript"}] * 2
    with pytest.raises(NotApplicable, match="no python program"):
        one.resolve({}, ALTERNATIVES, "python")


def test_a_case_takes_the_numbers_and_the_style_of_its_target() -> None:
    """Programs and expectations are computed from the effective policy."""
    (case,) = _case(
        effective=["host_calls"],
        program={
            "javascript": {"async": ["x", {"repeat": "ab", "times": "@{host_calls}"}], "sync": "s"}
        },
        expect=[{"outcome": "value", "value": "@{host_calls + 1}"}],
    )
    ready = case.resolve({"host_calls": 2}, ALTERNATIVES, "javascript")
    assert ready.runs[0].program == "xabab"
    assert ready.expected[0] is not None
    assert ready.expected[0].any_of[0].value == 3
    sync = case.resolve({"host_calls": 2}, {"script_style": "sync"}, "javascript")
    assert sync.runs[0].program == "s"


@pytest.mark.parametrize(
    ("data", "rows", "alternatives", "language", "reason"),
    [
        ({"effective": ["pages"]}, {}, ALTERNATIVES, "javascript", "names no number for pages"),
        *(
            (
                {"effective": [row]},
                {row: number},
                *(ALTERNATIVES, "javascript", f"{row} is {str(number)[:20]}, beyond"),
            )
            for row, number in (
                ("host_calls", 0),
                ("host_calls", 10**300),
                ("source_bytes", 1 << 33),
                ("final_result_bytes", 1),
            )
        ),
        (
            {"program": {"javascript": {"repeat": "x", "times": "@{wrapper_bytes - 9}"}}},
            *({"wrapper_bytes": 1}, ALTERNATIVES, "javascript", "smaller than the case itself"),
        ),
        ({}, {}, {}, "javascript", "script_style is not declared"),
        ({}, {}, ALTERNATIVES, "python", "has no python program"),
        (
            {"expect": [{"when": {"stall": "at_once"}, "outcome": "value", "value": 1}]},
            *({}, ALTERNATIVES, "javascript", "stall is not declared"),
        ),
        (
            {"expect": [{"when": {"exhaustion": "terminal"}, "outcome": "value", "value": 1}]},
            *({}, ALTERNATIVES, "javascript", "no block of the expectation fits"),
        ),
    ],
)
def test_a_case_that_does_not_fit_says_why(data, rows, alternatives, language, reason) -> None:
    """Such a case is unsupported, never failed."""
    (case,) = _case(**data)
    with pytest.raises(NotApplicable, match=reason):
        case.resolve(rows, alternatives, language)


def test_only_programs_that_name_host_use_it() -> None:
    """The prelude is added where it is needed; raw programs never get it."""
    assert not _case()[0].uses_host
    (case,) = _case(program={"javascript": {"async": ["a;", {"repeat": "host.call", "times": 1}]}})
    assert case.uses_host
    assert case.resolve({}, ALTERNATIVES, "javascript").runs[0].uses_host
    (raw,) = _case(program={"javascript": "ghost; host.call()"}, raw=True)
    assert not raw.uses_host


def test_absent_generated_and_odd_values_are_told_apart() -> None:
    """The special forms of an expected value."""
    (case,) = _case(
        expect=[
            {
                "outcome": "value",
                "any_of": [
                    {"outcome": "value", "value": {"absent": True}},
                    {"outcome": "value", "value": {"generate": {"nest": "object", "depth": 2}}},
                    {"outcome": "value", "odd": [[["v", 0], "NaN"]]},
                ],
            }
        ]
    )
    expected = case.resolve({}, ALTERNATIVES, "javascript").expected[0]
    assert expected is not None
    absent, generated, odd = expected.any_of
    assert absent.value_absent
    assert absent.value is UNSET
    assert generated.value == {"a": {}}
    assert odd.odd == ((("v", 0), "NaN"),)


def test_every_shipped_case_has_a_story_and_a_program_without_templates() -> None:
    """Nothing of the notation is left in what a target gets."""
    specification = codemode_spec.load()
    profile = specification.tables.profiles["process-async"]
    rows = {row.name: row.default for row in specification.tables.rows.values()}
    rows |= profile.defaults() | {"wrapper_bytes": 0}
    for case in specification.cases.values():
        assert len(case.title) > 20, case.id
        chosen = {name: values[0] for name, values in case.alternatives.items()}
        # Some programs are in Python alone; a case without a program has a language without a name.
        language = next((one for one in case.languages if one in ("", "javascript")), "python")
        ready = case.resolve(rows, {**profile.alternatives, **chosen}, language or "javascript")
        for run in (*ready.runs, *ready.then):
            assert "@{" not in run.program, case.id


def test_a_preferred_row_is_set_where_the_target_can_set_it() -> None:
    """Elsewhere the target's own number holds: a loop is tested on every target."""
    (case,) = _case(
        prefer={"wall_time_ms": 100},
        expect=[{"outcome": "value", "value": "@{wall_time_ms}"}],
    )
    assert case.needs == ()
    for name in ("policy.wall_time_ms", "options.timeout"):
        fitted = case.fitted(frozenset({name}))
        assert dict(fitted.set) == {"wall_time_ms": 100}
        ready = fitted.resolve({"wall_time_ms": 30_000}, ALTERNATIVES, "javascript")
        assert ready.expected[0] is not None
        assert ready.expected[0].any_of[0].value == 100
    plain = case.fitted(frozenset()).resolve({"wall_time_ms": 30_000}, ALTERNATIVES, "javascript")
    assert plain.expected[0] is not None
    assert plain.expected[0].any_of[0].value == 30_000


def test_a_case_that_needs_more_than_the_target_allows_does_not_apply() -> None:
    """A smaller number is unsupported; no number is no obstacle."""
    (case,) = _case(least={"concurrent_host_calls": 3})
    case.resolve({"concurrent_host_calls": 3}, ALTERNATIVES, "javascript")
    case.resolve({}, ALTERNATIVES, "javascript")
    with pytest.raises(NotApplicable, match="needs concurrent_host_calls of 3 at least"):
        case.resolve({"concurrent_host_calls": 2}, ALTERNATIVES, "javascript")
