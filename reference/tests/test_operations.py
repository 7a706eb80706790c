"""The catalogue."""

import pytest
from codemode_reference import Operation, Parent, PolicyError
from codemode_reference.codes import Reason, unknown_names
from codemode_reference.operations import Catalogue, method_names


async def nothing(arguments):
    """Do nothing."""


@pytest.mark.parametrize(
    ("names", "methods"),
    [
        (["list_files", "ListAll", "read"], ["listFiles", "listAll", "read"]),
        (["a-b", "a_b", "a.b"], ["aB", "aB_2", "aB_3"]),
        (["call", "help", "then", "to_string"], ["call_2", "help_2", "then_2", "toString_2"]),
        (["__proto__", "2x", "class"], ["proto", "2x", "class"]),
        (["é!", "?"], ["operation", "operation_2"]),
        (["a_b", "a_b_2", "aB_2"], ["aB", "aB2", "aB2_2"]),
    ],
)
def test_methods_are_named_after_operations(names, methods):
    """camelCase, other characters dropped, numbered on a clash in the order of the catalogue."""
    assert method_names(names) == methods


def test_a_name_twice_is_refused():
    """A catalogue has each name once."""
    with pytest.raises(PolicyError) as caught:
        Catalogue([Operation("a", nothing), Operation("a", nothing)])
    assert caught.value.field == "operations"


def test_a_bad_schema_is_refused_at_start():
    """A schema that is none fails before any program runs."""
    with pytest.raises(PolicyError) as caught:
        Catalogue([Operation("a", nothing, arguments={"type": "nonsense"})])
    assert caught.value.field == "operations"
    assert str(caught.value) == (
        "the policy is invalid: operations (the arguments of 'a': it is no JSON Schema)"
    )


def test_a_catalogue_that_fills_the_frame_is_refused_at_start():
    """Everything in `execute` but the source has its own bound."""
    with pytest.raises(PolicyError) as caught:
        Parent(None, [Operation("a" * 8000, nothing)])
    assert (caught.value.code, caught.value.field) == ("invalid_policy", "operations")


def nested(levels):
    """A schema with so many levels of properties below it."""
    schema = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    "operation",
    [
        Operation(7, nothing),
        Operation("\ud800", nothing),
        Operation("a", nothing, effect="both"),
        Operation("a", nothing, arguments={"maximum": float("inf")}),
        Operation("a", nothing, arguments={"properties": {1: {}}}),
        Operation("a", nothing, arguments={"default": (1, 2)}),
        Operation("a", nothing, arguments={"title": "\ud800"}),
        Operation("a", nothing, arguments={"const": 2**60 + 1}),
        Operation("a", nothing, arguments=nested(63)),
        Operation("a", nothing, arguments=nested(400)),
    ],
)
def test_what_no_worker_would_read_is_refused_at_start(operation):
    """Else every invocation would end as worker_exited."""
    with pytest.raises(PolicyError) as caught:
        Parent(None, [operation])
    assert caught.value.field == "operations"


def test_the_deepest_schema_is_read(run, operations):
    """One level less is no fault."""
    operations.append(Operation("deep", nothing, arguments=nested(62)))
    assert run("return 1").value == 1


def test_arguments_are_checked_against_the_schema():
    """Without a schema anything goes."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    catalogue = Catalogue([Operation("a", nothing, arguments=schema), Operation("b", nothing)])
    assert catalogue.accepts("a", {"n": 1})
    assert not catalogue.accepts("a", {})
    assert catalogue.accepts("b", None)


def test_names_that_the_table_lacks_are_found():
    """A code or reason without an entry in the table fails at import."""
    assert unknown_names({}, Reason) == [reason.value for reason in Reason]
    assert unknown_names({reason.value: 1 for reason in Reason}, Reason) == []
