"""The reading in JavaScript: it agrees, a disagreement is told, and its absence is no failure."""

import shutil

import pytest
from codemode_fuzz import agreeing, reading, verbs
from codemode_fuzz.agreeing import NoNodeError, disagreements, inputs, node
from codemode_fuzz.main import main

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node on PATH")


@needs_node
def test_both_readings_agree_on_the_corpora(capsys):
    """Every line and every text of the corpora, and some mutations."""
    assert main(["agree", "40", "3"]) == verbs.OK
    asked, words = capsys.readouterr().out.split(" ", 1)
    assert int(asked) > 900
    assert words == "questions, 0 disagreements\n"


@needs_node
def test_a_disagreement_is_told(monkeypatch, capsys):
    """Exit 1 with the input and both answers."""
    sound = reading.frame
    broken = ("result", {"type": "result", "invocation_id": 1}), ("malformed", {})
    monkeypatch.setattr(
        reading, "frame", lambda line: broken if line == b'{"type":1}' else sound(line)
    )
    monkeypatch.setattr(agreeing, "size_of", lambda value, depth: 7)
    asked, parted = disagreements([("frames", b'{"type":1}\nx'), ("values", b"[1]")])
    assert (asked, [one.data for one in parted]) == (3, [b'{"type":1}', b"[1]"])
    assert parted[1].theirs == {"size": 3}
    monkeypatch.setattr(verbs, "disagreements", lambda found: (3, parted))
    assert main(["agree"]) == verbs.FOUND
    assert "{'size': 7} here, {'size': 3} in Node" in capsys.readouterr().out


def test_what_is_asked_is_a_pure_function_of_the_seed():
    """The corpora first."""
    assert list(inputs(5, 1)) == list(inputs(5, 1)) != list(inputs(5, 2))


@pytest.mark.parametrize("version", [None, "v18.1.0", "no version"])
def test_without_node_it_is_skipped(version, tmp_path, monkeypatch, capsys):
    """Exit 0 and what to install."""
    if version is not None:
        fake = tmp_path / "node"
        fake.write_text(f"#!/bin/sh\necho {version}\n")
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoNodeError, match="Node 20 or later"):
        node()
    assert main(["agree", "1"]) == verbs.OK
    assert capsys.readouterr().out.startswith("skipped: ")


FAKE = """#!/bin/sh
case "$1" in --version) echo v22.0.0; exit;; esac
while read -r line; do
  case "$line" in *'"666"'*) exec sleep 60;; *'"13"'*) echo broken >&2; exit 7;; esac
  echo '{"size": 1}'
done
"""


@pytest.fixture
def fake_node(tmp_path, monkeypatch):
    """A node that says 1 for every size, hangs at the text 666 and dies at the text 13."""
    program = tmp_path / "node"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(agreeing, "_SECONDS", 1)


@pytest.mark.usefixtures("fake_node")
def test_a_question_that_is_never_answered_is_a_disagreement():
    """The ones after it are asked all the same."""
    asked, parted = disagreements([("values", text) for text in (b"1", b"666", b"2", b"77")])
    assert asked == 4
    assert [(one.data, one.theirs) for one in parted] == [
        (b"666", {"raised": "no answer within 1 seconds"}),
        (b"77", {"size": 1}),
    ]


@pytest.mark.usefixtures("fake_node")
@pytest.mark.parametrize(
    ("text", "words"),
    [(b"13", "node ended with 7: broken"), (b"666", "node was 4 times still busy after 1 second")],
)
def test_a_node_that_does_not_go_on_is_told(text, words, monkeypatch, capsys):
    """Exit 1 and one line, no traceback, and no end of waiting."""
    monkeypatch.setattr(verbs, "inputs", lambda runs, seed: [("values", text)] * 9)
    assert main(["agree", "1"]) == verbs.FOUND
    assert capsys.readouterr().out.startswith(words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("cat >/dev/null", "node ended with 0 and left 9 questions without an answer"),
        (
            "cat >/dev/null; printf '\\033[31m\\n'",
            "node gave an answer that is no JSON object: '\\x1b[31m'",
        ),
        ("cat >/dev/null; echo 5", "node gave an answer that is no JSON object: '5'"),
        (
            "cat >/dev/null; yes '{}' | head -n 10",
            "node gave more answers than the 9 that it was asked for",
        ),
        ("printf '\\033[31m' >&2; exit 3", "node ended with 3: \\x1b[31m"),
    ],
)
def test_a_node_that_answers_wrongly_is_told(body, words, tmp_path, monkeypatch, capsys):
    """Exit 1 and one line that a terminal can show: no traceback, and no asking again for ever."""
    program = tmp_path / "node"
    program.write_text(f'#!/bin/sh\ncase "$1" in --version) echo v22.0.0; exit;; esac\n{body}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(verbs, "inputs", lambda runs, seed: [("values", b"1")] * 9)
    assert main(["agree", "1"]) == verbs.FOUND
    assert capsys.readouterr().out == words + "\n"


@pytest.mark.parametrize(
    "body",
    ["exec sleep 60", "exit 3", "printf '\\377\\033[31m'", "kill -9 $$", "echo v99999999999"],
)
def test_a_node_that_tells_no_version_is_none(body, tmp_path, monkeypatch, capsys):
    """One that hangs, dies or says anything else is as good as absent."""
    program = tmp_path / "node"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(agreeing, "_VERSION_SECONDS", 1)
    assert main(["agree", "1"]) == verbs.OK
    said = capsys.readouterr().out
    assert said.startswith("skipped: ")
    assert said.strip().isprintable()


@pytest.mark.parametrize("words", [["agree", "x"], ["agree", "1", "2", "3"]])
def test_usage(words, capsys):
    """Exit 2."""
    assert main(words) == verbs.USAGE
