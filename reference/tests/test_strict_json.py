"""The strict reader."""

import subprocess
import sys

import pytest
from codemode_reference.strict_json import NotStrictError, read, well_formed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"null", None),
        (b' {"a": [1, -2.5, "x", true, false]}\r', {"a": [1, -2.5, "x", True, False]}),
        (b"9007199254740991", 9007199254740991),
        (b"-9007199254740991", -9007199254740991),
        (b"9007199254740993", 9007199254740992.0),
        (b"1" + b"0" * 308, 1e308),
        (b"-0", 0),
        (b"1e-400", 0.0),
        (rb'"\ud83d\ude00 \\ud800"', "\U0001f600 \\ud800"),
        ('"é\x7f"'.encode(), "é\x7f"),
    ],
)
def test_legal_text_has_its_value(text, expected):
    """Any legal spelling and white space is accepted."""
    found = read(text, 128)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\r",
        b"nul",
        b"\xef\xbb\xbf{}",
        b'{"a":"\xff\xfe"}',
        "{}".encode("utf-16"),
        b'{"a":1,"a":1}',
        b'[{"a":{"b":1,"b":2}}]',
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"01",
        b"1.",
        b".5",
        b"+1",
        b"[1,]",
        b"{'a':1}",
        b"{} {}",
        b"1e999",
        b"-1e999",
        b"9" * 309,
        b"9" * 5000,
        rb'"\ud800"',
        rb'{"\udc00":1}',
        rb'["\ude00\ud83d"]',
        b'"\x01"',
        b'"\\x41"',
        b'"open',
        b"[" * 60_000,
        b"\xc2\xa01",
    ],
)
def test_illegal_text_is_refused(text):
    """Everything that I-JSON forbids is refused, and nothing else is raised."""
    with pytest.raises(NotStrictError):
        read(text, 128)


def test_the_depth_limit_is_exact():
    """A text nested as deep as the limit is legal, one deeper is not."""
    assert read(b"[" * 128 + b"]" * 128, 128)
    with pytest.raises(NotStrictError, match="deep"):
        read(b"[" * 129 + b"]" * 129, 128)
    assert read(b'{"a":' * 2 + b"[]" + b"}" * 2, 3)
    with pytest.raises(NotStrictError, match="deep"):
        read(b'{"a":' * 3 + b"[]" + b"}" * 3, 3)


@pytest.mark.parametrize("opening", ["[", '{"a":', '["]",', '["\\\\",', '["\\"",'])
def test_depth_is_refused_before_the_stack_is_used(opening):
    """A deep text is refused on a thread with a small stack too; it would end the process."""
    program = """
import sys, threading
from codemode_reference.strict_json import NotStrictError, read
def run():
    try:
        read(sys.argv[1].encode() * 9000, 128)
    except NotStrictError as error:
        print(error)
threading.stack_size(65536)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    words = [sys.executable, "-c", program, opening]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "nested too deep\n"), found.stderr


def test_brackets_in_strings_are_not_depth():
    """Whatever stands in a string is text, escaped quotes and backslashes included."""
    for text in ('"' + "[" * 200 + '"', r'["\\", "\"' + "[{" * 200 + r'", "\\\"["]'):
        assert read(text.encode(), 1)


def test_many_brackets_are_not_depth():
    """Only nesting counts, not the number of containers."""
    assert len(read(b"[" + b",".join([b"[]"] * 500) + b"]", 2)) == 500


def test_lone_surrogates_are_told_apart():
    """A pair is well formed, a half is not."""
    assert well_formed("\U0001f600")
    assert not well_formed("\ud83d")
