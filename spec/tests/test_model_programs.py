"""Programs in the model's words: what the steps mean, and what is predicted of them."""

from __future__ import annotations

from typing import Any

import pytest
from codemode_spec import schemas
from codemode_spec.cases import Behaviour, OperationSpec
from codemode_spec.model import prediction
from codemode_spec.model.expressions import Odd, Thrown, evaluate, snapshot
from codemode_spec.model.prediction import Made, Prediction
from codemode_spec.model.running import ProgramError
from codemode_spec.model.server import Request
from codemode_spec.model.steps import program
from codemode_spec.model.terms import UNCAUGHT, Operation, Outcome, Refusal, rules
from hypothesis import given, settings
from hypothesis import strategies as st

UNDEFINED = {"$odd": "undefined"}


def operation(name: str, *behaviour: Behaviour, effect: str = "read", **more: Any) -> OperationSpec:
    """A scripted operation that takes any arguments, or those of `arguments`."""
    return OperationSpec(name, effect, more.pop("arguments", {}), behaviour, **more)


def value(what: Any = 1, delay_ms: int = 0) -> Behaviour:
    """An answer."""
    return Behaviour("value", value=what, delay_ms=delay_ms)


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
OPERATIONS = {
    entry.name: entry
    for entry in (
        operation("one", value()),
        operation("slow", value("slow", 150)),
        operation("first", *(value("first", 100), value("second"))),
        operation("third", *(value("a"), value("b"), value("c")), release=(3, 1, 2)),
        operation("large", value("x" * 70_000)),
        operation("deep", value([[1]])),
        operation("broken", Behaviour("fail", code="broken")),
        operation("odd", Behaviour("odd", value="NaN")),
        operation("lost", Behaviour("never")),
        operation("late", Behaviour("fail", delay_ms=70_000)),
        operation("write", value(), effect="write"),
        operation("strict", value(), arguments=NUMBER),
    )
}


def ask(
    steps: list[Any],
    *,
    profile: str = "process-async",
    request: Request | None = None,
    cancel_after_call: int | None = None,
    policy: dict[str, int] | None = None,
    **alternatives: str,
) -> Prediction:
    """What the model predicts of steps as data."""
    return prediction.predict(
        rules(
            {spec.name: Operation(spec.name, spec.effect) for spec in OPERATIONS.values()},
            profile=profile,
            policy=policy,
            alternatives=alternatives,
        ),
        program(steps),
        OPERATIONS,
        request=request,
        cancel_after_call=cancel_after_call,
    )


def result(*steps: Any, **chosen: Any) -> Any:
    """The value that a program gives, or the fields of its error."""
    document = {"format": 1, "area": "CAL", "programs": {"cal.x": {"steps": list(steps)}}}
    assert schemas.problems("steps", document, "steps") == []
    outcome = ask(list(steps), **chosen).outcome
    return outcome.value if outcome.error is None else outcome.error.fields()


