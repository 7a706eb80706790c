"""What the kit does besides fuzzing, without atheris."""

import subprocess
import sys
from pathlib import Path

import pytest
from codemode_fuzz import (
    covering,
    main,
    merging,
    promoting,
    proving,
    replay,
    tabling,
    targets,
    verbs,
)
from codemode_fuzz.merging import arcs, merge, sources_of
from codemode_fuzz.promoting import promote, size_vector
from codemode_fuzz.targets import load
from codemode_fuzz.walking import walk


def run(*words):
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "codemode_fuzz", *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", targets.FAST)
def test_the_corpus_alone_reaches_the_code_under_test(name):
    """At least 95 % of the branches of each module that is asked for, and what the page says."""
    ended = run("coverage", name)
    assert ended.returncode == verbs.OK, ended.stdout + ended.stderr
    measured = {line.split()[1].rpartition(".")[2] for line in ended.stdout.splitlines()}
    assert measured >= set(covering.ASKED.get(name, ()))
    assert "less than" not in ended.stdout
    row = tabling.table({name: tabling.told(name, ended.stdout)})
    there = tabling.on_page(tabling.PAGE.read_text(encoding="utf-8"))
    assert there[list(targets.INSTRUMENTED).index(name) + 2] in row, "run: table write"


def test_code_that_the_corpus_does_not_reach_is_told(monkeypatch, capsys):
    """Exit 1 and a mark at the line."""
    low = covering.Covered("policy", "codemode_reference.policy", 3, 100.0, 94.9)
    monkeypatch.setattr(verbs, "covered", lambda name: [low])
    assert main.main(["coverage", "policy"]) == verbs.FOUND
    assert "94.9 % branches  less than 95 %" in capsys.readouterr().out


def test_what_is_planted_is_found_from_the_corpus(capsys):
    """A chunk boundary, the type of an id, a size: each in a minute of work, and not without it."""
    assert main.main(["prove", "1"]) == verbs.OK
    out = capsys.readouterr().out
    assert out.count("mutation of the others: after") == 5
    assert "NOT FOUND" not in out


def test_what_is_not_found_is_told(monkeypatch, capsys):
    """A plant that nothing finds is an error, and so is one that is found without it."""
    monkeypatch.setattr(proving, "SECONDS", 0.0)
    assert main.main(["prove"]) == verbs.FOUND
    assert "NOT FOUND" in capsys.readouterr().out


def looks(data):
    """Something with branches."""
    if b"a" in data:
        found = 1
        if b"b" in data:
            found = 2
        return found
    if b"!" in data:
        raise ValueError
    return 0


def test_merging_keeps_what_reaches_more_and_the_smallest_of_it():
    """Nothing twice, no finding, nothing that the corpus reaches already."""
    here = frozenset({looks.__code__.co_filename})
    assert merge(looks, [], [b"", b"xa", b"a", b"aab", b"ab", b"!", b"zz"], here) == [
        b"",
        b"a",
        b"ab",
    ]
    assert merge(looks, [b"ab"], [b"", b"xa", b"ab", b"aab"], here) == [b"", b"xa"]
    assert arcs(looks, b"ab", here) > arcs(looks, b"", frozenset())
    assert arcs(looks, b"ab", here) != arcs(looks, b"a", here)


def test_inputs_of_a_run_are_merged_into_the_corpus(tmp_path, monkeypatch, capsys):
    """One of a hundred copies is kept, under a name of its own, and the second time none."""
    home, found = tmp_path / "corpus", tmp_path / "found"
    found.mkdir()
    monkeypatch.setattr(merging, "corpus", lambda name: home)
    for number, data in enumerate(load("policy").seeds().values()):
        (found / f"{number}").write_bytes(data)
    assert main.main(["merge", "policy", str(found)]) == verbs.OK
    kept = list(home.iterdir())
    assert 3 <= len(kept) < 40
    assert all(path.name.startswith(merging.MERGED) for path in kept)
    assert f"of which {len(kept)} reach" in capsys.readouterr().out
    assert main.main(["merge", "policy", str(found)]) == verbs.OK
    assert "of which 0 reach" in capsys.readouterr().out
    (source,) = sources_of(["codemode_reference.policy"])
    assert Path(source).name == "policy.py"


def finds(data):
    """Something in every long input."""
    if len(data) > 3:
        raise ValueError("x")


def test_a_walk_records_and_ends(tmp_path):
    """One folder for one fault; it ends in time, and where it is told to begin."""
    target = targets.Target("t", finds, lambda data, size, seed: data + b"a", dict, 10)
    done = walk("t", target, [b"aaa"], tmp_path, runs=30, seed=1)
    assert (done.runs, len(done.homes)) == (30, 1)
    (home,) = done.homes
    assert (home / "input.bin").read_bytes() == b"aaaa"
    assert walk("t", target, [b"aaa"], tmp_path, runs=30, seed=1, seconds=-1.0).runs == 0


def test_walking_is_told(tmp_path, monkeypatch, capsys):
    """How many, how fast, what was found."""
    monkeypatch.setenv("CMCONF_CACHE", str(tmp_path))
    assert main.main(["walk", "policy", "-runs=20", "-seed=3", "-first=5"]) == verbs.OK
    assert "policy: 20 inputs in" in capsys.readouterr().out
    monkeypatch.setattr(
        verbs, "load", lambda name: targets.Target("t", finds, lambda *_: b"aaaa", dict, 10)
    )
    assert main.main(["walk", "policy", "-runs=20"]) == verbs.FOUND
    assert "finding: " in capsys.readouterr().out


def test_a_finding_is_promoted(tmp_path, monkeypatch):
    """To an input that is kept, and to a vector where it is plain JSON."""
    vectors = tmp_path / "sizes.json"
    vectors.write_text('{\n  "vectors": [\n    {"id": "a", "json": "1", "size": 1}\n  ]\n}\n')
    monkeypatch.setattr(promoting, "corpus", lambda name: tmp_path / name)
    monkeypatch.setattr(promoting, "_VECTORS", vectors)
    finding = tmp_path / "finding"
    finding.mkdir()
    (finding / "input.bin").write_bytes('"é"'.encode())
    kept, again = promote("values", finding, "an-accent")
    assert kept.read_bytes() == '"é"'.encode()
    assert again == vectors
    assert (
        '    {"id": "found.an-accent", "json": "\\"\\u00e9\\"", "size": 4}\n  ]'
        in vectors.read_text()
    )
    with pytest.raises(ValueError, match="is there already"):
        promote("values", finding, "an-accent")
    with pytest.raises(ValueError, match="is no name"):
        promote("values", finding, "An accent")
    assert promote("frames", finding / "input.bin", "some-bytes") == [
        tmp_path / "frames" / "found-some-bytes.bin"
    ]


def test_a_vector_says_what_the_specification_says():
    """A size or a refusal; nothing for what is no JSON."""
    assert size_vector("a", b"1.0") == {"id": "a", "json": "1.0", "size": 1}
    refused = {"id": "a", "json": "9007199254740993", "refused": "inexact_integer"}
    assert size_vector("a", b"9007199254740993") == refused
    assert size_vector("a", b"NaN") is None
    assert size_vector("a", b'{"a":1,"a":2}') is None


def test_the_corpus_of_a_target_stands_in_the_repository():
    """One folder for each."""
    for name in targets.INSTRUMENTED:
        assert replay.corpus(name).is_dir(), name
