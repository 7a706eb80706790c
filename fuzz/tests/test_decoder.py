"""The reference's decoder under Hypothesis, by the same oracle."""

from codemode_fuzz import legal
from codemode_fuzz.faults import FAULTS
from codemode_fuzz.mutators import STREAM_FAULTS, mutate_frames
from codemode_fuzz.oracles import check_frames
from codemode_fuzz.spelling import spell
from hypothesis import given, settings
from hypothesis import strategies as st

RANDOM = st.randoms(use_true_random=False)


@st.composite
def lines(draw):
    """A legal frame, one with a fault, or any bytes."""
    rng = draw(RANDOM)
    frame = legal.frame(rng, draw(st.sampled_from(legal.KINDS)))
    return draw(
        st.one_of(
            st.just(spell(frame)),
            st.sampled_from(sorted(FAULTS)).map(lambda name: FAULTS[name](rng, frame)),
            st.binary(max_size=40),
        )
    )


@settings(max_examples=150)
@given(st.lists(lines(), max_size=4), st.sampled_from(["", *sorted(STREAM_FAULTS)]), RANDOM)
def test_streams_of_lines(found, fault, rng):
    """Legal lines, faulty lines and noise, whole and broken streams."""
    if fault and found:
        found = STREAM_FAULTS[fault](rng, found)
    check_frames(b"\n".join(found))


@settings(max_examples=100)
@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_any_bytes_and_their_mutations(data, seed):
    """The fuzzer's own step, from any input."""
    check_frames(data)
    check_frames(mutate_frames(data, 10_000, seed))