# Steps


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ([{"return": {"a": [1, "b", None]}}], {"a": [1, "b", None]}),
        ([{"add": "n", "by": 2}, {"add": "n"}, {"return": {"$": "n"}}], 3),
        ([{"set": "n", "to": 5}, {"return": [{"$": "n"}, {"$": "never_set"}]}], [5, 0]),
        ([{"push": "l", "value": 1}, {"push": "l", "value": 2}, {"return": {"$": "l"}}], [1, 2]),
        (
            [{"repeat": 3, "do": [{"push": "l", "value": {"$": "i"}}]}, {"return": {"$": "l"}}],
            [0, 1, 2],
        ),
        (
            [
                {"each": [1, {"$": "n"}], "as": "v", "do": [{"push": "l", "value": {"$": "v"}}]},
                {"return": {"$": "l"}},
            ],
            [1, 0],
        ),
        ([{"if": True, "do": [{"return": "yes"}], "else": [{"return": "no"}]}], "yes"),
        ([{"if": 1, "do": [{"return": "yes"}]}, {"return": "only true is"}], "only true is"),
        ([{"try": [{"return": 1}], "catch": [{"return": 2}]}], 1),
        ([{"try": [{"throw": None}], "catch": [{"return": 2}]}], 2),
        ([{"try": [{"throw": None}]}, {"return": 3}], 3),
        ([{"call": "one", "as": "x"}, {"return": {"$": "x"}}], 1),
        ([{"all": []}, {"return": 4}], 4),
        (
            [{"all": {"times": 3, "do": [{"add": "n", "by": {"$": "i"}}]}}, {"return": {"$": "n"}}],
            3,
        ),
        (
            [{"all": [[{"return": 1}]]}, {"return": "a branch returns only itself"}],
            "a branch returns only itself",
        ),
    ],
)
def test_steps_change_names_and_give_a_value(steps: list[Any], wanted: Any) -> None:
    """Names begin as 0; a block gives what it is left with."""
    assert result(*steps) == wanted


def test_an_unknown_step_is_no_program() -> None:
    """The schema says so first."""
    with pytest.raises(ValueError, match="no step of the model"):
        program([{"dance": 1}])


def test_branches_start_in_order_and_the_first_that_throws_throws_for_all() -> None:
    """What the others do after that is not seen by the program, but it was sent."""
    broken = [{"call": "broken"}]
    late = [{"call": "slow"}, {"throw": None}]
    said = ask(
        [
            {
                "try": [{"all": [late, broken, broken]}],
                "catch": [{"set": "code", "to": {"$": "e.code"}}],
            },
            {"call": "slow"},
            {"call": "slow"},
            {"return": {"$": "code"}},
        ]
    )
    assert said.outcome == Outcome(True, "operation_failed")
    assert [made.operation for made in said.calls] == ["slow", "broken", "broken", "slow", "slow"]


def test_a_block_inside_of_a_branch_has_the_turn_of_its_branch() -> None:
    """Each branch has its own `i`; every other name belongs to all."""
    steps = [
        {"all": {"times": 2, "do": [{"call": "one"}, {"push": "l", "value": {"$": "i"}}]}},
        {"return": [{"$": "l"}, {"$": "i"}]},
    ]
    assert result(*steps) == [[0, 1], 0]


@pytest.mark.parametrize("name", ["e", None])
def test_only_the_very_error_keeps_its_code_when_it_is_thrown_again(name: str | None) -> None:
    """Another one, whatever it says, is the program's own."""
    thrown = result({"try": [{"call": "broken"}], "catch": [{"throw": name}]})
    own = {"code": "code_rejected", "reason": "uncaught"}
    assert thrown == ({"code": "operation_failed", "operation": "broken"} if name else own)


def test_a_name_that_no_error_was_caught_as_throws_an_error_of_the_program() -> None:
    """There is nothing to throw again."""
    assert result({"throw": "nothing"})["reason"] == "uncaught"
    assert str(ProgramError(None)) == "an error of the program"


@pytest.mark.parametrize(
    ("kind", "reason"), [("memory", "memory"), ("stack", "stack"), ("syntax", "syntax")]
)
def test_the_engines_own_errors_have_their_reason(kind: str, reason: str) -> None:
    """Uncaught, they are code_rejected."""
    assert result({"act": kind}) == {"code": "code_rejected", "reason": reason}


@pytest.mark.parametrize(("kind", "fatal"), [("memory", True), ("stack", False)])
def test_a_full_heap_is_caught_only_where_that_is_declared(kind: str, fatal: bool) -> None:  # noqa: FBT001
    """A full stack always is; in a branch as outside of one."""
    ended = {"code": "code_rejected", "reason": "memory"} if fatal else "caught"
    for inner in ({"act": kind}, {"all": [[{"act": kind}]]}):
        caught = [{"try": [inner], "catch": [{"return": "caught"}]}]
        assert result(*caught) == "caught"
        assert result(*caught, memory_error="fatal") == ended


