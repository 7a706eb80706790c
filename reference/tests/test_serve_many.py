"""Many programs through one server, some hostile, some cancelled: one answer each, nothing left."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

COMMAND = [sys.executable, "-m", "codemode_reference", "serve", "--mode", "code"]
COMMAND += ["--operations", "demonstration"]
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")


class Client:
    """A client that keeps every answer that comes, by the id of its request."""

    def __init__(self, process):
        self.process = process
        self.answers = {}
        self.twice = []
        self._arrived = asyncio.Condition()

    def send(self, **message):
        """One message."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def read(self):
        """Take answers until there are no more."""
        while line := await self.process.stdout.readline():
            answer = json.loads(line)
            async with self._arrived:
                if answer["id"] in self.answers:
                    self.twice.append(answer["id"])
                self.answers[answer["id"]] = answer
                self._arrived.notify_all()

    async def answer(self, number):
        """The answer to a request."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: number in self.answers)
        return self.answers[number]

    def start(self, number, source):
        """Start a program."""
        params = {"name": "code", "arguments": {"source": source}}
        self.send(id=number, method="tools/call", params=params)

    def cancel(self, number):
        """It is not wanted any more."""
        self.send(method="notifications/cancelled", params={"requestId": number})

    async def program(self, number, source):
        """The value or the code of a program."""
        self.start(number, source)
        content = (await self.answer(number))["result"]["structuredContent"]
        return content["value"] if "present" in content else content["code"]

    def children(self):
        """The processes of the server, without those that are being reaped."""
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            found += (task / "children").read_text().split()
        return {int(child) for child in found}

    def descriptors(self):
        """How many the server has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208  a count


def connected(folder, story, **rows):
    """Run `await story(client)` with a server whose temporary directory is `folder`."""
    policy = folder / "policy.json"
    policy.write_text(json.dumps(rows))
    temporary = folder / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}

    async def run():
        pipe = subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *COMMAND, "--policy", policy, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )
        client = Client(process)
        reading = asyncio.create_task(client.read())
        try:
            client.send(id="start", method="initialize", params=INITIALIZE)
            await client.answer("start")
            await story(client)
            children = client.children()
            process.stdin.close()
            assert await process.stderr.read() == b""
            assert await process.wait() == 0
            await reading
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            reading.cancel()
        assert client.twice == []
        assert list(temporary.iterdir()) == []
        assert not any(map(alive, children))

    asyncio.run(run())


