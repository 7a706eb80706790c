"""The check of arguments against a schema."""

import pytest
from codemode_reference.arguments import ArgumentSchema, SchemaRefusedError
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

names = st.sampled_from("abc")
scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0, "", "a", "bb"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner), max_leaves=6
)
types = st.sampled_from(["null", "boolean", "number", "integer", "string", "array", "object"])
small = st.integers(0, 3)


def objects(parts):
    """Schemas of at most four keywords, so that some values match; `parts` are those inside."""
    lists = st.lists(parts, min_size=1, max_size=3)
    maps = st.dictionaries(names, parts, max_size=2)
    several = st.lists(names, unique=True, max_size=2)
    keywords = {
        "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
        "enum": st.lists(values, max_size=3),
        "const": values,
        "$ref": st.sampled_from(["#/$defs/a", "#/definitions/b"]),
        **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], lists),
        **dict.fromkeys(["not", "if", "then", "else", "items", "contains", "propertyNames"], parts),
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], small),
        **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems"], small),
        **dict.fromkeys(["minProperties", "maxProperties", "minContains", "maxContains"], small),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "uniqueItems": st.booleans(),
        "properties": maps,
        "dependentSchemas": maps,
        "additionalProperties": parts,
        "required": several,
        "dependentRequired": st.dictionaries(names, several, max_size=2),
        "description": st.just("text"),
    }
    chosen = st.lists(st.sampled_from(sorted(keywords)), unique=True, max_size=4)
    return chosen.flatmap(
        lambda found: st.fixed_dictionaries({name: keywords[name] for name in found})
    )


leaves = st.booleans() | objects(st.booleans())
flat = st.fixed_dictionaries({"a": types.map(lambda name: {"type": name}), "b": st.booleans()})


@given(objects(leaves | objects(leaves)), flat, values)
def test_it_agrees_with_the_library(schema, parts, value):
    """Every keyword that is supported means what the library says, in any combination."""
    schema = {**schema, "$defs": parts, "definitions": parts}
    assert ArgumentSchema(schema).accepts(value) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "integer"}, 2.0, True),
        ({"multipleOf": 2}, 4, 3),
        ({"multipleOf": 0.5}, 1e308, 0.75),
        ({"enum": [1, {"a": [0]}]}, {"a": [0.0]}, True),
        ({"contains": {"const": 1}}, [0, 1], [0]),
        ({"contains": {"const": 1}, "minContains": 0, "maxContains": 1}, [], [1, 1]),
        ({"prefixItems": [True], "items": False}, [1], [1, 2]),
        ({"if": {"type": "string"}, "then": {"maxLength": 1}}, "a", "ab"),
        ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
    ],
)
def test_keywords_mean_what_the_standard_says(schema, right, wrong):
    """One value on each side."""
    assert ArgumentSchema(schema).accepts(right)
    assert not ArgumentSchema(schema).accepts(wrong)


def test_unique_items_are_compared_in_linear_time():
    """Numbers by value, objects without order; true is not 1."""
    schema = ArgumentSchema({"type": "array", "uniqueItems": True})
    assert schema.accepts([1, True, "1", [1], {"a": 1}, {"a": 2}, None])
    assert not schema.accepts([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}])
    assert not schema.accepts([1, 1.0])
    assert schema.accepts([item for n in range(6000) for item in (n, {"a": n})])


def test_what_fills_a_frame_is_checked():
    """The steps are enough for the most items that a frame can hold."""
    assert ArgumentSchema({"items": {"type": "number"}}).accepts([1] * 36_000)
    fields = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    schema = {"type": "array", "items": {**fields, "additionalProperties": False}}
    assert ArgumentSchema(schema).accepts([{"a": 1}] * 9_000)
    assert not ArgumentSchema(schema).accepts([{"a": 1}] * 8_999 + [{"a": "1"}])


LINK = {"$ref": "#/$defs/link"}


@pytest.mark.parametrize(
    "link",
    [
        {"anyOf": [{"properties": {"a": LINK}, "required": ["b"]}] * 2},
        {"oneOf": [{"properties": {"a": LINK}, "required": ["b"]}] * 2},
        {"allOf": [{"not": {"properties": {"a": LINK}}}] * 2},
        {"anyOf": [{"properties": {"a": LINK}, "enum": [{"a": 1}]}] * 2},
    ],
)
def test_a_schema_that_branches_at_every_level_ends(link):
    """Two to the power of the depth is more than the steps: refused, at once."""
    value = {}
    for _ in range(60):
        value = {"a": value}
    assert not ArgumentSchema({"$defs": {"link": link}, **LINK}).accepts(value)


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}])
def test_a_schema_that_recurses_without_end_refuses(schema):
    """A check that runs out of stack is a refusal, never a crash."""
    assert not ArgumentSchema(schema).accepts({})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"pattern": "(a+)+$"}, "pattern is not supported"),
        (
            {"properties": {"pattern": {"patternProperties": {}}}},
            "patternProperties is not supported",
        ),
        ({"$defs": {"a": {"anyOf": [{"unevaluatedItems": False}]}}}, "unevaluatedItems is not"),
        ({"items": {"$dynamicRef": "#"}}, "dynamicRef is not supported"),
        ({"not": {"$id": "x"}}, "id is not supported below the top"),
        ({"$ref": "#/properties/a"}, "ref is supported for"),
        ({"$ref": "http://127.0.0.1/x"}, "ref is supported for"),
        ({"type": "nonsense"}, "no JSON Schema"),
        ({"title": "x" * 8000}, "fits no execute frame"),
    ],
)
def test_what_has_no_bound_is_refused_at_start(schema, message):
    """A keyword is named; nothing is fetched and no pattern is ever run."""
    with pytest.raises(SchemaRefusedError, match=message):
        ArgumentSchema(schema)


def test_data_is_no_schema():
    """A property, a constant or a default may be called like a keyword."""
    schema = {"properties": {"pattern": {"const": {"pattern": "x"}}}, "default": {"pattern": 1}}
    assert ArgumentSchema({"$id": "urn:a", **schema}).accepts({"pattern": {"pattern": "x"}})


def test_a_schema_of_shared_parts_is_refused():
    """Its text would fill the memory."""
    schema = {}
    for _ in range(30):
        schema = {"allOf": [schema, schema]}
    with pytest.raises(SchemaRefusedError, match="frame"):
        ArgumentSchema(schema)
