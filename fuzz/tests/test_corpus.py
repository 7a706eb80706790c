"""The corpus, replayed without a fuzzer."""

import pytest
from codemode_fuzz.replay import corpus, files, replay
from codemode_fuzz.targets import INSTRUMENTED, load

FOUND = "found-"


@pytest.mark.parametrize("name", INSTRUMENTED)
def test_the_corpus_has_no_findings(name):
    """Every input that is kept passes its oracle."""
    assert list(replay(load(name).check, [corpus(name)])) == []


@pytest.mark.parametrize("name", INSTRUMENTED)
def test_the_corpus_is_the_seeds_and_what_was_found(name):
    """Seeds are made, never edited; small, and less than a megabyte together."""
    kept = {path.stem: path.read_bytes() for path in files([corpus(name)])}
    seeds = {seed: data for seed, data in kept.items() if not seed.startswith(FOUND)}
    assert seeds == load(name).seeds(), "run: python -m codemode_fuzz seeds " + name
    assert max(map(len, kept.values())) < 8192
    assert sum(map(len, kept.values())) < 1_000_000