def test_a_program_that_does_not_parse_makes_no_call() -> None:
    """Not even one that stands before the fault."""
    said = ask([{"call": "one"}, {"act": "syntax"}])
    assert (said.outcome.error, said.calls) == (UNCAUGHT._replace(reason="syntax"), ())


# Expressions


NAMES = {
    "text": "héé",
    "list": [1, {"a": 2}],
    "e": Thrown({"code": "x", "limit": 3}),
    "n": 2,
}


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ({"$": "list.1.a"}, 2),
        ({"$": "list.7"}, Odd("undefined")),
        ({"$": "list.a"}, Odd("undefined")),
        ({"$": "e.code"}, "x"),
        ({"$": "e.other"}, Odd("undefined")),
        ({"$": "n.success"}, Odd("undefined")),
        ({"$length": "text"}, 3),
        ({"$depth": "list"}, 2),
        ({"$depth": "n"}, 0),
        ({"$fields": "e"}, {"code": "x", "limit": 3}),
        ({"$keys": "e"}, ["code", "limit"]),
        ({"$join": ["a", {"$": "n"}, "b"]}, "a2b"),
        ({"$equal": [{"$": "n"}, 2]}, True),
        ({"$equal": [1, True]}, False),
        ({"$equal": [[1], [1]]}, True),
        ({"$more": [{"$": "n"}, 1]}, True),
        ({"$more": [1, {"$": "n"}]}, False),
        ({"$repeat": ["ab", 2]}, "abab"),
        ({"$nest": ["array", 2]}, [[]]),
        ({"$nest": ["object", 2]}, {"a": {}}),
        ({"$odd": "Map"}, Odd("Map")),
        ({"$x": 1}, {"$x": 1}),
        ({"$odd": 1, "other": [{"$": "n"}]}, {"$odd": 1, "other": [2]}),
    ],
)
def test_an_expression_has_its_value(expression: Any, wanted: Any) -> None:
    """JSON is itself; an object with the one key of a form is that form."""
    assert evaluate(expression, NAMES) == wanted


JSON = rules({})
KEPT = rules({}, alternatives={"values": "structured", "nested_undefined": "omit"})
ROUND = rules({}, alternatives={"values": "round_trip"})


@pytest.mark.parametrize(
    ("expression", "left", "size"),
    [
        ({"$odd": "Date"}, "1970-01-01T00:00:00.000Z", 26),
        ({"v": {"$to_json": {"b": 2}}}, {"v": {"b": 2}}, 13),
        ({"n": {"$reads": ""}}, {"n": 1}, 7),
        ({"$to_json": {"$reads": "shown "}}, "shown 1", 9),
        ([-0.0], [0], 3),
        ({"é": "\u0001"}, {"é": "\u0001"}, 15),
    ],
)
def test_a_value_is_copied_once_and_measured(expression: Any, left: Any, size: int) -> None:
    """`toJSON` is honoured, a getter is read once, and there is one zero."""
    for told in (JSON, ROUND):
        copied = snapshot(evaluate(expression, {}), told)
        assert (copied.value, copied.size, copied.fault) == (left, size, None)
        assert "-0.0" not in repr(copied.value)


def test_what_a_round_trip_makes_of_the_rest_is_left_open() -> None:
    """The model knows only that something is lost; the cases say what."""
    assert snapshot(evaluate({"v": {"$odd": "Map"}}, {}), ROUND).odd == ((("v",), "Map"),)


@pytest.mark.parametrize(
    "expression",
    [
        {"$odd": "Map"},
        [{"$odd": "undefined"}],
        {"a": {"$odd": "undefined"}},
        {"$to_json": {"$odd": "bigint"}},
        {"$to_json": {"$to_json": 1}},
        "\ud800",
    ],
)
def test_what_json_loses_is_no_value(expression: Any) -> None:
    """Wherever it stands, and whatever gives it."""
    assert snapshot(evaluate(expression, {}), JSON).fault == "not_json"


