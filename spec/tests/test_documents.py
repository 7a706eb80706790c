"""Reading of YAML and JSON: what is odd or said twice is refused, with its place."""

from __future__ import annotations

import os

import pytest
from codemode_spec.documents import MAX_ALIASES, MAX_NODES, parse_json, parse_yaml, read_document
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
        (
            "!!python/object/apply:os.system ['true']\n",
            "a.file: line 1: the tag tag:yaml.org,2002:python/object/apply:os.system is not all",
        ),
        ("a: !!timestamp 2020-01-01\n", "the tag tag:yaml.org,2002:timestamp is not allowed"),
        ("a: !!bool maybe\n", "the tag tag:yaml.org,2002:bool is not allowed"),
        ("a: !!map [1]\n", "the tag tag:yaml.org,2002:map is not allowed"),
        ("a: 1\nb: 1e999\n", "a.file: line 2: the number 1e999 is too large for a double"),
        ("a: 9007199254740993\n", "line 1: no double holds the integer 9007199254740993 exactly"),
        ("9" * 5000, "line 1: no double holds the integer 99999999999999999999... exactly"),
        ("a: &x 1\nb: &x 2\n", "line 2: found duplicate anchor; first occurrence, second occurr"),
        ("a: 1\n---\nb: 2\n", "expected a single document in the stream, but found another"),
        ("a: &x [*x]\n", "a.file: line 1: found unconstructable recursive node"),
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


def test_what_aliases_stand_for_is_bounded() -> None:
    """A few lines do not become a million values, where each names the one before it twice."""
    rows = "".join(f"- &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 25))
    reason = f"values with its aliases written out; at most {MAX_NODES} are allowed"
    assert reason in _refusal(parse_yaml, "- &a0 [1, 1]\n" + rows)


def test_integers_that_a_double_holds_are_read() -> None:
    """Beyond 2^53 every other one is."""
    for parse in (parse_json, parse_yaml):
        assert parse("[9007199254740992, -9007199254740994, 0]", "a") == [2**53, -(2**53) - 2, 0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "a.file: the key 'a' stands twice"),
        ("[NaN]", "a.file: NaN is not JSON"),
        ('{\n"a": }', "a.file: line 2: Expecting value"),
        ("9" * 5000, "a.file: no double holds the integer 99999999999999999999... exactly"),
        ("[9007199254740993]", "a.file: no double holds the integer 9007199254740993 exactly"),
        ("[1e999]", "a.file: the number 1e999 is too large for a double"),
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
        ("", "it is a folder, not a file"),
    ):
        with pytest.raises(SpecificationError) as caught:
            read_document(tmp_path / name, name)
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a.{0}: it is empty"),
        (b" \n", "a.{0}: it is empty"),
        (b"\xef\xbb\xbf{}", "a.{0}: line 1: it begins with a byte order mark; save it without one"),
    ],
)
@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_an_empty_file_and_a_byte_order_mark_are_told(tmp_path, ending, data, reason) -> None:
    """In the same words for both formats."""
    path = tmp_path / f"a.{ending}"
    path.write_bytes(data)
    with pytest.raises(SpecificationError) as caught:
        read_document(path, path.name)
    assert str(caught.value) == reason.format(ending)


def test_what_is_no_regular_file_is_not_opened(tmp_path) -> None:
    """A pipe without a writer would be waited for, and a device be read without end."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "device.json"):
        with pytest.raises(SpecificationError) as caught:
            read_document(tmp_path / name, name)
        assert str(caught.value) == f"{name}: it is no regular file"


def test_half_a_surrogate_pair_is_refused(tmp_path) -> None:
    """It could be neither printed nor digested."""
    path = tmp_path / "a.json"
    path.write_text('{"a": ["b", "\\ud800"]}', encoding="utf-8")
    with pytest.raises(SpecificationError) as caught:
        read_document(path, "a.json")
    assert str(caught.value) == "a.json: /a/1: '\\ud800': it holds half a surrogate pair"
    path.write_text('["\\ud83d\\ude00"]', encoding="utf-8")
    assert read_document(path, "a.json") == ["\U0001f600"]
