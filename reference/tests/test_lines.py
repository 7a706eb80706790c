"""The decoder of lines."""

import time

from codemode_reference.lines import LineDecoder
from hypothesis import given
from hypothesis import strategies as st


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\x00", b"\n")), st.data())
def test_chunks_do_not_matter(data, draw):
    """However a stream is cut, the lines are those of one read."""
    whole = LineDecoder(10)
    expected = whole.feed(data), whole.oversized
    decoder, lines, start = LineDecoder(10), [], 0
    while start < len(data):
        size = draw.draw(st.integers(1, len(data) - start))
        lines += decoder.feed(data[start : start + size])
        start += size
    assert (lines, decoder.oversized) == expected
    if not decoder.oversized:
        assert decoder.pending == whole.pending


def test_a_line_of_exactly_the_limit_passes():
    """The limit counts the bytes before the LF."""
    decoder = LineDecoder(4)
    assert decoder.feed(b"abcd\nab") == [b"abcd", b"ab"][:1]
    assert not decoder.oversized
    assert decoder.pending == 2


def test_one_byte_more_is_oversized_without_its_end():
    """The fault is seen at limit + 1 bytes, LF or not, and nothing after it is decoded."""
    for data in (b"abcde", b"abcde\nxy\n", b"ok\nabcde\n"):
        decoder = LineDecoder(4)
        assert decoder.feed(data) in ([], [b"ok"])
        assert decoder.oversized
        assert decoder.feed(b"x\ny\n") == []


def test_memory_is_bounded():
    """A sender without LF cannot make the decoder keep more than the limit and one byte."""
    decoder = LineDecoder(1000)
    decoder.feed(b"x" * 1_000_000)
    assert decoder.pending == 1001
    ended = LineDecoder(1000)
    ended.feed(b"x" * 10)
    ended.feed(b"x" * 1_000_000 + b"\n")
    assert ended.pending == 1001


def test_time_is_linear():
    """Many tiny lines in one read cost what their bytes cost."""
    start = time.process_time()
    assert len(LineDecoder(10).feed(b"\n" * 1_000_000)) == 1_000_000
    assert time.process_time() - start < 5