def test_an_error_of_the_bridge_is_no_value() -> None:
    """A program that returns it returns an Error."""
    assert snapshot({"e": Thrown({})}, JSON).fault == "not_json"
    assert snapshot({"e": Thrown({})}, KEPT).odd == ((("e",), "Error"),)


def test_where_more_than_json_crosses_its_place_and_kind_are_kept() -> None:
    """A method stays a function, and only an undefined property may be left out."""
    copied = snapshot(
        evaluate(
            {"a": [{"$odd": "Map"}], "b": UNDEFINED, "c": {"$to_json": 1}, "d": {"$odd": "Date"}},
            {},
        ),
        KEPT,
    )
    assert copied.value == {"a": [None], "c": None, "d": None}
    assert copied.odd == ((("a", 0), "Map"), (("c",), "function"), (("d",), "Date"))
    assert copied.size == 0


def test_where_more_than_json_crosses_json_is_still_measured() -> None:
    """Size and depth are those of the value."""
    assert snapshot([["x"]], KEPT)[2:4] == (7, 2)


def test_undefined_is_no_value_at_all() -> None:
    """At the top it is the absence of one."""
    assert not snapshot(Odd("undefined"), JSON).present


@pytest.mark.parametrize(("depth", "told"), [(128, 128), (129, 129), (20_000, 20_000)])
def test_depth_is_found_without_recursion(depth: int, told: int) -> None:
    """What is too deep is not measured."""
    copied = snapshot(evaluate({"$nest": ["array", depth]}, {}), JSON)
    assert (copied.depth, copied.size) == (told, 2 * depth if depth <= 128 else 0)


# Predictions


def test_a_program_is_admitted_first() -> None:
    """A refused request runs nothing."""
    refused = ask([{"call": "one"}], request=Request(empty=True, source_bytes=2))
    limit = {"measured": 2, "limit": 32_768}
    assert refused.outcome.error == Refusal("source_empty", **limit, counted="utf8")
    assert refused.calls == ()
    assert ask([{"return": 1}], request=Request()).outcome == Outcome(True, 1)


def test_arguments_cross_as_they_were_copied() -> None:
    """None given is an empty object; marks stand beside them."""
    steps = [
        {"call": "one"},
        {"call": "one", "arguments": UNDEFINED},
        {"call": "one", "arguments": {"d": {"$odd": "Map"}}},
        {"return": 1},
    ]
    assert ask(steps, values="structured").calls == (
        Made("one", {}),
        Made("one", {}),
        Made("one", {"d": None}, ((("d",), "Map"),)),
    )


def told(*steps: Any) -> list[Any]:
    """Steps that return the fields of what they throw."""
    return [{"try": list(steps), "catch": [{"return": {"$fields": "e"}}]}]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"call": "nowhere"}, {"code": "unknown_operation"}),
        ({"call": "broken"}, {"code": "operation_failed", "operation": "broken"}),
        ({"call": "odd"}, {"code": "host_result_invalid", "operation": "odd"}),
        (
            {"call": "large"},
            {
                "code": "host_result_bytes_limit",
                "operation": "large",
                "measured": 70_002,
                "limit": 65_536,
            },
        ),
        (
            {"call": "strict", "arguments": {"n": "1"}},
            {"code": "invalid_arguments", "operation": "strict"},
        ),
        (
            {"call": "one", "arguments": {"$nest": ["array", 129]}},
            {"code": "invalid_arguments", "operation": "one"},
        ),
        (
            {"call": "one", "arguments": [{"$odd": "bigint"}]},
            {"code": "invalid_arguments", "operation": "one"},
        ),
    ],
)
def test_a_call_that_is_refused_throws_its_error(call: Any, error: dict[str, Any]) -> None:
    """With its fields as properties; uncaught, it is the outcome."""
    assert result(*told(call)) == error
    assert result(call) == error


