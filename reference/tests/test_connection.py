"""The server in this process, over two pipes: what the wire and the tools do in each end."""

import asyncio
import contextlib
import json
import os

from codemode_reference import Operation, Parent
from codemode_reference.cli import main
from codemode_reference.server.stdio import claimed, streams
from codemode_reference.server.tools import Tools

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Client:
    """The other ends of the pipes."""

    def __init__(self, parent, write, read):
        self.parent = parent
        self.stop = asyncio.Event()
        self.serving = None
        self._write = write
        self._read = read

    def send(self, *messages):
        """Some messages at once."""
        for message in messages:
            self._write.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._write.flush()

    async def receive(self):
        """The next message, None at the end."""
        line = await self._read.readline()
        return json.loads(line) if line else None

    async def call(self, number, name, **arguments):
        """The answer to a call of a tool."""
        params = {"name": name, "arguments": arguments}
        self.send({"id": number, "method": "tools/call", "params": params})
        answer = await self.receive()
        assert answer["id"] == number
        return answer["result"]["structuredContent"]

    def leave(self):
        """Close the client's end of what it writes."""
        self._write.close()


async def echo(arguments):
    """Give the arguments back."""
    return arguments["value"]


async def never(arguments):
    """Wait for ever."""
    await asyncio.Event().wait()


def connected(limits, story, *, programs):
    """Run `await story(client)` with a server of `echo` and `never`; it ends with the client."""

    async def run():
        parent = Parent(limits, [Operation("echo", echo), Operation("never", never)])
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as stack:
            in_read, in_write = os.pipe()
            out_read, out_write = os.pipe()
            for descriptor in (in_read, out_write):
                stack.callback(os.close, descriptor)
            write = stack.enter_context(os.fdopen(in_write, "wb"))
            reader = asyncio.StreamReader()
            transport, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out_read, "rb")
            )
            stack.callback(transport.close)
            client = Client(parent, write, reader)

            async def serve():
                async with streams(in_read, out_write, client.stop) as (incoming, outgoing):
                    server = Tools(parent, programs=programs).server("1")
                    options = server.create_initialization_options()
                    await server.run(incoming, outgoing, options)

            client.serving = asyncio.create_task(serve())
            client.send({"id": 0, "method": "initialize", "params": INITIALIZE})
            assert (await client.receive())["id"] == 0
            try:
                await story(client)
                client.leave()
                await asyncio.wait_for(client.serving, 30)
            finally:
                client.stop.set()
                await asyncio.wait([client.serving])
                await parent.close()

    asyncio.run(run())


def test_a_value_that_is_no_object_is_wrapped(limits):
    """A direct call gives an object as it is, anything else with its presence."""

    async def story(client):
        (first, second) = [
            await client.call(number, "echo", value=value)
            for number, value in enumerate([{"a": 1}, [1]], start=1)
        ]
        assert (first, second) == ({"a": 1}, {"present": True, "value": [1]})

    connected(limits, story, programs=False)


def test_tools_of_operations_without_a_schema_have_one(limits):
    """Each tool takes an object; its name has to do where nothing else is known."""

    async def story(client):
        client.send({"id": 1, "method": "tools/list"})
        tools = (await client.receive())["result"]["tools"]
        assert [(tool["name"], tool["description"]) for tool in tools] == [
            ("echo", "echo"),
            ("never", "never"),
        ]
        assert [tool["inputSchema"] for tool in tools] == [{"type": "object"}] * 2

    connected(limits, story, programs=False)


def test_the_tool_code_stands_alone(limits):
    """Its manual has a line for each operation; nothing but its one argument is taken."""

    async def story(client):
        client.send({"id": 1, "method": "tools/list"})
        (tool,) = (await client.receive())["result"]["tools"]
        assert "codemode.echo(arguments) - echo\n" in tool["description"]
        assert (await client.call(2, "code", source="return"))["code"] == "code_rejected"
        assert (await client.call(3, "code", text="return"))["code"] == "invalid_arguments"
        client.send({"id": 4, "method": "tools/call", "params": {"name": "echo"}})
        assert (await client.receive())["error"]["message"] == "the only tool is code"

    connected(limits, story, programs=True)


def test_an_unknown_tool_is_an_error_of_the_protocol(limits):
    """It is not echoed."""

    async def story(client):
        client.send({"id": 1, "method": "tools/call", "params": {"name": "code"}})
        error = (await client.receive())["error"]
        assert (error["code"], error["message"]) == (-32602, "there is no such tool")

    connected(limits, story, programs=False)


