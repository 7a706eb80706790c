"""A stream is cut into lines, and no line can take more memory than the cap."""

import pytest
from codemode_conformance.lines import KEPT_OF_A_LONG_LINE, Line, LineSplitter


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_do_not_depend_on_the_pieces(size: int) -> None:
    """Whatever the pieces, the same lines come out; blank ones are left out."""
    data = b"one\n\n \r\ntwo\nrest"
    splitter = LineSplitter(100, b"")
    lines = [
        line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])
    ]
    assert lines == [
        Line(b"one", cut=False, marked=True),
        Line(b"two", cut=False, marked=True),
    ]
    assert splitter.rest() == Line(b"rest", cut=False, marked=True)
    assert splitter.rest() is None


def test_a_line_at_the_cap_is_whole_and_one_byte_more_is_cut() -> None:
    """The cap is exact."""
    splitter = LineSplitter(5_000, b"KEY")
    assert splitter.feed(b"a" * 5_000 + b"\n") == [Line(b"a" * 5_000, cut=False, marked=False)]
    assert splitter.feed(b"a" * 5_001 + b"\n") == [
        Line(b"a" * KEPT_OF_A_LONG_LINE, cut=True, marked=False)
    ]


def test_a_long_line_is_scanned_whole_and_not_kept() -> None:
    """The key is found wherever it stands in a long line, also between two pieces."""
    seen: list[bytes] = []
    splitter = LineSplitter(10, b"KEY", seen.append, overlap=4)
    lines: list[Line] = []
    for piece in (b"0123456789", b"abcdefK", b"EYghi", b"jkl\nnext\n"):
        lines += splitter.feed(piece)
        assert len(splitter._parts) <= 10
    assert lines == [
        Line(b"0123456789abcdefK", cut=True, marked=True),
        Line(b"next", cut=False, marked=False),
    ]
    assert any(b"KEY" in piece for piece in seen)


def test_lines_without_the_key_are_not_cut_up() -> None:
    """Only where the key stands somewhere is each line a line of its own."""
    splitter = LineSplitter(100, b"KEY")
    noise = Line(b"b\n\nc", cut=False, marked=False)
    assert splitter.feed(b"a\nb\n\nc\nd")[1:] == [noise]
    assert [line.data for line in splitter.feed(b"\ne\nf KEY\ng")] == [b"d", b"e", b"f KEY"]
    assert splitter.rest() == Line(b"g", cut=False, marked=False)
