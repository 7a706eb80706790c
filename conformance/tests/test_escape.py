"""Text of a target is printed so that it can neither steer a terminal nor hide."""

import json
import re
import shlex
import subprocess

import pytest
from codemode_conformance.escape import for_json, for_shell, for_terminal, quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, née, 日本", "plain, née, 日本"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\r\nb\tc", "a\\x0d\\x0ab\\x09c"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202edef", "abc\\u202edef"),
        ("a\u200bb\ufeffc", "a\\u200bb\\ufeffc"),
        ("x\u3164y\ufe0f", "x\\u3164y\\ufe0f"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("back\\slash", "back\\\\slash"),
        ("\u2028", "\\u2028"),
        ("::error::x", "\\x3a:error::x"),
        ("a ::error::x std::move", "a \\x3a:error::x std::move"),
        ("a##[add-mask]e", "a\\x23#[add-mask]e"),
        ("##vso[task.x]y ##teamcity[z] ## [", "\\x23#vso[task.x]y \\x23#teamcity[z] ## ["),
    ],
)
def test_steering_and_invisible_characters_become_visible(text: str, shown: str) -> None:
    """C0, C1, bidi, zero-width, fillers, surrogates, tags, commands to CI: written as escapes."""
    assert for_terminal(text) == shown


def test_a_quotation_is_cut_and_says_how_long_the_text_was() -> None:
    """Only the first characters of a long text are shown."""
    assert quoted("short") == '"short"'
    assert quoted("x" * 10, 4) == '"xxxx" ... (10 in all)'
    assert quoted(b"\xff\x1b" + b"y" * 8, 3) == '"\ufffd\\x1by" ... (10 in all)'


@pytest.mark.parametrize(
    "word",
    [
        "plain",
        "two words",
        "it's",
        "a\nb",
        "\x1b[0m",
        "back\\slash",
        "$HOME",
        "née",
        "",
        "::error::x",
        "##[x]y",
    ],
)
def test_a_shell_reads_the_same_words_back(word: str) -> None:
    """A reproduction line survives a shell, and prints no control character itself."""
    line = for_shell(["printf", "%s", word])
    assert line.isprintable()
    result = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert result.stdout.decode() == word


def test_plain_words_stay_plain() -> None:
    """Words without special characters are not quoted."""
    assert for_shell(["npm", "ci", "--no-audit"]) == "npm ci --no-audit"
    assert shlex.split(for_shell(["a b", "c"])) == ["a b", "c"]


def test_json_means_the_same_and_commands_nothing() -> None:
    """Whatever a target says, backslashes before it included."""
    value = {"##[add-mask]e": ["##vso[x]y", "\\##[x]", "\\\\##[x]", " ::error::x", "## a"]}
    text = for_json(json.dumps(value))
    assert json.loads(text) == value
    assert not re.search(r"##\w*\[|\s::", text)