def test_a_value_of_a_host_that_nests_too_deep_is_invalid() -> None:
    """By the depth of the policy."""
    error = result({"call": "deep"}, policy={"value_depth": 1})
    assert error == {"code": "host_result_invalid", "operation": "deep"}


@pytest.mark.parametrize(("text", "fits"), [(73_728 - 113, True), (73_728 - 112, False)])
def test_arguments_fit_into_a_frame_with_the_longest_ids(text: int, fits: bool) -> None:  # noqa: FBT001
    """The frame around them has 111 bytes, and they have quotes; one byte more is told."""
    steps = told({"call": "one", "arguments": {"$repeat": ["x", text]}}, {"return": "sent"})
    over = {"measured": 73_729, "limit": 73_728}
    wanted = "sent" if fits else {"code": "invalid_arguments", "operation": "one", **over}
    assert result(*steps) == wanted


@pytest.mark.parametrize("name", ["broken", "odd"])
def test_a_failure_is_a_value_where_that_is_declared(name: str) -> None:
    """One that says so; budgets still throw."""
    assert (
        result({"call": name, "as": "x"}, {"return": {"$": "x.success"}}, operation_failure="value")
        is False
    )
    assert result({"call": "large"}, operation_failure="value")["code"] == "host_result_bytes_limit"


def test_exhaustion_ends_the_program_through_catch_where_it_is_terminal() -> None:
    """Whether the guard or the parent refuses."""
    steps = [{"repeat": 3, "do": [{"try": [{"call": "one"}]}]}, {"return": "went on"}]
    limits = {"host_calls": 2}
    assert result(*steps, policy=limits) == "went on"
    error = {"code": "host_calls_limit", "operation": "one", "limit": 2}
    assert result(*steps, policy=limits, exhaustion="terminal") == error
    large = [{"try": [{"call": "large"}]}, {"return": "went on"}]
    assert result(*large, exhaustion="terminal")["code"] == "host_result_bytes_limit"


def test_calls_above_the_concurrency_wait_where_that_is_declared() -> None:
    """Two at once, all of them in the end, in three turns of 150 ms."""
    steps = [{"all": {"times": 5, "do": [{"call": "slow"}]}}, {"return": "done"}]
    said = ask(steps, policy={"concurrent_host_calls": 2}, concurrency_excess="queue")
    assert (said.outcome, len(said.calls), said.overlap) == (Outcome(True, "done"), 5, 2)
    assert said.elapsed_ms == 450


def test_a_call_that_waited_and_may_not_be_sent_any_more_throws() -> None:
    """Two wait for one that is left."""
    branch = [{"try": [{"call": "slow"}], "catch": [{"push": "codes", "value": {"$": "e.code"}}]}]
    said = ask(
        [{"all": [branch, branch, branch]}, {"return": {"$": "codes"}}],
        policy={"concurrent_host_calls": 1, "host_calls": 2},
        concurrency_excess="queue",
    )
    assert said.outcome.value == ["host_calls_limit"]


def test_a_call_that_is_only_sent_does_not_hold_up_the_program() -> None:
    """Its failure is seen by nobody; one that is refused leaves nothing either."""
    steps = [
        {"send": "broken"},
        {"send": "nowhere"},
        {"call": "slow", "as": "x"},
        {"return": {"$": "x"}},
    ]
    said = ask(steps)
    assert said.outcome.value == "slow"
    assert [made.operation for made in said.calls] == ["broken", "slow"]


