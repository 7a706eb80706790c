"""The corpus, replayed without a fuzzer."""

import pytest
from codemode_fuzz.merging import MERGED
from codemode_fuzz.promoting import FOUND
from codemode_fuzz.replay import corpus, files, replay
from codemode_fuzz.targets import INSTRUMENTED, SLOW, load
from codemode_fuzz.walking import step, walk


@pytest.mark.parametrize("name", INSTRUMENTED)
def test_the_corpus_has_no_findings(name):
    """Every input that is kept passes its oracle."""
    assert list(replay(load(name).check, [corpus(name)])) == []


@pytest.mark.parametrize("name", INSTRUMENTED)
def test_the_corpus_is_the_seeds_and_what_was_found(name):
    """Seeds are made, never edited; small, and less than a megabyte together."""
    kept = {path.stem: path.read_bytes() for path in files([corpus(name)])}
    seeds = {seed: data for seed, data in kept.items() if not seed.startswith((FOUND, MERGED))}
    assert seeds == load(name).seeds(), "run: python -m codemode_fuzz seeds " + name
    assert max(map(len, kept.values())) <= 8192
    assert sum(map(len, kept.values())) < 1_000_000


@pytest.mark.parametrize("name", INSTRUMENTED)
def test_a_short_walk_finds_nothing(name, tmp_path):
    """The same inputs each time, made from the corpus; no atheris."""
    target = load(name)
    pool = [path.read_bytes() for path in files([corpus(name)])]
    made = [step(target, pool, 7, number) for number in range(30)]
    assert made == [step(target, pool, 7, number) for number in range(30)]
    assert len(set(made)) > 20
    assert max(map(len, made)) <= target.max_bytes
    runs = 15 if name in SLOW else 250
    done = walk(name, target, pool, tmp_path, runs=runs, seed=7)
    assert done.homes == set()
    assert done.runs == runs