def test_the_command_serves_a_file_to_its_end(capfd, tmp_path):
    """A file can always be read, and its end is the client's leaving."""
    requests = [{"id": 1, "method": "initialize", "params": INITIALIZE}, {"id": True, "method": ""}]
    lines = [json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests]
    (tmp_path / "in").write_text("".join(lines))
    kept = [os.dup(number) for number in (0, 1)]
    with (tmp_path / "in").open("rb") as file, (tmp_path / "out").open("wb") as answers:
        try:
            os.dup2(file.fileno(), 0)
            os.dup2(answers.fileno(), 1)
            assert main(["serve", "--operations", "demonstration"]) == 0
        finally:
            for number, copy in enumerate(kept):
                os.dup2(copy, number)
                os.close(copy)
    told = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert sorted(one["id"] or 0 for one in told) == [0, 1]
    assert capfd.readouterr() == ("", "")


def test_a_program_that_is_cancelled_counts_as_cancelled(limits):
    """It is not answered; the operation is cancelled, and what is asked meanwhile is answered."""

    async def story(client):
        params = {"name": "code", "arguments": {"source": "return codemode.never()"}}
        client.send({"id": 1, "method": "tools/call", "params": params})
        while not client.parent._host.slots.turns.running:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        client.send({"id": 2, "method": "ping"})
        assert (await client.receive())["id"] == 2
        client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        while not client.parent.statistics.outcomes:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert client.parent.statistics.outcomes == {"cancelled": 1}
        assert await client.call(3, "code", source="return 3") == {"present": True, "value": 3}

    connected(limits, story, programs=True)


def test_everything_ends_when_it_is_stopped(limits):
    """A signal does that: whatever was asked and is not answered gets the end of the connection."""

    async def story(client):
        client.send({"id": 1, "method": "tools/call", "params": {"name": "never"}})
        while not client.parent._host.slots.turns.running:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        client.stop.set()
        await asyncio.wait_for(client.serving, 30)
        assert (await client.receive())["error"]["message"] == "Connection closed"
        assert client.parent._host.slots.turns.running == 0

    connected(limits, story, programs=False)


def test_a_client_that_stops_reading_has_left(limits):
    """The next answer has nobody to go to, so the server ends."""

    async def story(client):
        client._read._transport.close()
        await asyncio.sleep(0)
        client.send({"id": 1, "method": "ping"})
        await asyncio.wait_for(client.serving, 30)

    connected(limits, story, programs=False)


def test_a_client_that_does_not_listen_is_not_listened_to(limits, tmp_path):
    """Requests are left where they are once the answers are not read, and taken when they are."""
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
    (tmp_path / "in").write_bytes(hello.encode() + b"\n" + ping * 100_000)

    async def run():
        parent = Parent(limits)
        read = os.open(tmp_path / "in", os.O_RDONLY)
        answers, write = os.pipe()
        stop = asyncio.Event()

        def taken():
            return os.lseek(read, 0, os.SEEK_CUR)

        async def serve():
            async with streams(read, write, stop) as (incoming, outgoing):
                server = Tools(parent, programs=False).server("1")
                await server.run(incoming, outgoing, server.create_initialization_options())

        async def listen():
            count = 0
            while count < 6_000:
                count += (await asyncio.to_thread(os.read, answers, 65536)).count(b"\n")

        serving = asyncio.create_task(serve())
        try:
            # Until it takes no more, for three looks in a row: then it waits for its client.
            looks = [0]
            while (len(looks) < 3 or len({*looks[-3:]}) > 1 or not looks[-1]) and taken() < 500_000:
                await asyncio.sleep(0.3)
                looks.append(taken())
            assert 0 < taken() < 500_000
            await asyncio.wait_for(listen(), 60)
        finally:
            stop.set()
            await asyncio.wait([serving])
            for descriptor in (read, write, answers):
                os.close(descriptor)
            await parent.close()

    asyncio.run(run())


def test_standard_streams_are_the_clients_alone(capfd):
    """What is printed goes to stderr, what is read is empty, and the client's two are copies."""
    kept = [os.dup(number) for number in (0, 1)]
    try:
        with claimed() as (_, write):
            os.write(1, b"printed")
            os.write(write, b"message")
            assert os.read(0, 1) == b""
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)
    assert capfd.readouterr() == ("message", "printed")
