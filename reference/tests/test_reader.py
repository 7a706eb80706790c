"""What a client writes: strict, bounded, and answered wherever somebody waits."""

import json

import mcp.types as mcp
import pytest
from codemode_reference.server.reader import MessageReader, Refused
from hypothesis import given
from hypothesis import strategies as st

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def messages(data, limit=1000):
    """What a reader makes of these bytes."""
    return list(MessageReader(limit).feed(data))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n\n \r\n"])
def test_a_line_is_a_message(end):
    """Blank lines are nothing."""
    (ping,) = messages(PING + end)
    assert isinstance(ping, mcp.JSONRPCRequest)
    assert (ping.id, ping.method) == (1, "ping")
    assert messages(PING) == []


def test_notifications_and_answers_are_messages():
    """With and without an id."""
    note, answer, error = messages(
        b'{"jsonrpc":"2.0","method":"x"}\n{"jsonrpc":"2.0","id":1,"result":{}}\n'
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n'
    )
    assert isinstance(note, mcp.JSONRPCNotification)
    assert isinstance(answer, mcp.JSONRPCResponse)
    assert isinstance(error, mcp.JSONRPCError)


BAD = [
    (b"x", -32700, None),
    (b"\xff", -32700, None),
    (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700, 1),
    (b"[" * 900, -32700, None),
    (b'{"id":3,"a":1,"a":2}', -32700, 3),
    (b'{"id":3,"id":4}', -32700, None),
    (b'{"id":"a","params":{"id":5,"x":NaN}}', -32700, "a"),
    (b'{"id":3,"method":"\\ud800"}', -32700, 3),
    (b'{"id":"\\ud800","method":"x"}', -32700, None),
    (b'{"id":"\xc3\xa9","x":1e999}', -32700, "\u00e9"),
    (b'{"id":[1],"x":1e999}', -32700, None),
    (b'{"id":true,"x":1e999}', -32700, None),
    (b'{"id":9007199254740993,"x":1e999}', -32700, None),
    (b'{"id":3} {}', -32700, None),
    (b"[" + PING + b"]", -32600, None),
    (b"1", -32600, None),
    (b"{}", -32600, None),
    (b'{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":1}', -32600, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}', -32600, 3),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
]


@pytest.mark.parametrize(("line", "code", "known"), BAD)
def test_what_is_no_message_is_answered(line, code, known):
    """With the id of its request where that can be told; the next line is read."""
    refused, ping = messages(line + b"\n" + PING + b"\n")
    assert isinstance(refused, Refused)
    assert (refused.code, refused.id) == (code, known)
    assert isinstance(ping, mcp.JSONRPCRequest)
    answer = json.loads(refused.line())
    assert answer == {
        "jsonrpc": "2.0",
        "id": known,
        "error": {"code": code, "message": refused.message},
    }


def test_a_line_may_be_as_long_as_the_limit():
    """One byte more is refused, once, and the line after it is read."""
    line = PING.ljust(100)
    assert isinstance(messages(line + b"\n", 100)[0], mcp.JSONRPCRequest)
    refused, ping = messages(line + b" \n" + PING + b"\n", 100)
    assert refused == Refused(-32600, "a line is longer than 100 bytes")
    assert isinstance(ping, mcp.JSONRPCRequest)


def test_a_line_without_end_is_not_kept():
    """It is refused as soon as it is too long; what follows is dropped up to the line's end."""
    reader = MessageReader(100)
    assert list(reader.feed(b"x" * 100)) == []
    assert len(list(reader.feed(b"x"))) == 1
    for _ in range(1000):
        assert list(reader.feed(b"x" * 1000)) == []
    assert reader._lines.pending == 0
    assert len(list(reader.feed(b"\n" + PING + b"\n"))) == 1


@given(st.lists(st.sampled_from([PING, b"", b"x", b"y" * 50, b"z" * 300]), max_size=8), st.data())
def test_pieces_make_no_difference(lines, data):
    """The same messages come of a stream however it is cut."""
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader, found = MessageReader(60), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == messages(stream, 60)
    assert len(found) == sum(1 for line in lines if line)
