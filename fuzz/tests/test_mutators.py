"""Mutators and seeds: pure functions that reach both sides of every rule."""

import subprocess
import sys
from collections import Counter
from random import Random

import pytest
from codemode_fuzz import legal, reading
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.mutators import frames, mutate_frames
from codemode_fuzz.spelling import Members, Raw, escaped, spell
from codemode_spec.schemas import validator

PROGRAM = """
import hashlib
from codemode_fuzz.mutators import frames, mutate_frames
found = hashlib.sha256()
data = b""
for seed in range(200):
    found.update(frames(seed))
    data = mutate_frames(data, 5000, seed)
    found.update(data)
print(found.hexdigest())
"""


def test_mutation_is_a_pure_function_of_its_seed():
    """The same in another process, whatever its hash seed."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len({frames(seed) for seed in range(100)}) > 90


def test_mutation_keeps_to_the_size():
    """No result is longer than the fuzzer allows."""
    data = b""
    for seed in range(300):
        data = mutate_frames(data, 200, seed)
        assert len(data) <= 200


@pytest.mark.parametrize("kind", legal.KINDS)
def test_legal_frames_are_legal(kind):
    """By the second reading and by the schema, in any spelling."""
    for seed in range(100):
        rng = Random(seed)
        frame = legal.frame(rng, kind)
        assert reading.frame(spell(frame))[0] == (kind, frame)
        assert reading.frame(spell(frame, rng))[0] == (kind, frame)
        assert validator("frame", kind).is_valid(frame)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_breaks_the_frame_unless_its_name_says_otherwise(name):
    """Legal spellings stay legal; every other fault is refused at least now and then."""
    verdicts = Counter()
    for seed in range(120):
        rng = Random(seed)
        line = FAULTS[name](rng, legal.frame(rng, rng.choice(legal.KINDS)))
        verdicts[reading.frame(line)[0][0] not in ("malformed", "unknown")] += 1
    assert verdicts[not name.endswith("_legal")] < 120
    assert name.endswith("_legal") is (verdicts[False] == 0)


def test_spelling_can_write_what_json_cannot():
    """Keys twice, raw bytes, escapes of every character."""
    twice = Members((("a", 1), (Raw(escaped("a")), Raw(b"01"))))
    assert spell(twice) == rb'{"a":1,"\u0061":01}'
    assert escaped("\U0001f600") == rb'"\ud83d\ude00"'
