"""Templates: integer expressions over names, and nothing else."""

from __future__ import annotations

import pytest
from codemode_spec.failures import TemplateError
from codemode_spec.templates import names_in, resolve, resolve_lets

NAMES = {"limit": 10, "half": 3, "text": "words", "nothing": None}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("@{limit}", 10),
        ("@{limit + half * 2}", 16),
        ("@{(limit - 1) // 2}", 4),
        ("@{-limit}", -10),
        ("@{text}", "words"),
        ("@{nothing}", None),
        ("at most @{limit}!", "at most 10!"),
        ("@{text}@{limit}", "words10"),
        ("@@{limit}", "@{limit}"),
        ("plain { } ${limit}", "plain { } ${limit}"),
        ({"a": ["@{limit}", 1.5, True]}, {"a": [10, 1.5, True]}),
    ],
)
def test_a_template_takes_the_type_of_its_value(template: object, value: object) -> None:
    """Alone it keeps the type, inside of text it becomes text."""
    result = resolve(template, NAMES)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("@{unknown}", "needs unknown, which has no number here"),
        ("@{text + 1}", "computes with 'words', which is no integer"),
        ("@{limit / 2}", "may use integers, names, + - * // and parentheses only"),
        ("@{limit // 0}", "may use integers"),
        ("@{limit ** 9}", "may use integers"),
        ("@{1.5}", "may use integers"),
        ("@{True}", "may use integers"),
        ("@{limit(1)}", "may use integers"),
        ("@{}", "is no expression"),
        ("@{limit +}", "is no expression"),
        ("@{limit", "a template is not closed; write @@{ where @{ is meant"),
        ("at most @{limit", "a template is not closed"),
        ("@{" + "(" * 300 + "1" + ")" * 300 + "}", r"^.{65}\} is no expression$"),
        ("@{99999999 * 99999999 * limit}", r"is beyond 2\^53-1"),
    ],
)
def test_what_is_no_integer_expression_is_refused(template: str, reason: str) -> None:
    """Templates are data, not programs."""
    with pytest.raises(TemplateError, match=reason.replace("+", r"\+").replace("*", r"\*")):
        resolve(template, NAMES)


def test_lets_may_use_rows_and_the_lets_before_them() -> None:
    """In their order, as the file gives them."""
    lets = {"n": "@{limit - 2}", "twice": "@{n * 2}", "word": "n is @{n}"}
    assert resolve_lets(lets, {"limit": 10}) == {"limit": 10, "n": 8, "twice": 16, "word": "n is 8"}
    with pytest.raises(TemplateError, match="needs later"):
        resolve_lets({"n": "@{later}", "later": 1}, {})


def test_the_names_of_a_value_are_found() -> None:
    """In keys no template is looked for; a literal `@@{` names nothing."""
    assert names_in({"a": ["@{x + y}", "@@{z}"], "b": "v @{w}"}) == {"x", "y", "w"}
    assert names_in([]) == names_in({}) == names_in(3) == set()