@pytest.mark.parametrize(
    ("late", "reason"), [("cancel", None), ("run", None), ("reject", "uncaught")]
)
def test_a_call_that_is_left_unobserved_fails_the_run_where_that_is_declared(
    late: str, reason: str | None
) -> None:
    """A run that fails anyway keeps its own reason."""
    error = ask([{"send": "slow"}, {"return": 1}], late_calls=late).outcome.error
    assert (error and error.reason) == reason
    answered = [{"send": "one"}, {"call": "slow"}, {"return": 1}]
    assert ask(answered, late_calls=late).outcome == Outcome(True, 1)
    own = ask([{"send": "slow"}, {"act": "memory"}], late_calls=late).outcome.error
    assert own == UNCAUGHT._replace(reason="memory")


def test_replies_come_in_the_order_of_their_delays_or_of_their_release() -> None:
    """And reach the right calls."""
    slots = [
        [{"call": "third", "as": name}, {"push": "order", "value": {"$": name}}] for name in "abc"
    ]
    steps = [{"all": slots}, {"return": {"$": "order"}}]
    assert result(*steps) == ["c", "a", "b"]
    delays = [
        [{"call": "first", "as": name}, {"push": "order", "value": {"$": name}}] for name in "ab"
    ]
    assert result({"all": delays}, {"return": {"$": "order"}}) == ["second", "first"]


def test_a_release_that_waits_for_what_is_never_asked_stalls_to_the_deadline() -> None:
    """The first answer of `third` comes only after that of its third call."""
    assert result({"call": "third"})["code"] == "deadline_exceeded"


DEADLINE = {"code": "deadline_exceeded", "limit": 10_000}


@pytest.mark.parametrize(
    "steps",
    [
        [{"act": "spin"}],
        [{"try": [{"act": "spin"}], "catch": [{"return": 1}]}],
        [{"call": "lost"}],
        [{"try": [{"call": "late"}], "catch": [{"return": 1}]}],
        [{"send": "lost"}, {"act": "stall"}],
    ],
)
def test_a_program_without_an_end_ends_at_its_deadline(steps: list[Any]) -> None:
    """Whatever it waits for, and whatever it would catch."""
    said = ask(steps)
    assert (said.outcome.error, said.elapsed_ms) == (
        Refusal("deadline_exceeded", limit=10_000),
        10_000,
    )


def test_a_program_that_can_never_settle_ends_as_declared() -> None:
    """At once as stalled, or at its deadline."""
    stalled = {"code": "code_rejected", "reason": "stalled"}
    assert result({"act": "stall"}) == stalled
    assert result({"act": "stall"}, stall="deadline") == DEADLINE
    # An answer that is still to come is waited for first.
    said = ask([{"send": "slow"}, {"act": "stall"}])
    assert (said.outcome.error.reason, said.elapsed_ms) == ("stalled", 150)


def test_waiting_is_not_charged_where_it_is_excluded() -> None:
    """An operation has its own deadline there, at which it fails."""
    excluded = {"profile": "inline-sync", "operation_failure": "throw"}
    assert result(*told({"call": "late"}), **excluded)["code"] == "operation_failed"
    said = ask([{"try": [{"call": "lost"}]}, {"return": 1}], **excluded)
    assert (said.outcome, said.elapsed_ms) == (Outcome(True, 1), 60_000)
    never = ask([{"call": "lost"}], host_wait="excluded")
    assert never.outcome.error == Refusal("deadline_exceeded", limit=10_000)


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ({}, Refusal("cpu_time_exceeded", limit=10_000)),
        ({"wall_time_ms": 9_999}, Refusal("deadline_exceeded", limit=9_999)),
    ],
)
def test_processor_time_ends_a_program_that_computes(
    policy: dict[str, int], error: Refusal
) -> None:
    """Or its wall time, whichever is up first."""
    assert ask([{"act": "spin"}], profile="worker-rpc", policy=policy).outcome.error == error


def test_a_cancelled_program_ends_as_cancelled() -> None:
    """After the call that was named; what it waits for never comes."""
    said = ask([{"call": "one"}, {"call": "one"}, {"return": 1}], cancel_after_call=2)
    assert (said.outcome, len(said.calls)) == (Outcome(error=Refusal("cancelled")), 2)