async def until(condition):
    """Wait until this is so."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  another process does not tell
            await asyncio.sleep(0.005)


def busy(child):
    """Whether a process has used a tenth of a second, which is more than a start takes."""
    with contextlib.suppress(OSError):
        ticks = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11]
        return int(ticks) >= os.sysconf("SC_CLK_TCK") / 10
    return False


def alive(child):
    """Whether there is such a process."""
    return Path(f"/proc/{child}").exists()


HEALTHY = (
    ("return codemode.echo(%d)", None),
    ("return Promise.all([1, 2, 3].map((n) => codemode.slow({seconds: n / 500})))", ["done"] * 3),
    ("codemode.slow({seconds: 5}); return 1", 1),
    ("return codemode.listFiles({folder: 'none'})", "operation_failed"),
    ("return codemode.add({a: 1})", "invalid_arguments"),
    ("for (;;) await codemode.echo(1)", "host_calls_limit"),
    ("return codemode.ekho()", "unknown_method"),
    ("throw 1", "code_rejected"),
)
HOSTILE = (
    ("for (;;);", ("deadline_exceeded",)),
    ("const all = []; for (;;) all.push({});", ("code_rejected", "worker_exited")),
    ("let v = 0; for (let i = 0; i < 30000; i++) v = [v]; return JSON.stringify(v).length", None),
    ("const dive = (n) => 1 + dive(n + 1); return dive(0)", ("code_rejected", "worker_exited")),
)
CALLS = 300


def test_three_hundred_programs_leave_nothing(tmp_path):
    """Four at a time, every tenth hostile, every tenth cancelled; then some workers are killed."""

    async def one(client, number):
        random = Random(number)
        if number % 10 == 3:
            client.start(number, random.choice(("for (;;);", "await codemode.slow({seconds: 5})")))
            await asyncio.sleep(random.random() / 20)
            client.cancel(number)
        elif number % 10 == 7:
            source, wants = random.choice(HOSTILE)
            found = await client.program(number, source)
            assert wants is None or found in wants
        else:
            source, wants = random.choice(HEALTHY)
            source = source % number if "%d" in source else source
            assert await client.program(number, source) == (number if wants is None else wants)

    async def lane(client, numbers):
        for number in numbers:
            await one(client, number)

    async def settled(client):
        # One worker waits, nothing else.
        await until(lambda: len(client.children()) == 1)
        folders = tmp_path / "temporary"
        await until(lambda: len(list(folders.glob("codemode-*/*/"))) == 1)

    async def story(client):
        assert await client.program("first", "return 1") == 1
        await settled(client)
        before = client.descriptors()
        numbers = iter(range(CALLS))
        # Cancelled programs may still be ending when the next one starts.
        await asyncio.gather(*(lane(client, numbers) for _ in range(4)))
        await settled(client)
        cancelled = {number for number in range(CALLS) if number % 10 == 3}
        assert set(range(CALLS)) - client.answers.keys() == cancelled
        for number in range(5):
            running = asyncio.create_task(client.program(f"killed {number}", "for (;;);"))
            await until(lambda: any(map(busy, client.children())))
            for child in client.children():
                os.kill(child, signal.SIGKILL)
            assert await running == "worker_exited"
        assert await client.program("last", "return 1") == 1
        await settled(client)
        await until(lambda: client.descriptors() <= before)

    connected(tmp_path, story, wall_time_ms=3000, server_invocations=16, server_workers=16)


def test_a_cancel_around_the_end_of_a_program_gives_at_most_one_answer(tmp_path):
    """B167: two hundred times, before, at and after the end; the server goes on."""

    async def story(client):
        # As long as it takes here: a fixed time would be before the end on a slow machine.
        began = time.monotonic()
        for number in range(5):
            await client.program(f"measured {number}", "return 1")
        whole = (time.monotonic() - began) / 5
        for number in range(200):
            random = Random(number)
            client.start(number, f"return codemode.slow({{seconds: {random.random() / 100}}})")
            await asyncio.sleep(random.random() * (2 * whole + 0.01))
            client.cancel(number)
            client.send(id=f"ping {number}", method="ping")
            await client.answer(f"ping {number}")
        assert await client.program("last", "return 1") == 1
        answers = [client.answers[number] for number in range(200) if number in client.answers]
        assert all(answer["result"]["structuredContent"]["value"] == "done" for answer in answers)
        assert 0 < len(answers) < 200

    connected(tmp_path, story, server_invocations=16, server_workers=16)


def test_ids_come_back_as_they_were(tmp_path):
    """B180: text stays text, numbers stay numbers, and what is no id is refused."""

    async def story(client):
        for number in ["1", 1, -7, 0, 2**53 - 1, "x" * 300, "é", ""]:
            assert await client.program(number, "return 1") == 1
            assert type(client.answers[number]["id"]) is type(number)

    connected(tmp_path, story)


@pytest.mark.parametrize("odd", ["1.5", "9007199254740993", "1e400", "true", "[1]", "{}"])
def test_odd_ids_are_refused_or_come_back_exactly(tmp_path, odd):
    """B180: none is answered under another id, and the next request is."""

    async def story(client):
        message = f'{{"jsonrpc":"2.0","id":{odd},"method":"ping"}}\n'
        client.process.stdin.write(message.encode())
        assert await client.program("next", "return 1") == 1
        others = client.answers.keys() - {"start", "next", None}
        assert others in (set(), {json.loads(odd)} if odd[0].isdigit() else set())

    connected(tmp_path, story)


def test_no_argument_widens_a_limit(tmp_path):
    """B177: it is refused, nothing runs, and the limits are those of the server."""
    wide = {"timeoutMs": 9e9, "heap": 9e9, "limits": {}, "wall_time_ms": 10_000, "code": "return 1"}

    async def story(client):
        for number, (name, value) in enumerate(wide.items()):
            arguments = {"source": "return 1", name: value}
            params = {"name": "code", "arguments": arguments}
            client.send(id=number, method="tools/call", params=params)
            result = (await client.answer(number))["result"]
            assert (result["structuredContent"]["code"], result["isError"]) == (
                "invalid_arguments",
                True,
            )
        assert await client.program("loop", "for (;;);") == "deadline_exceeded"

    connected(tmp_path, story, wall_time_ms=500)


def test_values_of_every_kind_are_in_an_object(tmp_path):
    """B178: structured content is always an object, and its text the same JSON."""

    async def story(client):
        for number, value in enumerate(
            [7, 0, None, [1], [], "s", "", {}, {"a": None}, True, False]
        ):
            client.start(number, f"return {json.dumps(value)}")
            result = (await client.answer(number))["result"]
            assert result["structuredContent"] == {"present": True, "value": value}
            (text,) = result["content"]
            assert json.loads(text["text"]) == result["structuredContent"]
            assert result["isError"] is False

    connected(tmp_path, story)
