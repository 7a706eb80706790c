"""Reading of YAML and JSON: what is odd or said twice is refused, with its place."""

from __future__ import annotations

import pytest
from codemode_spec.documents import MAX_ALIASES, parse_json, parse_yaml, read_document
from codemode_spec.failures import SpecificationError


def _refusal(parse, text: str) -> str:
    with pytest.raises(SpecificationError) as caught:
        parse(text, "a.file")
    return str(caught.value)


def test_yaml_scalars_are_read_as_json_would() -> None:
    """Words that YAML 1.1 takes for booleans, times and octal numbers stay text."""
    text = "[no, on, 1:30, 010, 1_000, .5, 0x10, true, null, 1e3, -2.5, 7, ~, 2001-01-01]"
    assert parse_yaml(text, "a") == [
        *("no", "on", "1:30", "010", "1_000", ".5", "0x10"),
        *(True, None, 1000.0, -2.5, 7, "~", "2001-01-01"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\nb: 2\na: 3\n", "a.file: line 3: the key 'a' stands twice"),
        ("1: a\n", "a.file: line 1: the key 1 is not text; quote it"),
        ("a: [1\n", "a.file: line 2: did not find expected ',' or ']'"),
        ("!!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        ("[" * 5000 + "]" * 5000, "a.file: line 1: exceeded maximum nesting depth"),
    ],
)
def test_bad_yaml_is_refused_with_file_line_and_reason(text: str, reason: str) -> None:
    """Each message can be acted on."""
    assert reason in _refusal(parse_yaml, text)


def test_aliases_are_bounded() -> None:
    """A document cannot grow by references to itself."""
    text = "- &a x\n" + "- *a\n" * (MAX_ALIASES + 1)
    assert f"{MAX_ALIASES + 1} aliases; at most {MAX_ALIASES}" in _refusal(parse_yaml, text)
    assert len(parse_yaml("- &a x\n" + "- *a\n" * MAX_ALIASES, "a")) == MAX_ALIASES + 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "a.file: the key 'a' stands twice"),
        ("[NaN]", "a.file: NaN is not JSON"),
        ('{\n"a": }', "a.file: line 2: Expecting value"),
        ("9" * 5000, "a.file: Exceeds the limit"),
        ("[" * 100_000, "a.file: it is nested too deeply"),
    ],
)
def test_bad_json_is_refused_with_file_line_and_reason(text: str, reason: str) -> None:
    """Python's leniency is switched off."""
    assert reason in _refusal(parse_json, text)


def test_unreadable_files_are_named(tmp_path) -> None:
    """A missing file, a folder and a file that is not UTF-8 each have their message."""
    (tmp_path / "bad.json").write_bytes(b'"\xff"')
    for name, reason in (
        ("none.json", "none.json: there is no such file"),
        ("bad.json", "bad.json: byte 1: it is not UTF-8"),
        ("", "Is a directory"),
    ):
        with pytest.raises(SpecificationError) as caught:
            read_document(tmp_path / name, name)
        assert reason in str(caught.value)