def test_a_promise_is_no_value_where_calls_return_directly() -> None:
    """Even where more than JSON crosses: no job ever runs."""
    steps = [{"return": {"$odd": "promise"}}]
    sync = {"script_style": "sync", "values": "structured"}
    assert result(*steps, **sync) == {"code": "code_rejected", "reason": "not_json"}
    assert ask(steps, values="structured").odd == (((), "promise"),)


def test_a_program_without_a_return_gives_no_value() -> None:
    """Which is a success only where that is declared."""
    assert result() == {"code": "code_rejected", "reason": "no_value"}
    assert ask([], undefined_result="absent").outcome == Outcome()


# Any program at all

LEAVES = st.sampled_from(
    [
        1,
        "x",
        None,
        {"$": "x"},
        {"$": "e.code"},
        {"$odd": "Map"},
        {"$odd": "undefined"},
        {"$reads": ""},
        {"$nest": ["array", 129]},
        {"$repeat": ["x", 60_000]},
    ]
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=3,
)
NAMED = st.sampled_from([*OPERATIONS, "nowhere"])
SIMPLE = (
    st.builds(lambda name, given: {"call": name, "arguments": given, "as": "x"}, NAMED, EXPRESSIONS)
    | st.builds(lambda name: {"send": name}, NAMED)
    | st.builds(lambda given: {"push": "l", "value": given}, EXPRESSIONS)
    | st.builds(lambda given: {"return": given}, EXPRESSIONS)
    | st.builds(lambda name: {"throw": name}, st.sampled_from(["e", None]))
    | st.builds(lambda kind: {"act": kind}, st.sampled_from(["spin", "stall", "memory", "stack"]))
)


def blocks(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Blocks of these steps."""
    steps = st.lists(inner, min_size=1, max_size=3)
    return (
        st.builds(lambda one, other: {"try": one, "catch": other}, steps, steps)
        | st.builds(lambda times, some: {"repeat": times, "do": some}, st.integers(0, 7), steps)
        | st.builds(lambda some: {"all": some}, st.lists(steps, max_size=4))
        | st.builds(
            lambda times, some: {"all": {"times": times, "do": some}}, st.integers(0, 6), steps
        )
        | st.builds(lambda some: {"if": {"$equal": [{"$": "x"}, 1]}, "do": some}, steps)
    )


PROGRAMS = st.lists(st.recursive(SIMPLE, blocks, max_leaves=10), max_size=8)
CHOICES = st.fixed_dictionaries(
    {
        "profile": st.sampled_from(["process-async", "inline-sync", "worker-rpc"]),
        "exhaustion": st.sampled_from(["catchable", "terminal"]),
        "concurrency_excess": st.sampled_from(["reject", "queue"]),
        "operation_failure": st.sampled_from(["throw", "value"]),
        "late_calls": st.sampled_from(["cancel", "reject"]),
        "values": st.sampled_from(["json", "round_trip", "structured"]),
        "policy": st.fixed_dictionaries(
            {"host_calls": st.integers(1, 5), "concurrent_host_calls": st.integers(1, 3)}
        ),
    }
)


@given(PROGRAMS, CHOICES)
@settings(max_examples=250)
def test_any_program_has_one_outcome_within_its_limits(
    steps: list[Any], chosen: dict[str, Any]
) -> None:
    """The model never fails, and the same input has the same answer."""
    said = ask(steps, **chosen)
    policy = chosen["policy"]
    assert len(said.calls) <= policy["host_calls"]
    assert said.overlap <= policy["concurrent_host_calls"]
    assert said.outcome.error is None or not said.outcome.present
    assert {made.operation for made in said.calls} <= set(OPERATIONS)
    assert said.outcome.error is None or said.outcome.error.code != "worker_protocol_error"
    assert ask(steps, **chosen) == said
